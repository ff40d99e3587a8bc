// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "carillon/error.hpp"

namespace carillon::detail {

// A thread that runs `body`. Throws SystemError where the system gives none.
template <class Body>
[[nodiscard]] std::jthread start_thread(Body&& body) {
    try {
        return std::jthread(std::forward<Body>(body));
    } catch (std::system_error const& error) {
        throw SystemError("pthread_create", error.code().value(),
                          "a limit of threads, of this user, this container or the machine, or of "
                          "memory for their stacks");
    }
}

}  // namespace carillon::detail
