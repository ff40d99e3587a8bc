// SPDX-License-Identifier: Apache-2.0
// The host thread of a HostService or a log, which serves requests of device threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/protocol/host_call.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"

namespace carillon {
struct ServiceThreadOptions;
}  // namespace carillon

namespace carillon::detail {

class ExitHook;

// The exceptions of a service's function.
class ServiceFailures {
   public:
    // Counts the current exception, and keeps it if it is the first.
    void keep();
    [[nodiscard]] std::uint64_t count() const { return count_; }
    void rethrow_first() const;  // if there is one

   private:
    std::atomic<std::uint64_t> count_ = 0;
    mutable std::mutex mutex_;
    std::exception_ptr first_;
};

// A ring from the device, and a host thread that passes every line's payload to a function: the
// part of a service that is independent of its types.
class RequestServer {
   public:
    // Its exceptions are kept. A function that reports a failure to the device keeps it first, so
    // that the receiver finds it counted.
    using Serve = std::function<void(PayloadWords const&, ServiceFailures&)>;

    // `owner` is the user's class, for a line on stderr. `quads` is the number of quads of a
    // request. Throws UsageError for the options, and what Device::allocate throws.
    RequestServer(std::string_view owner, Device const& device, std::uint32_t quads,
                  std::uint32_t capacity, Sequence first, ServiceThreadOptions const& options,
                  Serve serve);
    RequestServer& operator=(RequestServer&&) = delete;
    ~RequestServer();

    void require_own() const { mark_.require_own(); }

    [[nodiscard]] MpmcRingView device_view() const;
    // Waits until earlier requests are served. Throws TimeoutError.
    void flush(std::chrono::nanoseconds timeout) const;
    // The number of exceptions of the function. rethrow_failure() throws the first, if any.
    [[nodiscard]] std::uint64_t failures() const;
    void rethrow_failure() const;

   private:
    class State;

    ProcessMark mark_;
    std::shared_ptr<State> state_;
    Thread thread_;
    std::unique_ptr<ExitHook> at_exit_;
};

// The message of a line's payload.
template <class T>
[[nodiscard]] T message_of(PayloadWords const& payload) {
    BytesOf<T> bytes;
    std::memcpy(&bytes, &payload, sizeof(T));
    return __builtin_bit_cast(T, bytes);
}

// The slots for replies in device memory.
class ReplyMemory {
   public:
    // Throws UsageError without any, and what Device::allocate throws.
    ReplyMemory(Device const& device, std::uint32_t count, Sequence first);

    [[nodiscard]] ReplySlots device_view() const { return view_at(memory_.device_ptr()); }
    [[nodiscard]] HostReplyWriter<HostMapped> const& writer() const { return writer_; }

   private:
    [[nodiscard]] ReplySlots view_at(void* begin) const;

    std::uint32_t slots_;
    Memory memory_;
    HostReplyWriter<HostMapped> writer_;
};

}  // namespace carillon::detail
