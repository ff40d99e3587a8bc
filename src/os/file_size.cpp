// SPDX-License-Identifier: Apache-2.0
#include "os/file_size.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

#include "carillon/error.hpp"

namespace carillon::detail {

std::optional<std::size_t> limit_of_file_size() noexcept {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    return limit.rlim_cur;
}

void require_file_size(std::string_view call, std::size_t size) {
    auto const limit = limit_of_file_size();
    if (!limit || size <= *limit) return;
    throw SystemError(call, EFBIG,
                      fmt::format("{} bytes are asked for, and files of this process may have {} "
                                  "(RLIMIT_FSIZE, ulimit -f), shared memory too",
                                  size, *limit));
}

}  // namespace carillon::detail
