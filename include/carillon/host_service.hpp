// SPDX-License-Identifier: Apache-2.0
// `HostService`, for kernels that ask the host: a CPU thread serves device threads with a function.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "carillon/arguments.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/request_server.hpp"
#include "carillon/detail/protocol/host_call.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"

namespace carillon {

using detail::DeviceClock;
using detail::HostCallResult;

// The result's name.
[[nodiscard]] std::string_view to_string(HostCallResult result);

// How a service's thread waits while no requests come, and how it ends.
struct ServiceThreadOptions {
    // The thread polls for `spin` after the last request, and then sleeps for `sleep` between
    // polls; the system adds about 50 us. With `sleep` = 0 it polls forever.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    std::chrono::nanoseconds sleep = std::chrono::microseconds(50);
    // How it polls; by default HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // The destructor lets the thread serve earlier requests for at most this time. If the function
    // then runs as long again, at least 100 ms, the thread is abandoned with all that it holds.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(1);
};

struct HostServiceOptions {
    std::uint32_t callers = 256;  // most outstanding calls, 1 to 2^24
    // Slots for requests that the host has not taken; a power of two from 32 to 2^20.
    std::uint32_t capacity = 1024;
    ServiceThreadOptions thread{};
    // Whether replies refer to device memory that the function has written (Memory::host_ptr),
    // which is then complete before the reply; see `out_of_line` of a handler.
    OutOfLine replies = OutOfLine::none;
    ForTests for_tests{};
};

// The end with which a handler or a kernel's body asks the host. Pass it by value: every thread
// uses its own copy. If `Reply` is void it can only post.
template <class Request, class Reply>
using HostCaller = std::conditional_t<
    std::is_void_v<Reply>, detail::BasicHostPoster<Request, detail::DeviceFar, detail::DeviceNear>,
    detail::BasicHostCaller<Request, Reply, detail::DeviceFar, detail::DeviceNear, DeviceClock>>;

// Serves requests of device threads with a function. `Request` and `Reply` are trivially copyable
// and at most 40 bytes; `Reply` may be void. The function runs on the service's thread for one
// request at a time, and serves each device thread's requests in order. If it throws, the exception
// is kept and the result is HostCallResult::failed.
//
// Device threads may go on calling when the service is destroyed: their calls time out.
template <class Request, class Reply>
class HostService {
   public:
    using Function = std::function<Reply(Request const&)>;  // serves one request
    using Caller = HostCaller<Request, Reply>;              // the type of device_handle()

    // Throws UsageError for the options and without a function, and what Device::allocate throws.
    HostService(Device const& device, Function function, HostServiceOptions const& options = {}) try
        : clock_(device.oversubscribed(2)) {
        detail::check_host_message<Request>();
        if (!function) throw UsageError("the function that serves requests is empty");
        if constexpr (!std::is_void_v<Reply>) {
            detail::check_host_message<Reply>();
            replies_ = std::make_shared<detail::ReplyMemory>(device, options.callers,
                                                             options.for_tests.first);
        }
        server_ = std::make_unique<detail::RequestServer>(
            "HostService", device, detail::quads_of<detail::AddressedRequest<Request>>,
            options.capacity, options.for_tests.first, options.thread,
            [function = std::move(function), replies = replies_, data = options.replies](
                auto const& payload, auto& failures) {
                serve(function, replies.get(), data, payload, failures);
            });
    } catch (...) {
        detail::throw_named("HostService");
    }

    // Returns the end for handlers and kernels, any number of which may have one.
    [[nodiscard]] Caller device_handle() const {
        return detail::in_call("HostService::device_handle", [&] {
            detail::MpmcRingView const requests = detail::owned(server_).device_view();
            if constexpr (std::is_void_v<Reply>) {
                return Caller(requests);
            } else {
                return Caller(requests, replies_->device_view(), clock_);
            }
        });
    }

    // Waits until all requests sent so far are served. Throws TimeoutError.
    void flush(std::chrono::nanoseconds timeout) const {
        detail::in_call_to("HostService::flush", server_, &detail::RequestServer::flush, timeout);
    }

    // The number of exceptions that the function threw. rethrow_failure() throws the first, if any.
    [[nodiscard]] std::uint64_t failures() const {
        return detail::in_call_to("HostService::failures", server_,
                                  &detail::RequestServer::failures);
    }
    void rethrow_failure() const {
        detail::in_call_to("HostService::rethrow_failure", server_,
                           &detail::RequestServer::rethrow_failure);
    }

   private:
    static_assert(std::is_trivially_copyable_v<Caller>);

    static void serve(Function const& function, detail::ReplyMemory const* replies, OutOfLine data,
                      detail::PayloadWords const& payload, detail::ServiceFailures& failures) {
        auto const request = detail::message_of<detail::AddressedRequest<Request>>(payload);
        if constexpr (std::is_void_v<Reply>) {
            function(request.value);
        } else {
            std::optional<Reply> reply;
            try {
                reply.emplace(function(request.value));
            } catch (...) {
                failures.keep();
            }
            if (!reply) return replies->writer().fail(request.reply_to);
            replies->writer().answer(request.reply_to, *reply, data);
        }
    }

    DeviceClock clock_;  // for callers, which may share processors with the thread
    std::shared_ptr<detail::ReplyMemory> replies_;  // the thread may outlive the service
    detail::OwnedByProcess<detail::RequestServer> server_;
};

}  // namespace carillon
