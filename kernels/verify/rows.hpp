// SPDX-License-Identifier: Apache-2.0
// Litmus test of rows: several lines are loaded before the one acquire, and the data that each of
// them names are read at once.
#pragma once

#include "kernels/verify/data.hpp"

namespace carillon::tool {

inline constexpr std::uint32_t longest_row = detail::row_of<DataName, DataReceipt>;

// A DataReceiver that takes as many messages as are there. `early`, the control, reads the first
// word of each message's data ahead of the line.
template <class Near, bool early = false>
class RowReceiver {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD RowReceiver(detail::RingView const& names, detail::RingView const& receipts,
                            std::uint64_t const* data, std::uint32_t ring)
        : data_(data), ring_(ring), names_(names), receipts_(receipts) {}

    CARILLON_POLICY_CODE
    CARILLON_HD bool try_receive(Findings& findings) {
        std::uint64_t first_words[early ? longest_row : 1];
        if constexpr (early) {
            for (std::uint32_t i = 0; i < longest_row; ++i) {
                first_words[i] = load_data(first_word_of(names_.next() + i));
            }
        }
        auto const use = [&](std::uint32_t i, detail::Line const& line) {
            auto const name = detail::unpack<DataName>(line);
            if constexpr (early) check_early(name, first_words[i], findings);
            std::uint64_t const sum = check_data(data_, ring_, name, findings);
            if (!receipts_.try_push({name.number, sum})) {
                findings.add({Fault::missing, ring_, name.number, 0, 1, 0});
            }
        };
        std::uint32_t const taken = names_.template try_consume_row<longest_row>(longest_row, use);
        if (1 < taken) ++findings.rounds;
        return taken != 0;
    }

   private:
    [[nodiscard]] CARILLON_HD std::uint64_t const* first_word_of(detail::Sequence number) const {
        return data_ + (number & (names_.capacity() - 1)) * data_words;
    }
    CARILLON_HD void check_early(DataName const& name, std::uint64_t seen,
                                 Findings& findings) const {
        std::uint64_t const expected = versioned_word(static_cast<std::uint32_t>(name.number), 0);
        if (seen == expected) return;
        findings.add({Fault::stale_data, ring_, name.number, 0, expected, seen});
    }

    std::uint64_t const* data_;
    std::uint32_t ring_;
    detail::Consumer<DataName, Near, detail::DeviceFar> names_;
    detail::Producer<DataReceipt, detail::DeviceFar, Near> receipts_;
};

// Receives rows as the only consumer of an MPMC ring. The MPMC ring lies in the slots of the plain
// ring and has its own words in the two last blocks of the data. Its producer is a plain one, which
// needs only the credit of the first stripe: all lines before it have been taken then.
class SharedRowReceiver {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD SharedRowReceiver(detail::RingView const& names, detail::RingView const& receipts,
                                  std::uint64_t* data, std::uint32_t ring)
        : data_(data), ring_(ring), names_(shared(names, data)), receipts_(receipts) {}

    CARILLON_POLICY_CODE
    CARILLON_HD bool try_receive(Findings& findings) {
        std::uint32_t taken = 0;
        auto const use = [&](DataName const& name, detail::Sequence /*number*/) {
            ++taken;
            std::uint64_t const sum = check_data(data_, ring_, name, findings);
            if (!receipts_.try_push({name.number, sum})) {
                findings.add({Fault::missing, ring_, name.number, 0, 1, 0});
            }
        };
        bool const any = names_.poll(use);
        if (1 < taken) ++findings.rounds;
        return any;
    }

   private:
    static constexpr std::uint32_t stripe_shift = 4;

    [[nodiscard]] CARILLON_HD static detail::MpmcRingView shared(detail::RingView const& names,
                                                                 std::uint64_t* data) {
        constexpr std::size_t lap = data_words;
        static_assert(detail::MpmcRingView::left_words(data_words, 1U << stripe_shift) <= 2 * lap);
        std::uint64_t* const given_up = data + names.capacity * lap;
        std::uint64_t* const taken = given_up + lap;
        return {names.base,   given_up,       taken,        taken + lap, nullptr,
                names.credit, names.capacity, stripe_shift, names.first};
    }

    std::uint64_t const* data_;
    std::uint32_t ring_;
    detail::MpmcConsumer<DataName, detail::DeviceNear, detail::DeviceFar, detail::OneThread> names_;
    detail::Producer<DataReceipt, detail::DeviceFar, detail::DeviceNear> receipts_;
};

}  // namespace carillon::tool
