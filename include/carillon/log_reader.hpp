// SPDX-License-Identifier: Apache-2.0
// Another process's log (docs/ipc.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "carillon/detail/wire/language.hpp"
#include "carillon/log_record.hpp"

namespace carillon {
namespace detail {
class LogReaderState;
}  // namespace detail

class CARILLON_LAYOUT Connection;

// Reads the messages of a log that another process shares (Connection::log), in order. It holds
// nobody up: messages that it did not read in time are overwritten, and counted. Texts are
// formatted, and have no control characters. One thread at a time.
class LogReader {
   public:
    LogReader(LogReader&&) noexcept;
    LogReader& operator=(LogReader&&) noexcept;
    LogReader(LogReader const&) = delete;
    LogReader& operator=(LogReader const&) = delete;
    ~LogReader();

    // The next message. Sleeps until one comes, for at most `timeout`; returns nothing if none has
    // come. Once all messages are read, throws OwnerGoneError if the owner has ended, and
    // StoppedError if it has destroyed the log.
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // The number of messages that were overwritten before they were read, counted from the first
    // message that this reader found.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Connection;
    explicit LogReader(std::shared_ptr<detail::LogReaderState> state);

    std::shared_ptr<detail::LogReaderState> state_;
};

}  // namespace carillon
