// SPDX-License-Identifier: Apache-2.0
#include "os/own_user.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <vector>

#include "carillon/error.hpp"
#include "carillon/file_descriptor.hpp"

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
    throw UsageError(fmt::format("{} is {}, which names no user or group", field, number));
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

std::size_t limit_of_descriptors() noexcept {
    ::rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

std::size_t descriptors_for(uid_t user) noexcept {
    return limit_of_descriptors() / 8 * (is_kept_for(user) ? 7 : 6);
}

std::size_t descriptors_for_gone() noexcept { return limit_of_descriptors() / 4; }

bool can_open(unsigned count, std::size_t end) {
    std::vector<FileDescriptor> opened;
    opened.reserve(count);  // nothing throws between a descriptor and its place
    for (unsigned i = 0; i < count; ++i) {
        opened.emplace_back(::eventfd(0, EFD_CLOEXEC));
        int const number = opened.back().get();
        if (number < 0 || static_cast<std::size_t>(number) >= end) return false;
    }
    return true;
}

std::string why_no_descriptor(uid_t user, std::string_view whose) {
    return fmt::format(
        "this process has at least {} of {} descriptors open (RLIMIT_NOFILE), and the rest is "
        "reserved for {}",
        descriptors_for(user), limit_of_descriptors(), whose);
}

bool none_left(int error) noexcept { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace carillon::detail
