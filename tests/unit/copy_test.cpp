// SPDX-License-Identifier: Apache-2.0
// Copies by the CPU between its own memory and device memory.
#include "carillon/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "support/expect_error.hpp"
#include "support/noise.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
namespace {

constexpr std::size_t lines_of_alignments = 71;  // over a line
constexpr std::size_t longest_of_all = 300;
constexpr std::byte untouched{0xa5};

// Device memory that must not change outside the range that a test writes.
class Target {
   public:
    explicit Target(std::size_t size)
        : memory_(Device::open("emulated").allocate(size)), bytes_(size) {
        reset();
    }

    [[nodiscard]] Memory const& memory() const { return memory_; }
    void reset() { std::memset(memory_.host_ptr(), static_cast<int>(untouched), bytes_); }
    // The wrong byte after `from` was copied to `offset`; -1 for none.
    [[nodiscard]] long wrong(std::size_t offset, std::span<std::byte const> from) const {
        auto const* const now = static_cast<std::byte const*>(memory_.device_ptr());
        if (!from.empty() && std::memcmp(now + offset, from.data(), from.size()) == 0 &&
            std::all_of(now, now + offset, is_untouched) &&
            std::all_of(now + offset + from.size(), now + bytes_, is_untouched)) {
            return -1;
        }
        for (std::size_t i = 0; i < bytes_; ++i) {
            bool const inside = i >= offset && i - offset < from.size();
            if (now[i] != (inside ? from[i - offset] : untouched)) return static_cast<long>(i);
        }
        return -1;
    }

   private:
    static bool is_untouched(std::byte each) { return each == untouched; }

    Memory memory_;
    std::size_t bytes_;
};

class CopyTest : public testing::TestWithParam<StoreKind> {
   protected:
    void SetUp() override {
        if (!supported(GetParam())) {
            GTEST_SKIP() << "this CPU lacks " << to_string(GetParam()) << " stores";
        }
    }
};
INSTANTIATE_TEST_SUITE_P(By, CopyTest, testing::ValuesIn(all_store_kinds()),
                         [](auto const& each) { return std::string(to_string(each.param)); });

// Catches a head, a tail or a line that is left out, comes twice or spills over.
TEST_P(CopyTest, everyAlignmentAndLengthIsCopiedExactly) {
    Target target(512);
    std::vector<std::byte> const source = noise(512, 1);
    for (std::size_t offset = 0; offset < lines_of_alignments; ++offset) {
        for (std::size_t size = 0; size <= longest_of_all; ++size) {
            // The source's alignment goes its own way.
            std::span const from(source.data() + (offset * 7 + size) % 67, size);
            copy_to_device(target.memory(), offset, from, GetParam());
            ASSERT_EQ(target.wrong(offset, from), -1) << offset << " " << size;
            std::memset(static_cast<std::byte*>(target.memory().host_ptr()) + offset,
                        static_cast<int>(untouched), size);
        }
    }
}

TEST_P(CopyTest, everySourceAlignmentIsCopiedExactly) {
    Target target(512);
    std::vector<std::byte> const source = noise(512, 2);
    for (std::size_t start = 0; start < lines_of_alignments; ++start) {
        std::span const from(source.data() + start, 256);
        target.reset();
        copy_to_device(target.memory(), 64, from, GetParam());
        ASSERT_EQ(target.wrong(64, from), -1) << start;
    }
}

TEST_P(CopyTest, manyLinesAreCopiedExactly) {
    constexpr std::size_t most = 300'000;
    Target target(most + 200);
    std::vector<std::byte> const source = noise(most + 3, 3);
    for (std::size_t size : {4096U, 65'536U + 1, 299'999U}) {
        for (std::size_t offset : {0U, 1U, 64U, 127U}) {
            std::span const from(source.data() + 3, size);
            target.reset();
            copy_to_device(target.memory(), offset, from, GetParam());
            ASSERT_EQ(target.wrong(offset, from), -1) << offset << " " << size;
        }
    }
}

TEST(CopyFromDevice, everyAlignmentAndLengthIsCopiedExactly) {
    Memory const memory = Device::open("emulated").allocate(1000);
    std::vector<std::byte> const source = noise(1000, 4);
    std::memcpy(memory.device_ptr(), source.data(), source.size());
    std::vector<std::byte> expected(512, untouched);
    std::vector<std::byte> to(512, untouched);
    for (std::size_t offset = 0; offset < lines_of_alignments; ++offset) {
        for (std::size_t size = 0; size <= longest_of_all; ++size) {
            std::size_t const at = (offset * 5 + size) % 67;
            copy_from_device(std::span(to).subspan(at, size), memory, offset);
            std::copy_n(source.begin() + static_cast<long>(offset), size,
                        expected.begin() + static_cast<long>(at));
            ASSERT_EQ(to, expected) << offset << " " << size;
            std::fill_n(expected.begin() + static_cast<long>(at), size, untouched);
            std::fill_n(to.begin() + static_cast<long>(at), size, untouched);
        }
    }
}

// Catches a load past the end of the memory's last page.
TEST(CopyFromDevice, lastByteIsCopied) {
    Memory const memory = Device::open("emulated").allocate(8191);
    std::vector<std::byte> const source = noise(8191, 5);
    copy_to_device(memory, 0, source);
    std::vector<std::byte> to(8191);
    copy_from_device(to, memory, 0);
    EXPECT_EQ(to, source);
    copy_from_device(std::span(to).first(1), memory, 8190);
    EXPECT_EQ(to.front(), source.back());
}

TEST(Copy, whatWasCopiedThereIsReadBack) {
    Memory const memory = Device::open("emulated").allocate(4096);
    for (unsigned round = 0; round < 20; ++round) {
        std::vector<std::byte> const source = noise(1000, round);
        copy_to_device(memory, round, source);
        std::vector<std::byte> back(1000);
        copy_from_device(back, memory, round);
        ASSERT_EQ(back, source);
    }
}

TEST(Copy, defaultKindIsOneThatThisCpuHas) { EXPECT_TRUE(supported(best_copy_stores())); }

TEST(Copy, rangeOutsideTheMemoryIsAUsageError) {
    Memory const memory = Device::open("emulated").allocate(100);
    std::vector<std::byte> bytes(101);
    std::span const all(bytes);
    char const* const range = "1 bytes from byte 100 on exceed the memory of 100 bytes";
    CARILLON_EXPECT_ERROR(copy_to_device(memory, 100, all.first(1)), UsageError, range);
    CARILLON_EXPECT_ERROR(copy_to_device(memory, 0, all), UsageError, "copy_to_device: 101 bytes");
    CARILLON_EXPECT_ERROR(copy_to_device(memory, 101, all.first(0)), UsageError, "from byte 101");
    CARILLON_EXPECT_ERROR(copy_to_device(memory, ~std::size_t{0}, all.first(2), StoreKind::sse2),
                          UsageError, "copy_to_device: 2 bytes");
    CARILLON_EXPECT_ERROR(copy_from_device(all.first(1), memory, 100), UsageError, range);
    CARILLON_EXPECT_ERROR(copy_from_device(all, memory, 0), UsageError,
                          "copy_from_device: 101 bytes");
    CARILLON_EXPECT_ERROR(copy_to_device(Memory(), 0, all.first(1)), UsageError, "of 0 bytes");
}

TEST(Copy, nothingIsCopiedWithoutAnError) {
    Memory const memory = Device::open("emulated").allocate(100);
    EXPECT_NO_THROW(copy_to_device(memory, 100, {}));
    EXPECT_NO_THROW(copy_from_device({}, memory, 100));
    EXPECT_NO_THROW(copy_to_device(Memory(), 0, {}));
}

TEST(Copy, kindThatTheCpuLacksIsUnsupported) {
    if (supported(StoreKind::movdir64b)) GTEST_SKIP() << "this CPU has every kind";
    Memory const memory = Device::open("emulated").allocate(100);
    std::vector<std::byte> const bytes(64);
    CARILLON_EXPECT_ERROR(copy_to_device(memory, 0, bytes, StoreKind::movdir64b), UnsupportedError,
                          "copy_to_device: this CPU lacks movdir64b stores");
}

}  // namespace
}  // namespace carillon::test
