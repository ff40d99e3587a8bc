// SPDX-License-Identifier: Apache-2.0
#include "serving/log_reader_state.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/log_reader.hpp"
#include "serving/message_fields.hpp"

namespace carillon {
namespace detail {
namespace {

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

LogReaderState::LogReaderState(LeasedEnd<MailboxView> const& end)
    : lent_by_(end.lease), view_(end.view), next_(oldest(newest())) {}

Sequence LogReaderState::newest() const { return HostCached().load_word(view_.newest); }

Sequence LogReaderState::oldest(Sequence newest) const {
    return newest < view_.first + view_.capacity ? view_.first : newest - view_.capacity + 1;
}

void LogReaderState::skip_to(Sequence sequence) {
    missed_ += sequence - next_;
    next_ = sequence;
}

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

LogReader::LogReader(std::shared_ptr<detail::LogReaderState> state) : state_(std::move(state)) {}
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;
LogReader::~LogReader() = default;

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
