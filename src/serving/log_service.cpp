// SPDX-License-Identifier: Apache-2.0
// The service that takes log messages of a kernel, and shares them with clients of other processes.
#include <memory>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/log_texts.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/log.hpp"
#include "carillon/server.hpp"
#include "serving/published_log.hpp"

namespace carillon {
namespace {

void print(LogRecord const& record) { detail::say_line(detail::log_line(record)); }

}  // namespace

LogService::LogService(Device const& device, LogOptions options) try
    : dropped_(device.allocate(sizeof(detail::Line))),
      published_(std::make_shared<detail::PublishedLog>(device, options.shared_capacity)) {
    auto const& registry = detail::LogRegistry::of_program();
    registry.require_sound();
    if (!options.sink) options.sink = &print;
    server_ = std::make_unique<detail::RequestServer>(
        "LogService", device, detail::quads_of<detail::LogMessage>, options.capacity,
        detail::Sequence{1}, options.thread,
        [&registry, sink = std::move(options.sink), clients = published_](
            detail::PayloadWords const& payload, auto&) {
            auto const message = __builtin_bit_cast(detail::LogMessage, payload);
            constexpr std::uint32_t block_bits = (1U << detail::log_level_shift) - 1;
            LogRecord const record{
                message.time_ns, message.block_and_level & block_bits,
                static_cast<LogLevel>(message.block_and_level >> detail::log_level_shift),
                detail::log_text(registry, message)};
            clients->write(record);
            sink(record);
        });
} catch (...) {
    detail::throw_named("LogService");
}

DeviceLog LogService::device_handle() const {
    return detail::in_call("LogService::device_handle", [&] {
        return DeviceLog(detail::owned(server_).device_view(),
                         static_cast<std::uint64_t*>(dropped_.device_ptr()));
    });
}

void LogService::serve(Server& server, NameArgument name) const {
    detail::in_call("LogService::serve", [&] {
        detail::ServerMaker::add(server, name, detail::owned(published_).object());
    });
}

std::uint64_t LogService::dropped() const {
    return detail::in_call("LogService::dropped", [&] {
        (void)detail::owned(server_);
        return detail::HostCached(dropped_.range_sync())
            .load_word(static_cast<std::uint64_t const*>(dropped_.host_ptr()));
    });
}

}  // namespace carillon
