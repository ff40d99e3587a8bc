// SPDX-License-Identifier: Apache-2.0
// log() and `LogService`, for handlers and kernels that log. The device sends a number for the text
// and the unformatted arguments; the host formats them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/request_server.hpp"
#include "carillon/detail/kernel/log_message.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/device.hpp"
#include "carillon/host_service.hpp"
#include "carillon/log_record.hpp"

namespace carillon {

using detail::LogText;
using detail::MpmcRingView;

namespace detail {
class PublishedLog;
}  // namespace detail

class Server;

// Takes a message; see LogOptions::sink.
using LogSink = std::function<void(LogRecord const&)>;

struct LogOptions {
    // Slots for messages that the host has not taken; a power of two from 32 to 2^20.
    std::uint32_t capacity = 1024;
    // Gets every message, one after the other, on the log's thread; its exceptions are kept. If the
    // sink is slow, the log may fill up; further messages are dropped and counted. Without a sink
    // another thread writes lines to stderr, `carillon: [block 3, 12.345678901] text`, so that a
    // slow reader of stderr does not delay the log's thread.
    LogSink sink = nullptr;
    // How many of the newest messages clients of other processes can read (LogService::serve); a
    // power of two from 2 to 2^16.
    std::uint32_t shared_capacity = 256;
    ServiceThreadOptions thread{};
};

// The most arguments of one message.
inline constexpr std::size_t most_log_arguments = detail::log_arguments;

class DeviceLog;

CARILLON_POLICY_CODE
template <LogText text, LogLevel level = LogLevel::info, class... Arguments>
CARILLON_HD void log(DeviceLog& to, Arguments... arguments);

// The end with which a handler or a kernel's body logs: pass it by value.
class DeviceLog {
   public:
    // `dropped` is a word of device memory that counts dropped messages.
    DeviceLog(MpmcRingView const& ring, std::uint64_t* dropped) : ring_(ring), dropped_(dropped) {}

   private:
    CARILLON_POLICY_CODE
    template <LogText text, LogLevel level, class... Arguments>
    CARILLON_HD friend void log(DeviceLog& to, Arguments... arguments);

    CARILLON_POLICY_CODE
    CARILLON_HD void send(detail::LogMessage& message, LogLevel level) {
        message.block_and_level = block::index() | static_cast<std::uint32_t>(level)
                                                       << detail::log_level_shift;
        message.time_ns = DeviceClock().now_ns();
        if (!ring_.try_push(message)) [[unlikely]]
            (void)detail::DeviceNear().fetch_add(dropped_, 1);
    }

    detail::LanesProducer<detail::LogMessage, detail::DeviceFar, detail::DeviceNear,
                          detail::OneThread>
        ring_;
    std::uint64_t* dropped_;
};

// Sends a message from any thread of any block: log<"price {} over limit {}">(to, price, limit).
// The text has fmt::format's syntax. It never waits: a message without room is dropped and counted.
CARILLON_POLICY_CODE
template <LogText text, LogLevel level, class... Arguments>
CARILLON_HD void log(DeviceLog& to, Arguments... arguments) {
    constexpr std::uint32_t id = detail::LogSite<text, Arguments...>::id;
#if !defined(__CUDA_ARCH__)
    (void)&detail::LogRegistered<text, Arguments...>::registration;
#endif
    detail::LogMessage message{id, 0, 0, {detail::log_word(arguments)...}};
    to.send(message, level);
}

// Takes the messages of device threads and passes them to a sink on its own thread.
class LogService {
   public:
    // Throws UsageError for the options, for two texts of this program with the same id, and for a
    // text that cannot be formatted; and what Device::allocate throws.
    explicit LogService(Device const& device, LogOptions options = {});

    // Returns the end for handlers and kernels, any number of which may have one.
    [[nodiscard]] DeviceLog device_handle() const;

    // Waits until the sink has received all earlier messages. Throws TimeoutError. The destructor
    // does this too, for at most thread.stop_timeout.
    void flush(std::chrono::nanoseconds timeout) const {
        detail::in_call_to("LogService::flush", server_, &detail::RequestServer::flush, timeout);
    }

    // The number of messages dropped for want of room. Reads a word across the bus.
    [[nodiscard]] std::uint64_t dropped() const;
    // The number of exceptions that the sink threw. rethrow_failure() throws the first, if any.
    [[nodiscard]] std::uint64_t failures() const {
        return detail::in_call_to("LogService::failures", server_,
                                  &detail::RequestServer::failures);
    }
    void rethrow_failure() const {
        detail::in_call_to("LogService::rethrow_failure", server_,
                           &detail::RequestServer::rethrow_failure);
    }

    // Shares the log by a name, see Server::add. From now on the log's thread also stores each
    // message for clients before the sink gets it. Clients can only read (Connection::log), and get
    // at most 480 bytes of a text. Throws UnsupportedError on a system that cannot keep clients
    // from writing (Linux before 5.1).
    void serve(Server& server, NameArgument name) const;

   private:
    Memory dropped_;
    std::shared_ptr<detail::PublishedLog> published_;  // for clients, after serve()
    detail::OwnedByProcess<detail::RequestServer> server_;
};

}  // namespace carillon
