// SPDX-License-Identifier: Apache-2.0
// A thread of the host that serves what device threads send.
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

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/protocol/mpmc_ring_view.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"

namespace carillon {
struct ServiceThreadOptions;
}  // namespace carillon

namespace carillon::detail {

class ExitHook;

// What a service's function threw.
class ServiceFailures {
   public:
    // Keeps the exception that is being handled, if it is the first, and counts it.
    void keep();
    [[nodiscard]] std::uint64_t count() const { return count_; }
    void rethrow_first() const;  // if there is one

   private:
    std::atomic<std::uint64_t> count_ = 0;
    mutable std::mutex mutex_;
    std::exception_ptr first_;
};

// A ring from the device, and a thread of the host that hands every line's payload to a function:
// what a service does not need its types for.
class RequestServer {
   public:
    // What it throws is kept. A function that sends word of a failure keeps it before, so that who
    // gets the word finds it counted.
    using Serve = std::function<void(PayloadWords const&, ServiceFailures&)>;

    // `owner`: the class that has it, for a line on stderr. `quads`: what a request fills of its
    // line. Throws UsageError for the options, and what Device::allocate throws.
    RequestServer(std::string_view owner, Device const& device, std::uint32_t quads,
                  std::uint32_t capacity, Sequence first, ServiceThreadOptions const& options,
                  Serve serve);
    RequestServer(RequestServer const&) = delete;
    RequestServer& operator=(RequestServer const&) = delete;
    ~RequestServer();

    void require_own() const { mark_.require_own(); }

    [[nodiscard]] MpmcRingView device_view() const;
    // Waits until what was sent before is served. Throws TimeoutError.
    void flush(std::chrono::nanoseconds timeout) const;
    // How often the function threw; and the first that it threw, if there is one, thrown here.
    [[nodiscard]] std::uint64_t failures() const;
    void rethrow_failure() const;

   private:
    class State;

    ProcessMark mark_;
    std::shared_ptr<State> state_;
    Thread thread_;
    std::unique_ptr<ExitHook> at_exit_;
};

// What pack() made a line's payload of.
template <class T>
[[nodiscard]] T message_of(PayloadWords const& payload) {
    BytesOf<T> bytes;
    std::memcpy(&bytes, &payload, sizeof(T));
    return __builtin_bit_cast(T, bytes);
}

}  // namespace carillon::detail
