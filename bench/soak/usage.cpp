// SPDX-License-Identifier: Apache-2.0
// The system's figures about this process.
#include <unistd.h>

#include <carillon/error.hpp>
#include <carillon/wait.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 20U;

std::uint64_t count_entries(char const* folder) {
    std::error_code error;
    std::filesystem::directory_iterator const first(folder, error);
    if (error) throw SystemError(std::string("read ") + folder, error.value());
    return static_cast<std::uint64_t>(std::distance(first, std::filesystem::directory_iterator()));
}

}  // namespace

SoakUsage read_soak_usage(std::uint64_t threads) {
    SoakUsage usage;
    auto const few = [&] {
        usage.threads = count_entries("/proc/self/task");
        return usage.threads <= threads;
    };
    (void)HostWait(HostWait::Style::yield).until(few, std::chrono::seconds(1));
    std::ifstream file("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    if (!(file >> size >> resident)) throw SystemError("read /proc/self/statm", errno);
    file.close();
    usage.resident_bytes = resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    usage.descriptors = count_entries("/proc/self/fd") - 1;  // one is the folder's own
    return usage;
}

bool SoakMemory::flat() const {
    bool const both_read = warm.resident_bytes != 0 && end.resident_bytes != 0;
    return both_read && end.resident_bytes <= warm.resident_bytes + kept_bytes &&
           end.descriptors <= warm.descriptors && end.threads <= warm.threads;
}

}  // namespace carillon::tool
