// SPDX-License-Identifier: Apache-2.0
// The service that takes log messages of a kernel, and shares them with clients of other processes.
#include "serving/published_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "carillon/connection.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"
#include "carillon/log.hpp"
#include "carillon/server.hpp"
#include "serving/message_fields.hpp"

namespace carillon {
namespace detail {
namespace {

constexpr std::uint32_t most_shared_messages = 1U << 16U;

// One look skips at most so many, since the owner may write as many as it likes.
constexpr unsigned most_skips = 64;
// How often it looks while a caller waits.
constexpr std::chrono::milliseconds log_look_period{1};

// Returns nothing for a message that no owner of this library writes.
std::optional<LogRecord> record_of(PublishedMessage const& message) {
    if (message.level > static_cast<unsigned>(LogLevel::error) ||
        message.bytes > sizeof(message.text))
        return {};
    std::string text(message.text, message.bytes);
    WireWriter::clean(text);
    return LogRecord{message.time_ns, message.block, static_cast<LogLevel>(message.level),
                     std::move(text)};
}

}  // namespace

PublishedLog::PublishedLog(Device const& device, std::uint32_t capacity)
    : device_(device), capacity_(capacity) {
    if (std::has_single_bit(capacity) && capacity >= 2 && capacity <= most_shared_messages) return;
    throw UsageError(
        fmt::format("LogOptions::shared_capacity is {}, not a power of two from 2 to {}", capacity,
                    most_shared_messages));
}

PublishedLog::~PublishedLog() {
    if (object_ != nullptr) object_->close();
}

std::shared_ptr<PublishedObject> PublishedLog::object() {
    std::lock_guard const lock(mutex_);
    if (object_ == nullptr) {
        ObjectShape const shape{capacity_, mailbox_lines<PublishedMessage>, 0};
        object_ = std::make_shared<PublishedObject>(device_, ObjectKind::log, shape, type(), 0,
                                                    Sequence{1});
        writer_.emplace(object_->host_view(), HostMapped(HostStores{}));
        shared_.store(true, std::memory_order_release);
    }
    return object_;
}

void PublishedLog::write(LogRecord const& record) {
    if (!shared_.load(std::memory_order_acquire)) return;
    std::string_view const text = cut(record.text, sizeof(PublishedMessage::text));
    PublishedMessage message{record.time_ns,
                             record.block,
                             static_cast<std::uint16_t>(record.level),
                             static_cast<std::uint16_t>(text.size()),
                             {}};
    std::memcpy(message.text, text.data(), text.size());
    writer_->set(message);
}

LogReaderState::LogReaderState(ObjectEnd<MailboxView> const& end)
    : lent_by_(end.lent_by), view_(end.view), next_(oldest(newest())) {}

// It reads a mailbox that has had no other value yet.
bool LogReaderState::read_next(PublishedMessage& message) const {
    std::uint64_t only = next_;
    MailboxView one = view_;
    one.newest = &only;
    one.first = next_;
    return MailboxReader<PublishedMessage, HostCached>(one).refresh(message);
}

std::optional<LogRecord> LogReaderState::look() {
    for (unsigned skips = 0; skips < most_skips; ++skips) {
        Sequence const before = newest();
        if (before < next_) return {};
        skip_to(std::max(next_, oldest(before)));
        PublishedMessage message{};
        if (read_next(message)) {
            ++next_;
            if (auto record = record_of(message)) return record;
            ++missed_;
            continue;
        }
        // The message was overwritten, or the one behind the newest is about to overwrite it, or it
        // is not complete yet.
        if (newest() - next_ + 1 < view_.capacity) return {};
        skip_to(next_ + 1);
    }
    return {};
}

std::optional<LogRecord> LogReaderState::next(std::chrono::nanoseconds timeout) {
    Deadline const deadline(timeout);
    for (;;) {
        if (auto record = look()) return record;
        try {
            lent_by_.require_there();
        } catch (...) {  // it reads what the owner wrote before it ended
            if (auto record = look()) return record;
            throw;
        }
        if (deadline.passed()) return {};
        std::this_thread::sleep_for(
            std::min<std::chrono::nanoseconds>(deadline.left(), log_look_period));
    }
}

}  // namespace detail

LogService::LogService(Device const& device, LogOptions options) try
    : dropped_(device.allocate(sizeof(detail::Line))),
      published_(std::make_shared<detail::PublishedLog>(device, options.shared_capacity)) {
    auto const& registry = detail::LogRegistry::of_program();
    registry.require_sound();
    if (!options.sink) {
        options.sink = [](LogRecord const& record) { detail::say_line(detail::log_line(record)); };
    }
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

std::optional<LogRecord> LogReader::next(std::chrono::nanoseconds timeout) {
    return detail::in_call_to("LogReader::next", state_, [&](detail::LogReaderState& state) {
        detail::OneThreadCall<> const one_thread(&state);
        return state.next(timeout);
    });
}

std::uint64_t LogReader::missed() const {
    return detail::in_call("LogReader::missed", [&] { return detail::owned(state_).missed(); });
}

}  // namespace carillon
