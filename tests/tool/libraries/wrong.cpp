// SPDX-License-Identifier: Apache-2.0
// Libraries that `carillon serve` must not start: WRONG says what is wrong. A function that it runs
// ends the program. From 6 on the fault is in what it runs: a drain that has no end, a static
// object that is made for ever, and names that are resolved for ever.
#include <unistd.h>

#include <cstdlib>

#include "carillon/served_library.hpp"

namespace {

[[noreturn]] void* never(carillon::ServedKernelOptions const* /*options*/,
                         carillon::ServedKernelFacts* /*facts*/,
                         carillon::ServedKernelError* /*error*/) {
    std::abort();
}

constexpr carillon::ServedKernelLibrary good{carillon::served_kernel_magic,
                                             carillon::served_kernel_version,
                                             sizeof(carillon::ServedKernelLibrary),
                                             "wrong",
                                             never,
                                             nullptr,
                                             nullptr,
                                             nullptr};
constexpr carillon::ServedKernelLibrary changed(std::uint64_t magic, std::uint32_t version,
                                                std::uint32_t bytes) {
    carillon::ServedKernelLibrary library = good;
    library.magic = magic;
    library.version = version;
    library.bytes = bytes;
    return library;
}

}  // namespace

extern "C" {
#if WRONG == 0  // a function
void carillon_served_kernel() { std::abort(); }
#elif WRONG == 1  // too few bytes to have a version
extern char const carillon_served_kernel[4];
char const carillon_served_kernel[4] = {};
#elif WRONG == 2  // something else
extern carillon::ServedKernelLibrary const carillon_served_kernel;
carillon::ServedKernelLibrary const carillon_served_kernel = changed(1, 1, good.bytes);
#elif WRONG == 3  // of tomorrow
extern carillon::ServedKernelLibrary const carillon_served_kernel;
carillon::ServedKernelLibrary const carillon_served_kernel =
    changed(good.magic, good.version + 1, good.bytes);
#elif WRONG == 4  // of another size
extern carillon::ServedKernelLibrary const carillon_served_kernel;
carillon::ServedKernelLibrary const carillon_served_kernel =
    changed(good.magic, good.version, good.bytes - 8);
#elif WRONG == 6  // which says on its standard output that it drains
extern carillon::ServedKernelLibrary const carillon_served_kernel;
carillon::ServedKernelLibrary const carillon_served_kernel{
    carillon::served_kernel_magic,
    carillon::served_kernel_version,
    sizeof(carillon::ServedKernelLibrary),
    "endless",
    [](auto const*, auto* facts, auto*) -> void* { return facts; },
    [](void*, auto*) { return 1; },
    [](void*, std::uint64_t, auto*) -> std::int32_t {
        (void)!::write(STDOUT_FILENO, "drains\n", 7);
        for (;;) ::pause();
    },
    [](void*) {}};
#elif WRONG == 7  // which says on its standard output that it is being loaded
[[gnu::constructor]] void never_loaded() {
    (void)!::write(STDOUT_FILENO, "loads\n", 6);
    for (;;) ::pause();
}
#elif WRONG == 8  // in place of the system's, which says on its standard output that it is called
int getaddrinfo() {
    (void)!::write(STDOUT_FILENO, "resolves\n", 9);
    for (;;) ::pause();
}
#else             // without a kernel
extern carillon::ServedKernelLibrary const carillon_other_kernel;
carillon::ServedKernelLibrary const carillon_other_kernel =
    changed(good.magic, good.version, good.bytes);
#endif
}
