// SPDX-License-Identifier: Apache-2.0
// How a client reads its owner's log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/log_record.hpp"
#include "serving/published_log.hpp"

namespace carillon::detail {

// The owner may write anything there, at any time: a look takes a bounded number of steps, and
// passes over whatever no owner of this library writes.
class LogReaderState {
   public:
    explicit LogReaderState(LeasedEnd<MailboxView> const& end);

    void require_own() const { mark_.require_own(); }
    // The next message, if it comes in time. Throws as LentBy::require_there().
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // The next message if it is there.
    [[nodiscard]] std::optional<LogRecord> look();
    [[nodiscard]] std::uint64_t missed() const { return missed_; }

   private:
    [[nodiscard]] Sequence newest() const;
    // The oldest message that is still there when `newest` is the newest.
    [[nodiscard]] Sequence oldest(Sequence newest) const;
    void skip_to(Sequence sequence);
    [[nodiscard]] bool read_next(PublishedMessage& message) const;

    ProcessMark mark_;
    LentBy lent_by_;
    MailboxView view_;
    Sequence next_;
    std::uint64_t missed_ = 0;
};

}  // namespace carillon::detail
