// SPDX-License-Identifier: Apache-2.0
// The CPU and the limits of the process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>

#include "doctor/checks.hpp"

namespace carillon::tool {
namespace {

constexpr Subject stores_subject{
    "cpu.stores", "A 64-byte line should leave the CPU as one write; 16-byte loads must not tear."};
constexpr Subject waits_subject{
    "cpu.waitpkg",
    "TPAUSE and UMWAIT let a waiting thread leave resources to its core's other thread."};
constexpr Subject governor_subject{
    "cpu.governor", "A core that lowers its clock between messages answers the next one late."};
constexpr Subject processors_subject{
    "cpu.processors",
    "Each polling thread, and each block of the emulated device, needs a processor."};
constexpr Subject pages_subject{"host.huge_pages",
                                "A thread may stall while Linux assembles huge pages."};
constexpr Subject locked_subject{
    "limit.memlock", "mlockall() of a program fails above this limit. Carillon locks no memory."};
constexpr Subject files_subject{
    "limit.nofile", "The drivers and each mapped memory that is passed on need descriptors."};
constexpr Subject file_size_subject{
    "limit.fsize",
    "Shared memory counts as a file: larger rings, channels and buffers "
    "fail, and so does longer output of a command."};
constexpr Subject address_subject{
    "limit.as", "CUDA reserves addresses for all memory of GPU and host at its start."};

}  // namespace

Finding check_stores(Facts const& facts) {
    CpuFacts const& cpu = facts.cpu;
    bool const gpu = facts.gpu() != nullptr;
    if (!cpu.avx) {
        return stores_subject.at(Severity::error, "this CPU, or its virtual machine, lacks AVX",
                                 "use a CPU with AVX; in a virtual machine, pass the host's CPU "
                                 "through (QEMU: -cpu host)");
    }
    std::string const found = fmt::format("{}; this CPU publishes a line {}",
                                          fmt::join(cpu.stores, ", "), cpu.publish_mode);
    if (!gpu || cpu.publish_mode != "two-step") return stores_subject.ok(found);
    return stores_subject.at(Severity::note, found,
                             "a CPU with MOVDIR64B publishes in one step; in a virtual machine, "
                             "pass the host's CPU through (QEMU: -cpu host)");
}

Finding check_waits(Facts const& facts) {
    CpuFacts const& cpu = facts.cpu;
    return waits_subject.ok(cpu.waitpkg ? "TPAUSE and UMWAIT are supported"
                                        : "unsupported: spin, pause and yield remain");
}

Finding check_governor(Facts const& facts) {
    CpuFacts const& cpu = facts.cpu;
    if (cpu.governors.empty()) return governor_subject.ok("not shown here");
    std::string const found = fmt::format("{}", fmt::join(cpu.governors, ", "));
    bool const all_fast =
        std::ranges::all_of(cpu.governors, [](auto const& each) { return each == "performance"; });
    if (all_fast) return governor_subject.ok(found);
    return governor_subject.at(Severity::warning, found,
                               "cpupower frequency-set -g performance (as root)");
}

Finding check_processors(Facts const& facts) {
    CpuFacts const& cpu = facts.cpu;
    if (cpu.allowed.size() > 1) {
        return processors_subject.ok(fmt::format("{} for this process", cpu.allowed.size()));
    }
    return processors_subject.at(Severity::warning,
                                 "one for this process: a polling thread stops all others",
                                 "allow more (taskset, cpusets, docker run --cpuset-cpus), or wait "
                                 "with WaitStyle::yield");
}

Finding check_huge_pages(Facts const& facts) {
    std::string const found = facts.host.line_of("/sys/kernel/mm/transparent_hugepage/enabled");
    if (found.empty()) return pages_subject.ok("not shown here");
    if (found.find("[always]") == std::string::npos) return pages_subject.ok(found);
    return pages_subject.at(Severity::note, found,
                            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)");
}

Finding check_locked_memory(Facts const& facts) {
    std::optional<std::uint64_t> const limit = facts.host.limit(RLIMIT_MEMLOCK);
    constexpr std::uint64_t little = 8U << 20U;
    if (!limit) return locked_subject.ok("unlimited");
    std::string const found = fmt::format("{} KiB", *limit >> 10U);
    if (*limit >= little) return locked_subject.ok(found);
    return locked_subject.at(Severity::note, found,
                             "if your program calls mlockall: ulimit -l unlimited (docker run "
                             "--ulimit memlock=-1)");
}

Finding check_open_files(Facts const& facts) {
    std::optional<std::uint64_t> const limit = facts.host.limit(RLIMIT_NOFILE);
    constexpr std::uint64_t little = 256;
    if (!limit) return files_subject.ok("unlimited");
    std::string const found = fmt::format("{}", *limit);
    if (*limit >= little) return files_subject.ok(found);
    return files_subject.at(Severity::warning, found, "ulimit -n 1024");
}

Finding check_file_size(Facts const& facts) {
    std::optional<std::uint64_t> const limit = facts.host.limit(RLIMIT_FSIZE);
    constexpr std::uint64_t little = std::uint64_t{1} << 30U;
    if (!limit) return file_size_subject.ok("unlimited");
    std::string const found = fmt::format("{} KiB", *limit >> 10U);
    if (*limit >= little) return file_size_subject.ok(found);
    return file_size_subject.at(Severity::warning, found, "ulimit -f unlimited");
}

Finding check_address_space(Facts const& facts) {
    std::optional<std::uint64_t> const limit = facts.host.limit(RLIMIT_AS);
    bool const gpu = facts.gpu() != nullptr;
    if (!limit) return address_subject.ok("unlimited");
    std::string const found = fmt::format("{} MiB", *limit >> 20U);
    if (!gpu) return address_subject.ok(found + ", and no GPU");
    return address_subject.at(Severity::warning, found, "ulimit -v unlimited");
}

}  // namespace carillon::tool
