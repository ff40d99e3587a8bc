// SPDX-License-Identifier: Apache-2.0
// The ranges of failed flushes: they are flushed with the next flush.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>

namespace carillon::detail {

template <class Range>
class Unflushed {
   public:
    // Calls flush(range), and before it for ranges that failed earlier. Ranges that fail now are
    // left for the next call. From any thread.
    template <class Flush>
    void flush(Range const& range, Flush&& flush) {
        if (!any_.load(std::memory_order_relaxed)) return keeping(range, flush);
        keep(range);
        for (std::optional<Range> next = take(); next; next = take()) keeping(*next, flush);
    }

   private:
    template <class Flush>
    void keeping(Range const& range, Flush& flush) {
        try {
            flush(range);
        } catch (...) {
            keep(range);
            throw;
        }
    }

    void keep(Range const& range) {
        std::lock_guard const lock(mutex_);
        ranges_.push_back(range);
        any_ = true;
    }

    [[nodiscard]] std::optional<Range> take() {
        std::lock_guard const lock(mutex_);
        any_ = ranges_.size() > 1;
        if (ranges_.empty()) return {};
        Range const range = ranges_.front();
        ranges_.pop_front();
        return range;
    }

    std::atomic<bool> any_ = false;
    std::mutex mutex_;
    std::deque<Range> ranges_;
};

}  // namespace carillon::detail
