// SPDX-License-Identifier: Apache-2.0
#include "os/process.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// Relaxed: a child has one thread, which sees its own writes.
bool const forks_are_counted = ::pthread_atfork(nullptr, nullptr, [] {
                                   forks.count.fetch_add(1, std::memory_order_relaxed);
                               }) == 0;

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// The bytes of the whole pages from `where` on; 0 if no page begins there.
std::size_t whole_pages(void* where, std::size_t size) noexcept {
    std::size_t const page = page_size();
    return reinterpret_cast<std::uintptr_t>(where) % page == 0 ? size / page * page : 0;
}

}  // namespace

void throw_inherited() {
    (void)forks_are_counted;  // every caller that can throw this counts
    throw ForkError(
        "the parent process made this object, and fork() does not pass it on: open a device in the "
        "child, or fork before");
}

void keep_from_children(void* where, std::size_t size) noexcept {
    std::size_t const whole = whole_pages(where, size);
    // If it fails, the library's calls still check.
    if (whole != 0) (void)::madvise(where, whole, MADV_DONTFORK);
}

void protect_pages(void* where, std::size_t size, bool writable) noexcept {
    std::size_t const whole = whole_pages(where, size);
    if (whole != 0) (void)::mprotect(where, whole, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void keep_mapping_from_children(void* where, std::size_t size) noexcept {
    keep_from_children(where, size + page_size() - 1);
}

}  // namespace carillon::detail
