// SPDX-License-Identifier: Apache-2.0
#include "edges/failures/fault_points.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace carillon::test {
namespace {

std::atomic<bool> armed{false};
std::atomic<unsigned> left{0};
std::atomic<char const*> failed{nullptr};
Fault fault{};
std::atomic<long> allocations{0};
HeldElsewhere held_elsewhere = nullptr;
thread_local unsigned in_stand_in = 0;

struct StandIn {
    char const* library;
    FindSymbol find;
};
std::array<StandIn, 3> stand_ins{};

StandIn* stand_in_named(char const* library) {
    for (StandIn& each : stand_ins) {
        if (each.library != nullptr && std::strcmp(each.library, library) == 0) return &each;
    }
    return nullptr;
}

bool is_stand_in(void const* handle) {
    return handle >= stand_ins.data() && handle < stand_ins.data() + stand_ins.size();
}

}  // namespace

void arm(Fault const& of) noexcept {
    fault = of;
    failed = nullptr;
    left = of.nth;
    armed = true;
}

char const* disarm() noexcept {
    armed = false;
    return failed;
}

bool is_due(FaultKind kind, char const* call) noexcept {
    if (!armed || fault.kind != kind || in_stand_in != 0) return false;
    if (left.fetch_sub(1) != 1) return false;
    armed = false;  // and no other
    failed = call;
    return true;
}

bool fails_for_want_of_memory() noexcept { return fault.for_want_of_memory; }

InStandIn::InStandIn() noexcept { ++in_stand_in; }
InStandIn::~InStandIn() { --in_stand_in; }

long live_allocations() noexcept { return allocations; }

void also_held(HeldElsewhere held) noexcept { held_elsewhere = held; }
long held_by_stand_ins() noexcept { return held_elsewhere == nullptr ? 0 : held_elsewhere(); }

void stand_in_for(char const* library, FindSymbol find) noexcept {
    if (stand_in_named(library) != nullptr) return;
    for (StandIn& each : stand_ins) {
        if (each.library == nullptr) {
            each = {library, find};
            return;
        }
    }
}

namespace {

// Returns `failure` and sets its errno if the call is due, and else makes the system's call.
template <class Result, class Call>
Result or_fail(char const* name, Result failure, int error, Call&& call) {
    if (!is_due(FaultKind::system, name)) return call();
    errno = error;
    return failure;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (is_due(FaultKind::allocation, "operator new")) return nullptr;
    void* const piece =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(size)
            : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (piece != nullptr) allocations.fetch_add(1);
    return piece;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
    void* const piece = allocate(size == 0 ? 1 : size, alignment);
    if (piece == nullptr) throw std::bad_alloc();
    return piece;
}

void give_back(void* piece) noexcept {
    if (piece == nullptr) return;
    allocations.fetch_sub(1);
    std::free(piece);
}

constexpr std::size_t plain = alignof(std::max_align_t);

}  // namespace
}  // namespace carillon::test

using namespace carillon::test;

void* operator new(std::size_t size) { return allocate_or_throw(size, plain); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, plain); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
    return allocate(size, plain);
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
    return allocate(size, plain);
}
void operator delete(void* piece) noexcept { give_back(piece); }
void operator delete[](void* piece) noexcept { give_back(piece); }
void operator delete(void* piece, std::size_t) noexcept { give_back(piece); }
void operator delete[](void* piece, std::size_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::align_val_t) noexcept { give_back(piece); }
void operator delete[](void* piece, std::align_val_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::size_t, std::align_val_t) noexcept { give_back(piece); }
void operator delete[](void* piece, std::size_t, std::align_val_t) noexcept { give_back(piece); }
void operator delete(void* piece, std::nothrow_t const&) noexcept { give_back(piece); }
void operator delete[](void* piece, std::nothrow_t const&) noexcept { give_back(piece); }

extern "C" {

void* __real_dlsym(void* library, char const* name);

// The sanitizer's wrapper, if clang links a sanitizer's runtime into the program.
[[gnu::weak]] int __interceptor_pthread_create(pthread_t* thread, pthread_attr_t const* attributes,
                                               void* (*run)(void*), void* argument);

// The C++ library calls it for std::thread, and finds it here.
__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          pthread_attr_t const* attributes,
                                                          void* (*run)(void*), void* argument) {
    if (is_due(FaultKind::thread, "pthread_create")) return EAGAIN;
    static auto* const real = __interceptor_pthread_create != nullptr
                                  ? &__interceptor_pthread_create
                                  : reinterpret_cast<decltype(&pthread_create)>(
                                        __real_dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
}

int __real_memfd_create(char const* name, unsigned flags);
int __wrap_memfd_create(char const* name, unsigned flags) {
    return or_fail("memfd_create", -1, EMFILE, [&] { return __real_memfd_create(name, flags); });
}

int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size) {
    return or_fail("ftruncate", -1, ENOSPC, [&] { return __real_ftruncate(fd, size); });
}

void* __real_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset) {
    return or_fail("mmap", MAP_FAILED, ENOMEM,
                   [&] { return __real_mmap(where, size, protection, flags, fd, offset); });
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, long argument) {  // always called with one here
    return or_fail("fcntl", -1, EMFILE, [&] { return __real_fcntl(fd, command, argument); });
}

int __real_sched_getaffinity(pid_t thread, std::size_t size, cpu_set_t* set);
int __wrap_sched_getaffinity(pid_t thread, std::size_t size, cpu_set_t* set) {
    return or_fail("sched_getaffinity", -1, EPERM,
                   [&] { return __real_sched_getaffinity(thread, size, set); });
}

int __real_sched_setaffinity(pid_t thread, std::size_t size, cpu_set_t const* set);
int __wrap_sched_setaffinity(pid_t thread, std::size_t size, cpu_set_t const* set) {
    return or_fail("sched_setaffinity", -1, EPERM,
                   [&] { return __real_sched_setaffinity(thread, size, set); });
}

int __real_pthread_mutex_init(pthread_mutex_t* mutex, pthread_mutexattr_t const* attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t* mutex, pthread_mutexattr_t const* attributes) {
    if (is_due(FaultKind::system, "pthread_mutex_init")) return ENOMEM;
    return __real_pthread_mutex_init(mutex, attributes);
}

void* __real_dlopen(char const* name, int flags);
void* __wrap_dlopen(char const* name, int flags) {
    if (is_due(FaultKind::system, "dlopen")) return nullptr;
    StandIn* const stand_in = stand_in_named(name);
    return stand_in != nullptr ? stand_in : __real_dlopen(name, flags);
}

void* __wrap_dlsym(void* library, char const* name) {
    // vulkan.hpp calls functions without a check: a loader that lacks one counts as none.
    bool const of_vulkan = std::strncmp(name, "vk", 2) == 0;
    if (!of_vulkan && is_due(FaultKind::system, "dlsym")) return nullptr;
    return is_stand_in(library) ? static_cast<StandIn*>(library)->find(name)
                                : __real_dlsym(library, name);
}

int __real_dlclose(void* library);
int __wrap_dlclose(void* library) { return is_stand_in(library) ? 0 : __real_dlclose(library); }
}
