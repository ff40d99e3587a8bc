// SPDX-License-Identifier: Apache-2.0
// Litmus tests of out-of-line data: a block of data, and a line that names it. Data are written
// again only after a receipt that depends on the data that were read.
#pragma once

#include "kernels/verify/station.hpp"

namespace carillon::tool {

inline constexpr std::uint32_t data_words = 64;  // room for each message: 512 bytes

struct DataName {
    std::uint64_t number;
    std::uint32_t block;
    std::uint32_t words;
};
struct DataReceipt {
    std::uint64_t number;
    std::uint64_t sum;  // of the data: they were read before the receipt left
};

// Either side's: writes data, names them, takes receipts.
template <class Far, class Near>
class DataSender {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD DataSender(detail::RingView const& names, detail::RingView const& receipts,
                           std::uint64_t* data, OutOfLine order, Far far = Far(),
                           Near near = Near())
        : data_(data), order_(order), names_(names, far, near), receipts_(receipts, near, far) {}

    // `written(where, bytes)` is called between the data and the line.
    CARILLON_POLICY_CODE
    template <class Written>
    CARILLON_HD bool try_send(Written&& written) {
        if (room() == 0) return false;
        return names_.try_push(write(names_.next(), written), order_);
    }

    // Sends as many as there is room for, at most `most`, with one release for the data of all.
    // Returns how many.
    CARILLON_POLICY_CODE
    template <std::uint32_t most, class Written>
    CARILLON_HD std::uint32_t try_send_row(Written&& written) {
        std::uint32_t const count = room() < most ? room() : most;
        if (count == 0) return 0;
        DataName names[most];
        for (std::uint32_t i = 0; i < count; ++i) names[i] = write(names_.next() + i, written);
        return static_cast<std::uint32_t>(names_.try_push_n(names, count, order_));
    }

    CARILLON_POLICY_CODE
    CARILLON_HD bool try_receipt() {
        DataReceipt receipt;
        return receipts_.try_pop(receipt);
    }

    [[nodiscard]] CARILLON_HD std::uint64_t in_flight() const {
        return names_.next() - receipts_.next();
    }
    [[nodiscard]] CARILLON_HD detail::Sequence next() const { return names_.next(); }

   private:
    // Half the slots, so that a receipt always finds room, even if credit is held back.
    [[nodiscard]] CARILLON_HD std::uint32_t room() const {
        return names_.capacity() / 2 - static_cast<std::uint32_t>(in_flight());
    }

    CARILLON_POLICY_CODE
    template <class Written>
    [[nodiscard]] CARILLON_HD DataName write(detail::Sequence sequence, Written&& written) {
        auto const number = static_cast<std::uint32_t>(sequence);
        std::uint32_t const block = number & (names_.capacity() - 1);
        std::uint32_t const words = 1 + scramble(number, 0) % data_words;
        std::uint64_t* const data = data_ + std::size_t{block} * data_words;
        for (std::uint32_t i = 0; i < words; ++i) store_data(data + i, versioned_word(number, i));
        written(data, words * sizeof(std::uint64_t));
        return {number, block, words};
    }

    std::uint64_t* data_;
    OutOfLine order_;
    detail::Producer<DataName, Far, Near> names_;
    detail::Consumer<DataReceipt, Near, Far> receipts_;
};

// Reads every word of the data that a name refers to, and returns the sum. The loop is small on
// purpose: else the compiler keeps the lines of a row in memory (rows.hpp), while the library
// serves them from registers.
CARILLON_HD inline std::uint64_t check_data(std::uint64_t const* of_ring, std::uint32_t ring,
                                            DataName const& name, Findings& findings) {
    std::uint64_t const* const data = of_ring + std::size_t{name.block} * data_words;
    std::uint64_t sum = 0;
    bool wrong = false;
    CARILLON_SELDOM
    for (std::uint32_t i = 0; i < name.words; ++i) {
        std::uint64_t const seen = load_data(data + i);
        std::uint64_t const expected = versioned_word(static_cast<std::uint32_t>(name.number), i);
        sum += seen;
        if (seen != expected && !wrong) [[unlikely]] {
            wrong = true;  // one violation for a block of data
            findings.add({Fault::stale_data, ring, name.number, i, expected, seen});
        }
    }
    ++findings.checks;
    return sum;
}

// Either side's: takes names, checks every word that they name, sends receipts.
template <class Near, class Far>
class DataReceiver {
   public:
    CARILLON_POLICY_CODE
    CARILLON_HD DataReceiver(detail::RingView const& names, detail::RingView const& receipts,
                             std::uint64_t const* data, std::uint32_t ring, Near near = Near(),
                             Far far = Far())
        : data_(data), ring_(ring), names_(names, near, far), receipts_(receipts, far, near) {}

    CARILLON_POLICY_CODE
    CARILLON_HD bool try_receive(Findings& findings) {
        DataName name;
        if (!names_.try_pop(name)) return false;
        std::uint64_t const sum = check_data(data_, ring_, name, findings);
        if (!receipts_.try_push({name.number, sum})) {
            findings.add({Fault::missing, ring_, name.number, 0, 1, 0});
        }
        return true;
    }

    [[nodiscard]] CARILLON_HD detail::Sequence next() const { return names_.next(); }

   private:
    std::uint64_t const* data_;
    std::uint32_t ring_;
    detail::Consumer<DataName, Near, Far> names_;
    detail::Producer<DataReceipt, Far, Near> receipts_;
};

// The control: DeviceNear with its acquire taken away.
struct RelaxedNear {
    [[nodiscard]] CARILLON_HD detail::Line load_line(
        detail::Line const* from, std::size_t quads = detail::quads_per_line) const {
        detail::Line line{};
        for (std::size_t i = 0; i < quads; ++i) {
            line.quads[i] = detail::DeviceInstructions::load_relaxed(&from->quads[i]);
        }
        return line;
    }
    [[nodiscard]] CARILLON_HD detail::Line load_line_ahead(
        detail::Line const* from, std::size_t quads = detail::quads_per_line) const {
        return load_line(from, quads);
    }
    [[nodiscard]] CARILLON_HD std::uint64_t load_word(std::uint64_t const* from) const {
        return detail::DeviceNear().load_word(from);
    }
};

// Words of the data memory per ring: a block for each slot, and four that stay empty, for the words
// of a ring that consumers share (rows.hpp).
[[nodiscard]] CARILLON_HD constexpr std::size_t data_words_of_ring(std::uint32_t capacity) {
    return (std::size_t{capacity} + 4) * data_words;
}
// The address where the data of ring `ring` begin.
[[nodiscard]] CARILLON_HD inline std::uint64_t* data_of(void* memory, unsigned ring,
                                                        std::uint32_t capacity) {
    return static_cast<std::uint64_t*>(memory) + ring * data_words_of_ring(capacity);
}

// Receiver: DataReceiver, or one of rows.hpp.
template <class Receiver>
struct ReceiveData {
    detail::ChannelTable channels;
    void* data;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        Receiver receiver(view.requests, view.replies,
                          data_of(data, block, channels.shape.capacity), block);
        Findings findings;
        station.start(block);
        BoundedPolls polls(station.bound);
        for (;;) {
            if (receiver.try_receive(findings)) {
                polls.found();
            } else if (station.stopped() || !polls.again()) {
                break;
            }
        }
        station.report(block, findings);
    }
};

// Sends until it is stopped, and announces the end in the status line. `Far` is DeviceFar or
// DeviceBulkFar; the library sends nothing that names data by the latter.
template <class Far>
struct SendData {
    detail::ChannelTable channels;
    void* data;
    OutOfLine order;
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        detail::ChannelView const view = channels.channel(block);
        DataSender<Far, detail::DeviceNear> sender(
            view.replies, view.requests, data_of(data, block, channels.shape.capacity), order);
        station.start(block);
        BoundedPolls polls(station.bound);
        do {
            bool const sent = sender.try_send([](void const*, std::size_t) {});
            if (sender.try_receipt() || sent) {
                polls.found();
            } else if (!polls.again()) {
                break;
            }
        } while (!station.stopped());
        Far().settle();
        detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&view.status->ended)
            .set(sender.next());
    }
};

}  // namespace carillon::tool
