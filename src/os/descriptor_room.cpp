// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor_room.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <cerrno>
#include <vector>

#include "carillon/file_descriptor.hpp"
#include "os/own_user.hpp"

namespace carillon::detail {

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
        "this process has {} or more descriptors open and may have {} "
        "(RLIMIT_NOFILE): the others are kept for {}",
        descriptors_for(user), limit_of_descriptors(), whose);
}

bool none_left(int error) noexcept { return error == EMFILE || error == ENFILE || error == ENOMEM; }

}  // namespace carillon::detail
