// SPDX-License-Identifier: Apache-2.0
// The protocol of Flag and Doorbell: one word with one writer and one reader, in the memory of the
// reader's side. A flag holds the latest value; a doorbell counts its rings.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

template <class T>
CARILLON_HD constexpr void check_flag() {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t),
                  "carillon: a flag's value must be trivially copyable and at most 8 bytes: it is "
                  "one access");
}

// Zeroed memory is a flag that holds T's zero bytes.
template <class T, FarAccess Far>
class FlagWriter {
   public:
    CARILLON_HD explicit FlagWriter(std::uint64_t* word, Far far = Far()) : word_(word), far_(far) {
        detail::check_flag<T>();
    }

    // F1, pairs with F2: data that the value refers to are complete before it; otherwise a reader
    // could find them old. The word leaves now (H2), since nothing else follows it.
    CARILLON_HD void set(T const& value, OutOfLine data = OutOfLine::none) {
        std::uint64_t word = 0;
        std::memcpy(&word, __builtin_addressof(value), sizeof(T));
        if (data == OutOfLine::written) far_.release();
        far_.store_word(word_, word);
        far_.commit(word_, sizeof(word));
    }

   private:
    std::uint64_t* word_;
    Far far_;
};

template <class T, WordAccess Near>
class FlagReader {
   public:
    CARILLON_HD explicit FlagReader(std::uint64_t const* word, Near near = Near())
        : word_(word), near_(near) {
        detail::check_flag<T>();
    }

    // F2, pairs with F1: the load is an acquire; otherwise data that the value refers to could be
    // read ahead of it. A later call never returns an older value.
    [[nodiscard]] CARILLON_HD T get() const {
        std::uint64_t const word = near_.load_word(word_);
        if constexpr (std::is_same_v<T, bool>) {
            return word != 0;  // a bool with any other bits would be undefined
        } else {
            BytesOf<T> bytes;
            std::memcpy(&bytes, &word, sizeof(T));
            return __builtin_bit_cast(T, bytes);
        }
    }

   private:
    std::uint64_t const* word_;
    Near near_;
};

template <FarAccess Far>
class DoorbellRinger {
   public:
    CARILLON_HD explicit DoorbellRinger(std::uint64_t* word, Far far = Far()) : flag_(word, far) {}

    // Rings once more. With `data`, earlier writes are visible to the listener that hears it.
    CARILLON_HD void ring(OutOfLine data = OutOfLine::none) { flag_.set(++rung_, data); }

   private:
    FlagWriter<std::uint64_t, Far> flag_;
    std::uint64_t rung_ = 0;
};

template <WordAccess Near>
class DoorbellListener {
   public:
    CARILLON_HD explicit DoorbellListener(std::uint64_t const* word, Near near = Near())
        : flag_(word, near) {}

    // Returns how often the doorbell was rung since the last call; 0 at once if it was not. Rings
    // that come close together are heard together; none is lost.
    [[nodiscard]] CARILLON_HD std::uint64_t heard() {
        std::uint64_t const rung = flag_.get();
        std::uint64_t const news = rung - heard_;
        heard_ = rung;
        return news;
    }

   private:
    FlagReader<std::uint64_t, Near> flag_;
    std::uint64_t heard_ = 0;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
