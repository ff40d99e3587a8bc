// SPDX-License-Identifier: Apache-2.0
// Access policies that record a ring's accesses in order.
#pragma once

#include <string>
#include <vector>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// The accesses, as "<policy>.<call> <place>".
class AccessLog {
   public:
    explicit AccessLog(RingView const& view) : view_(view) {}

    void add(std::string const& what, void const* where) {
        entries_.push_back(what + place(where));
    }
    void add(std::string const& what) { entries_.push_back(what); }

    // Returns the accesses since the last call.
    [[nodiscard]] std::vector<std::string> take() {
        std::vector<std::string> taken;
        taken.swap(entries_);
        return taken;
    }

   private:
    [[nodiscard]] std::string place(void const* where) const {
        if (where == view_.credit) return " credit";
        auto const slot = static_cast<Line const*>(where) - view_.base;
        return " slot " + std::to_string(slot);
    }

    RingView view_;
    std::vector<std::string> entries_;
};

class RecordingNear {
   public:
    explicit RecordingNear(AccessLog* log) : log_(log) {}

    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        log_->add("near.load_line", from);
        return HostCached().load_line(from, quads);
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        log_->add("near.load_line_ahead", from);
        return HostCached().load_line_ahead(from, quads);
    }
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        log_->add("near.load_word", from);
        return detail::cpu::load_word(from);
    }

   private:
    AccessLog* log_;
};

class RecordingFar {
   public:
    explicit RecordingFar(AccessLog* log) : log_(log) {}

    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t /*quads*/ = quads_per_line) const {
        log_->add("far.store_line", to);
        log_->add("  over tag " + std::to_string(previous) + " tag " +
                  std::to_string(line.quads[0].tag()));
        X86::store_line(StoreKind::cached, to, line);
    }
    template <std::size_t count>
    void store_lines(Line* to, Lines<count> const& lines, std::size_t quads, Tag previous) const {
        store_lines_by_line(*this, to, lines.line, quads, previous);
    }
    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        store_payloads_by_line(*this, to, payloads, count, first, previous);
    }
    void store_word(std::uint64_t* to, std::uint64_t value) const {
        log_->add("far.store_word", to);
        detail::cpu::store_word(to, value);
    }
    void commit(void const* where, std::size_t size) const {
        log_->add("far.commit " + std::to_string(size), where);
    }
    void release() const { log_->add("far.release"); }

   private:
    AccessLog* log_;
};

static_assert(NearAccess<RecordingNear> && FarAccess<RecordingFar>);

}  // namespace carillon::test
