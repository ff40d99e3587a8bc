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

// Reads the messages of a log that another process shares (Connection::log), in their order. It
// keeps nobody waiting: what it has not read in time is written over, and counted. Texts come put
// together, and without control characters. One thread at a time.
class LogReader {
   public:
    LogReader(LogReader&&) noexcept;
    LogReader& operator=(LogReader&&) noexcept;
    LogReader(LogReader const&) = delete;
    LogReader& operator=(LogReader const&) = delete;
    ~LogReader();

    // The next message, for which it waits so long, asleep; 0: not at all. Nothing where none has
    // come. When all that the owner had written is read, throws OwnerGoneError if the owner has
    // ended, and StoppedError if it has destroyed the log.
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // How many messages were written over before they were read, from the first that this one
    // found.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Connection;
    explicit LogReader(std::shared_ptr<detail::LogReaderState> state);

    std::shared_ptr<detail::LogReaderState> state_;
};

}  // namespace carillon
