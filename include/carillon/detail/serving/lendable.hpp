// SPDX-License-Identifier: Apache-2.0
// `Lendable`: an object that an owner serves by a name, for its server's thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/memory.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

class SharedMemory;
struct Loan;

// The table of the one channel, or object, in its memory.
[[nodiscard]] inline ChannelTable table_of_one(void* device, void* host, ChannelShape const& shape,
                                               Sequence first, bool in_pairs = false) {
    return {static_cast<std::byte*>(device),
            static_cast<std::byte*>(host),
            1,
            shape,
            first,
            nullptr,
            in_pairs};
}

// Lends places to clients: a kernel's blocks, an object's one end, or copies of data that clients
// only read. Servers share it, and it outlives the program's object. Any thread may call it.
class Lendable {
   public:
    Lendable(Device const& device, ObjectKind kind, MessageTypes types)
        : device_(device), kind_(kind), types_(std::move(types)) {}
    virtual ~Lendable() = default;
    Lendable& operator=(Lendable&&) = delete;

    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] ObjectKind kind() const { return kind_; }
    [[nodiscard]] MessageTypes const& types() const { return types_; }
    // Call it when the program has destroyed the object.
    void close() noexcept { closed_.store(true, std::memory_order_release); }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    [[nodiscard]] virtual unsigned places() const = 0;
    // The most places that there can be.
    [[nodiscard]] virtual unsigned most_places() const { return places(); }
    // The memory that the client of a place gets, in bytes, and its number of descriptors.
    [[nodiscard]] virtual std::size_t bytes_of_place() const = 0;
    [[nodiscard]] virtual unsigned descriptors_of_place() const { return 1; }
    // An object other than a kernel runs until the program destroys it, because its ends on the
    // device may look again until then.
    [[nodiscard]] virtual KernelState state(bool /*ask_device*/) const {
        return closed() ? KernelState::stopped : KernelState::running;
    }
    [[nodiscard]] virtual BlockActivity activity(unsigned /*place*/) const {
        return closed() ? BlockActivity::ended : BlockActivity::idle;
    }
    // The counts of a place's client (nothing if it has none), and of earlier ones.
    [[nodiscard]] virtual LeasedCounters counters(unsigned place) const = 0;
    [[nodiscard]] virtual BlockBeats beats(unsigned /*place*/) const { return {}; }
    // Describes, for people, a fault in the counts of a place's client, which no client with this
    // library would write; nullptr: no fault (read_counters.hpp).
    [[nodiscard]] virtual char const* look_at_counters(unsigned /*place*/) { return nullptr; }

    // Lends a place, or nothing if none is free. Throws what allocating and exporting throw.
    [[nodiscard]] virtual std::optional<Loan> lend(std::uint32_t user, bool host_memory) = 0;
    // Takes a place back. Throws VulkanError if the order could not be flushed.
    virtual void end(unsigned place) = 0;
    // The client of a place sends nothing more: a drain does not wait for it.
    virtual void drained(unsigned /*place*/) {}
    // Whether a request is outstanding at a place, according to its client.
    [[nodiscard]] virtual bool outstanding(unsigned /*place*/) const { return false; }
    // Whether a client has left whose memory an end may still look into.
    [[nodiscard]] virtual bool any_ends() const { return false; }
    // The number of places that are lent or about to be free.
    [[nodiscard]] virtual unsigned count() const { return 0; }
    // The reason why nothing can be lent now, and the reason why it accepts no more requests.
    [[nodiscard]] virtual std::string why_full() const = 0;
    [[nodiscard]] virtual std::string why_closed(KernelState state) const;

   private:
    Device device_;
    ObjectKind kind_;
    MessageTypes types_;
    std::atomic<bool> closed_ = false;
};

// Values that an owner, or its device, writes, and that clients of other processes map only for
// reading: nobody else can write there. Its memory has a mailbox's layout (MailboxLayout). It has
// as many clients at once as there may be connections: each only reads, so nothing waits for it, or
// looks at it, when it leaves.
class PublishedObject final : public Lendable {
   public:
    // `writers`: the number of the device's ends. Throws UnsupportedError (Linux before 5.1),
    // SystemError, and what Device::register_host throws.
    PublishedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                    MessageType const& type, unsigned writers, Sequence first);

    // The most clients that there were at once: a caller that counts through them finds all.
    [[nodiscard]] unsigned places() const override;
    [[nodiscard]] unsigned most_places() const override { return most_readers; }
    [[nodiscard]] std::size_t bytes_of_place() const override {
        return MailboxLayout::device_bytes(shape_);
    }
    // The first place counts what the owner has published, for all readers: the number of values
    // that were set, or of messages.
    [[nodiscard]] LeasedCounters counters(unsigned place) const override;
    [[nodiscard]] std::optional<Loan> lend(std::uint32_t user, bool host_memory) override;
    void end(unsigned place) override;
    [[nodiscard]] std::string why_full() const override {
        return "the object has the most clients possible";
    }

    // The views with the addresses of each side; the device's exists only if it writes.
    [[nodiscard]] MailboxView host_view() const;
    [[nodiscard]] MailboxView device_view() const;

   private:
    [[nodiscard]] MailboxView view_at(void* begin) const;

    static constexpr unsigned most_readers = 1U << 15;  // fewer than a message can say

    ObjectShape shape_;
    Sequence first_;
    std::shared_ptr<SharedMemory const> memory_;
    Memory registered_;  // memory_, if the device writes
    mutable std::mutex mutex_;
    std::vector<bool> lent_ = std::vector<bool>(1);
};

}  // namespace carillon::detail
