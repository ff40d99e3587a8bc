// SPDX-License-Identifier: Apache-2.0
// The parts that the litmus tests of `carillon verify` share: a kernel's reports, and versioned
// data.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>

#include "kernels/bounded_polls.hpp"
#include "kernels/verify/findings.hpp"

namespace carillon::tool {

// The parameters of every litmus kernel.
struct Station {
    Findings* findings;         // in host memory, one for each reporter: a block or a thread
    std::uint64_t const* stop;  // in device memory
    Bound bound;

    CARILLON_HD void start(unsigned reporter) const {
        detail::FlagWriter<std::uint64_t, detail::DeviceFar>(&findings[reporter].started).set(1);
    }
    [[nodiscard]] CARILLON_HD bool stopped() const {
        return detail::DeviceNear().load_word(stop) != 0;
    }
    // The CPU reads it once the kernel has ended.
    CARILLON_HD void report(unsigned reporter, Findings const& found) const {
        findings[reporter] = found;
        findings[reporter].started = 1;
    }
};

[[nodiscard]] CARILLON_HD constexpr std::uint32_t scramble(std::uint32_t number,
                                                           std::uint32_t index) {
    std::uint32_t const mixed = (number + index * 0x85eb'ca77U) * 0x9e37'79b1U;
    return mixed ^ (mixed >> 15U);
}

// A word that shows its version, and whether it is whole.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t versioned_word(std::uint32_t version,
                                                                 std::uint32_t index) {
    return version | (std::uint64_t{scramble(version, index)} << 32U);
}

// Whether `version` is `other` or came after it.
[[nodiscard]] CARILLON_HD constexpr bool not_before(std::uint32_t version, std::uint32_t other) {
    return static_cast<std::int32_t>(version - other) >= 0;
}

// Delays a consumer at random.
class Delayer {
   public:
    CARILLON_HD explicit Delayer(std::uint32_t seed = 1) : random_(seed) {}

    // Looks at near memory up to `most` times, one less than a power of two.
    CARILLON_POLICY_CODE
    template <class Near>
    CARILLON_HD void delay(Near const& near, std::uint64_t const* word, std::uint32_t most) {
        random_ = random_ * 1'664'525U + 1'013'904'223U;
        for (std::uint32_t i = (random_ >> 16U) & most; i != 0; --i) (void)near.load_word(word);
    }

   private:
    std::uint32_t random_;
};

// Accesses to data beside a line, as in a user's kernel: ordinary ones on a GPU, where an ordinary
// load may hit a stale cache. On a CPU they are atomic, as the controls race on purpose.
[[nodiscard]] CARILLON_HD inline std::uint64_t load_data(std::uint64_t const* from) {
#if defined(__CUDA_ARCH__)
    return *from;
#else
    return detail::cpu::StdWords::load(from, std::memory_order_relaxed);
#endif
}
CARILLON_HD inline void store_data(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    *to = value;
#else
    detail::cpu::StdWords::store(to, value, std::memory_order_relaxed);
#endif
}

}  // namespace carillon::tool
