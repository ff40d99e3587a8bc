// SPDX-License-Identifier: Apache-2.0
// A log's newest messages, for clients of other processes to read, and how a client reads them. It
// gets texts that are put together already: nothing that another process says is a format.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/detail/serving/lendable.hpp"
#include "carillon/device.hpp"
#include "carillon/log_record.hpp"

namespace carillon::detail {

// A message is a mailbox's value: each version is another message, and none is left out.
struct PublishedMessage {
    std::uint64_t time_ns;
    std::uint32_t block;
    std::uint16_t level;
    std::uint16_t bytes;  // of the text
    char text[480];       // zero behind the text
};

// One thread writes; any thread may share it, at any time.
class PublishedLog {
   public:
    // Throws UsageError for the capacity.
    PublishedLog(Device const& device, std::uint32_t capacity);
    ~PublishedLog();

    [[nodiscard]] static MessageType type() {
        return message_type<PublishedMessage>(mailbox_lines<PublishedMessage>);
    }
    // The shared object, made when it is asked for first. Throws what PublishedObject throws.
    [[nodiscard]] std::shared_ptr<PublishedObject> object();
    // Writes the record if the log is shared.
    void write(LogRecord const& record);

   private:
    using Writer = MailboxWriter<PublishedMessage, HostMapped>;

    Device device_;
    std::uint32_t capacity_;
    std::mutex mutex_;
    std::shared_ptr<PublishedObject> object_;
    std::optional<Writer> writer_;
    std::atomic<bool> shared_ = false;
};

// The owner may write anything there, at any time: a look takes a bounded number of steps, and
// passes over whatever no owner of this library writes.
class LogReaderState : public ProcessMark {
   public:
    explicit LogReaderState(ObjectEnd<MailboxView> const& end);

    // The next message, if it comes in time. Throws as LentBy::require_there().
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // The next message if it is there.
    [[nodiscard]] std::optional<LogRecord> look();
    [[nodiscard]] std::uint64_t missed() const { return missed_; }

   private:
    [[nodiscard]] Sequence newest() const { return HostCached().load_word(view_.newest); }
    // The oldest message that is still there when `newest` is the newest.
    [[nodiscard]] Sequence oldest(Sequence newest) const {
        return newest < view_.first + view_.capacity ? view_.first : newest - view_.capacity + 1;
    }
    void skip_to(Sequence sequence) {
        missed_ += sequence - next_;
        next_ = sequence;
    }
    [[nodiscard]] bool read_next(PublishedMessage& message) const;

    LentBy lent_by_;
    MailboxView view_;
    Sequence next_;
    std::uint64_t missed_ = 0;
};

}  // namespace carillon::detail
