// SPDX-License-Identifier: Apache-2.0
// The parts of a fuzz target. A target eats bytes, from libFuzzer (`scripts/fuzz`) or from a file
// that was kept, and must return for any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/machine/cpu_atomics.hpp"

namespace carillon::fuzz {
using namespace detail;

// The input's bytes, taken from the front. Bytes beyond the end are zero.
class Input {
   public:
    explicit Input(std::span<unsigned char const> bytes) : bytes_(bytes) {}

    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    [[nodiscard]] std::span<unsigned char const> rest() const { return bytes_; }

    template <class T>
    [[nodiscard]] T take() {
        T value{};
        std::size_t const size = bytes_.size() < sizeof(T) ? bytes_.size() : sizeof(T);
        if (size != 0) std::memcpy(&value, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
        return value;
    }
    // A number below `end`.
    [[nodiscard]] std::size_t below(std::size_t end) { return take<std::uint8_t>() % end; }

   private:
    std::span<unsigned char const> bytes_;
};

// Requires a property that holds for any input.
inline void require(bool holds, char const* what) {
    if (holds) return;
    std::fprintf(stderr, "carillon: a fuzz target found that this does not hold: %s\n", what);
    std::abort();
}

struct Target {
    char const* name;
    void (*run)(Input& input);
};

// The targets of this program.
[[nodiscard]] inline std::vector<Target>& targets() {
    static std::vector<Target> all;
    return all;
}

// Loads in a way that the address sanitizer sees: X86 has them in assembly.
struct SeenCpu : X86 {
    [[nodiscard]] static Quad load_quad(Quad const* from) { return detail::cpu::load_quad(from); }
};
using SeenNear = BasicHostCached<SeenCpu>;
inline HostMapped const seen_far({StoreKind::cached, PublishMode::one_step});

}  // namespace carillon::fuzz

#if CARILLON_FUZZING
#define CARILLON_FUZZ_REGISTER(target)                                                    \
    extern "C" int LLVMFuzzerTestOneInput(unsigned char const* bytes, std::size_t size) { \
        ::carillon::fuzz::Input input(std::span<unsigned char const>(bytes, size));       \
        ::carillon::fuzz::target##_target(input);                                         \
        return 0;                                                                         \
    }
#else
#define CARILLON_FUZZ_REGISTER(target)                            \
    namespace carillon::fuzz {                                    \
    [[maybe_unused]] bool const target##_is_there =               \
        (targets().push_back({#target, &target##_target}), true); \
    }
#endif

// CARILLON_FUZZ_TARGET(name, input) { ... }
#define CARILLON_FUZZ_TARGET(target, input) \
    namespace carillon::fuzz {              \
    void target##_target(Input& input);     \
    }                                       \
    CARILLON_FUZZ_REGISTER(target)          \
    void carillon::fuzz::target##_target(Input& input)
