// SPDX-License-Identifier: Apache-2.0
// The device's side of the measures of `carillon-bench rate`, for the GPU and for the emulated
// device.
#pragma once

#include <carillon/block.hpp>
#include <carillon/mpmc_ring.hpp>
#include <cstdint>

#include "kernels/bounded_polls.hpp"

namespace carillon::tool {

// A message that fills a line.
struct Payload {
    std::uint64_t word[detail::payload_bytes / sizeof(std::uint64_t)];

    [[nodiscard]] CARILLON_HD std::uint64_t sum() const {
        std::uint64_t total = 0;
        for (std::uint64_t each : word) total += each;
        return total;
    }
};
static_assert(sizeof(Payload) == detail::payload_bytes);

// How many messages went by, and the sum of their words.
struct Tally {
    std::uint64_t messages = 0;
    std::uint64_t sum = 0;

    CARILLON_HD void add(std::uint64_t of_message) {
        ++messages;
        sum += of_message;
    }
    CARILLON_HD Tally& operator+=(Tally const& other) {
        messages += other.messages;
        sum += other.sum;
        return *this;
    }
    bool operator==(Tally const&) const = default;
};

// The CPU's order to a kernel.
enum class Order : std::uint64_t {
    run,
    report,  // report the tally whenever there is nothing to take
    stop,    // report the tally and end
};

// The words between the CPU and a kernel. The kernel reads its orders in device memory. Each of its
// threads reports its tally in host memory: a line whose tag counts the reports.
struct Ledger {
    std::uint64_t const* order;
    detail::Line* tallies;
    Bound bound;

    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD Order current_order() const {
        return static_cast<Order>(detail::DeviceNear().load_word(order));
    }
};

// A thread's part of the ledger.
class Account {
   public:
    CARILLON_HD Account(Ledger const& ledger, unsigned block)
        : ledger_(ledger),
          line_(ledger.tallies + std::size_t{block} * block::size() + block::thread_rank()),
          polls_(ledger.bound) {}

    CARILLON_HD void add(std::uint64_t of_message) { tally_.add(of_message); }
    CARILLON_HD void found() { polls_.found(); }

    // Called after a poll that found nothing; returns whether to go on. It looks at the order only
    // now and then, since a look costs as much as a poll.
    CARILLON_HD bool again() {
        if (!polls_.again()) return false;
        if ((++idle_ & 31U) != 0) return true;
        return obey();
    }

    // Looks at the order now; returns whether to go on.
    CARILLON_HD bool obey() {
        Order const order = ledger_.current_order();
        if (order != Order::run) tell();
        return order != Order::stop;
    }

   private:
    CARILLON_HD void tell() {
        if (tally_.messages == told_) return;
        told_ = tally_.messages;
        detail::Tag const version = ++version_;
        detail::DeviceFar().store_line(line_, detail::pack(tally_, version), version - 1);
    }

    Ledger ledger_;
    detail::Line* line_;
    BoundedPolls polls_;
    Tally tally_;
    std::uint64_t told_ = 0;
    detail::Tag version_ = 0;
    std::uint32_t idle_ = 0;
};

// Takes the messages of MPMC rings: block b from ring b mod rings, with all its warps. Without
// `sums` it only counts messages, as an empty handler.
template <bool sums>
struct TakeMpmc {
    static constexpr unsigned most_rings = 8;

    DeviceMpmcConsumer<Payload> ends[most_rings];
    unsigned rings;
    Ledger ledger;

    CARILLON_HD void operator()(unsigned block) const {
        auto end = ends[block % rings];
        Account account(ledger, block);
        for (bool going_on = true; going_on;) {
            bool const found = end.poll([&](Payload const& message, detail::Sequence /*number*/) {
                account.add(sums ? message.sum() : 0);
            });
            if (found) {
                account.found();
            } else {
                going_on = detail::WarpLanes::all(account.again());  // the lanes stay together
            }
        }
    }
};

// Sends through an MPMC ring, every lane a message at a time, until it is stopped.
struct SendMpmc {
    DeviceMpmcProducer<Payload> end;
    Ledger ledger;

    CARILLON_HD void operator()(unsigned block) const {
        constexpr std::uint32_t sends_per_look = 64;     // at the order
        constexpr std::uint32_t messages_per_claim = 4;  // of a lane
        auto own = end;
        Account account(ledger, block);
        std::uint64_t const thread = std::uint64_t{block} * block::size() + block::thread_rank();
        std::uint32_t sends = 0;
        for (bool going_on = true; going_on;) {
            Payload messages[messages_per_claim];
            for (std::uint64_t i = 0; i < messages_per_claim; ++i) {
                std::uint64_t const n =
                    thread << 32U | (std::uint64_t{messages_per_claim} * sends + i);
                messages[i] = {{n, n ^ 1, n + 2, n ^ 3, n + 4, n ^ 5}};
            }
            if (own.try_push_all(messages)) {
                for (Payload const& each : messages) account.add(each.sum());
                account.found();
                if (++sends % sends_per_look == 0)
                    going_on = detail::WarpLanes::all(account.obey());
            } else {
                going_on = detail::WarpLanes::all(account.again());
            }
        }
    }
};

// One thread that drains a ring. If it is asked to, it reports each time that the ring is empty.
struct Drain {
    detail::RingView ring;
    Ledger ledger;

    CARILLON_HD void operator()(unsigned block) const {
        DeviceConsumer<Payload> end(ring);
        Account account(ledger, block);
        do {
            while (end.try_consume([&](detail::Line const& line) {
                account.add(detail::unpack<Payload>(line).sum());
            })) {
                account.found();
            }
        } while (account.again());
    }
};

// The alternative: lines in page-locked host memory, which warps poll over the bus. Warp w takes
// rows w, w + warps, ... of 32 lines and returns as its credit, in host memory, how many rows.
struct PinnedRing {
    detail::Line* lines;
    std::uint64_t* credits;  // a line apart
    std::uint32_t capacity;  // lines; a power of two
    std::uint32_t warps;

    static constexpr std::uint32_t row = detail::lanes_per_warp;

    [[nodiscard]] CARILLON_HD detail::Line* line(std::uint64_t number) const {
        return lines + (number & (capacity - 1));
    }
    [[nodiscard]] CARILLON_HD std::uint64_t* credit(std::uint32_t warp) const {
        return credits + warp * (sizeof(detail::Line) / sizeof(std::uint64_t));
    }
    // The tag of a line: its lap, from 1.
    [[nodiscard]] CARILLON_HD detail::Tag tag(std::uint64_t number) const {
        return static_cast<detail::Tag>(number / capacity) + 1;
    }
};

struct PollPinned {
    PinnedRing ring;
    Ledger ledger;

    CARILLON_HD void operator()(unsigned block) const {
        std::uint32_t const warp =
            block::size() == 1 ? block : block::thread_rank() / detail::lanes_per_warp;
        Account account(ledger, block);
        for (std::uint64_t rows = 0;; ++rows) {
            std::uint64_t const first = (rows * ring.warps + warp) * PinnedRing::row;
            for (auto i = detail::WarpLanes::thread_rank(); i < PinnedRing::row;
                 i += detail::WarpLanes::size()) {
                if (!await(first + i, account)) return;
            }
            detail::WarpLanes::sync();
            if (detail::WarpLanes::thread_rank() == 0)
                detail::DeviceFar().store_word(ring.credit(warp), rows + 1);
        }
    }

   private:
    CARILLON_HD bool await(std::uint64_t number, Account& account) const {
        for (bool going_on = true; going_on;) {
            detail::Line const line = detail::DeviceNear().load_line(ring.line(number));
            bool const arrived = detail::has_arrived(line, ring.tag(number));
            if (detail::WarpLanes::all(arrived)) {
                account.add(detail::unpack<Payload>(line).sum());
                account.found();
                return true;
            }
            going_on = detail::WarpLanes::all(account.again());
        }
        return false;
    }
};

}  // namespace carillon::tool
