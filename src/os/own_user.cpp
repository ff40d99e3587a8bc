// SPDX-License-Identifier: Apache-2.0
#include "os/own_user.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// The system's default number.
constexpr std::uint32_t usual_overflow = 65534;

std::uint32_t read_overflow(char const* file) {
    std::uint32_t number = usual_overflow;
    return std::ifstream(file) >> number ? number : usual_overflow;
}

// Whether a map in /proc has all numbers but the last, which stands for none. It gives the first
// number here, the one outside, and how many.
bool maps_all(char const* file) {
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    std::uint64_t count = 0;
    return std::ifstream(file) >> inside >> outside >> count && inside == 0 && count == UINT32_MAX;
}

}  // namespace

void require_possible_number(std::string_view field, uid_t number) {
    if (number != UINT32_MAX) return;
    throw UsageError(fmt::format("{} is {}, which is nobody's number", field, number));
}

bool is_nameless_user(uid_t user) {
    static std::uint32_t const overflow = read_overflow("/proc/sys/kernel/overflowuid");
    return user == overflow && !maps_all("/proc/self/uid_map");
}

bool is_nameless_group(gid_t group) {
    static std::uint32_t const overflow = read_overflow("/proc/sys/kernel/overflowgid");
    return group == overflow && !maps_all("/proc/self/gid_map");
}

bool is_own_user(uid_t user) { return user == ::geteuid() && !is_nameless_user(user); }

}  // namespace carillon::detail
