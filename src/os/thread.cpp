// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/thread.hpp"

#include <algorithm>
#include <cstddef>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t least_stack = 1 << 20;  // ten times the need of opening a GPU

}  // namespace

pthread_t Thread::start(void* (*run)(void*), void* task) {
    ::pthread_attr_t attributes;
    int error = ::pthread_attr_init(&attributes);
    std::size_t size = 0;
    pthread_t handle{};
    if (error == 0) {
        (void)::pthread_attr_getstacksize(&attributes, &size);
        (void)::pthread_attr_setstacksize(&attributes, std::max(size, least_stack));
        error = ::pthread_create(&handle, &attributes, run, task);
        (void)::pthread_attr_destroy(&attributes);
    }
    if (error == 0) return handle;
    throw SystemError("pthread_create", error,
                      "the limit of threads (of the user, the container or the machine) or the "
                      "memory for their stacks is used up");
}

}  // namespace carillon::detail
