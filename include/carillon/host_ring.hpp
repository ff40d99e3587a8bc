// SPDX-License-Identifier: Apache-2.0
// A ring between two threads of the CPU: the same protocol as towards a device, in memory of its
// own. A message costs a cache line for each 48 bytes from core to core; the credit, its way back,
// goes a quarter of the ring at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "carillon/detail/access/host_coherent.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/host_ring_memory.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/detail/protocol/ring.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"

namespace carillon {

// The ends of a HostRing, each for one thread.
template <class T>
using HostRingProducer = detail::Producer<T, detail::HostCoherent, detail::HostCoherent>;
// The end that takes.
template <class T>
using HostRingConsumer = detail::Consumer<T, detail::HostCoherent, detail::HostCoherent>;

// `T` is trivially copyable and at most 1 KiB. One thread at a time pushes, one at a time pops.
// The ring must outlive their calls.
template <class T>
class HostRing {
   public:
    // `capacity`: slots, a power of two up to 2^20. `first`: the number of the first message; tests
    // place it before a wrap. Throws UsageError for the capacity, UnsupportedError for a CPU
    // without AVX.
    explicit HostRing(std::uint32_t capacity, Sequence first = 1, HostWait wait = wait_of_threads())
        : memory_(capacity, detail::slot_lines_of<T>, first),
          wait_(wait),
          producer_{HostRingProducer<T>(memory_.view())},
          consumer_{HostRingConsumer<T>(memory_.view())} {}
    HostRing(HostRing const&) = delete;
    HostRing& operator=(HostRing const&) = delete;

    // Publishes and returns true, or returns false at once when the ring is full. `data` says
    // that the message refers to memory that the caller has written.
    bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        detail::OneThreadCall<> const call(&producer_, "HostRing::try_push");
        return producer_.end.try_push(message, data);
    }
    // Publishes, waiting for room if need be. Throws TimeoutError; the message was not sent then.
    void push(T const& message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) {
        detail::OneThreadCall<> const call(&producer_, "HostRing::push");
        if (!wait_.until([&] { return producer_.end.try_push(message, data); }, timeout)) {
            throw TimeoutError("HostRing::push", "the ring stayed full");
        }
    }

    // Publishes the first ones of `messages`, as many as there is room for, and returns how many.
    // Throws UsageError for a null pointer to any.
    std::size_t try_push_n(std::span<T const> messages, OutOfLine data = OutOfLine::none) {
        detail::OneThreadCall<> const call(&producer_, "HostRing::try_push_n");
        detail::require_messages("HostRing::try_push_n", messages);
        return producer_.end.try_push_n(messages.data(), messages.size(), data);
    }

    // Takes the next message into `message` and returns true, or returns false at once when none
    // has arrived.
    [[nodiscard]] bool try_pop(T& message) {
        detail::OneThreadCall<> const call(&consumer_, "HostRing::try_pop");
        return look([&] { return consumer_.end.try_pop(message); });
    }
    // The next message, or nothing when none has arrived.
    [[nodiscard]] std::optional<T> try_pop() {
        detail::OneThreadCall<> const call(&consumer_, "HostRing::try_pop");
        detail::Packed<T> message;
        if (!try_take(message)) return {};
        return detail::unpack<T>(message);
    }
    // The next message. Throws TimeoutError.
    [[nodiscard]] T pop(std::chrono::nanoseconds timeout) {
        detail::OneThreadCall<> const call(&consumer_, "HostRing::pop");
        detail::Packed<T> message;
        if (!wait_.until([&] { return try_take(message); }, timeout)) {
            throw TimeoutError("HostRing::pop", "no message arrived");
        }
        return detail::unpack<T>(message);
    }
    // Takes the next messages into the first ones of `messages`, as many as have arrived and fit,
    // and returns how many. Throws UsageError for a null pointer to any.
    [[nodiscard]] std::size_t try_pop_n(std::span<T> messages) {
        detail::OneThreadCall<> const call(&consumer_, "HostRing::try_pop_n");
        detail::require_messages("HostRing::try_pop_n", messages);
        std::size_t taken = consumer_.end.try_pop_n(messages.data(), messages.size());
        consumer_.run += taken;
        if (taken < messages.size() && ran_dry()) {
            auto const rest = messages.subspan(taken);
            taken += consumer_.end.try_pop_n(rest.data(), rest.size());
        }
        return taken;
    }

    [[nodiscard]] std::uint32_t capacity() const { return memory_.view().capacity; }  // slots

    // The ends themselves, for what they can do besides. Each belongs to one thread.
    [[nodiscard]] HostRingProducer<T>& producer() { return producer_.end; }
    [[nodiscard]] HostRingConsumer<T>& consumer() { return consumer_.end; }

   private:
    [[nodiscard]] static HostWait wait_of_threads() {
        DeviceTraits traits;
        traits.shares_processors = true;
        return HostWait::for_kernel(traits, 1);
    }
    // Each end's counters are its thread's alone.
    struct alignas(detail::far_apart) Pushing {
        HostRingProducer<T> end;
    };
    struct alignas(detail::far_apart) Popping {
        HostRingConsumer<T> end;
        std::size_t run = 0;  // messages taken without a look in vain
    };

    // A look at a line that is being written takes it away from the producer, and a consumer that
    // has caught up with a stream does so with every line. So it lets the producer get ahead, for
    // the time of a line's way between two cores, and then looks once more. An answer that comes
    // alone is no stream.
    template <class Take>
    bool look(Take&& take) {
        if (take()) [[likely]] {
            ++consumer_.run;
            return true;
        }
        return ran_dry() && take();
    }
    bool try_take(detail::Packed<T>& message) {
        return look([&] { return consumer_.end.try_take(message); });
    }
    bool ran_dry() {
        constexpr std::size_t stream = 4;
        bool const dry = consumer_.run >= stream;
        consumer_.run = 0;
        if (dry) detail::cpu::pause_for_a_line();
        return dry;
    }

    detail::HostRingMemory memory_;
    HostWait wait_;
    Pushing producer_;
    Popping consumer_;
};

}  // namespace carillon
