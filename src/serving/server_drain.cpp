// SPDX-License-Identifier: Apache-2.0
// Clients of a kernel that drains which do not answer.
#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <string>

#include "serving/server_thread.hpp"

namespace carillon::detail {
namespace {

// A client that runs has heard by then that the kernel drains, and sends no more.
constexpr std::chrono::seconds longest_hearing{1};

// By a signal, or a debugger: it sends nothing then. False where that is not known.
bool is_stopped(pid_t process) {
    if (process <= 0) return false;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string const line{std::istreambuf_iterator<char>(file), {}};
    std::size_t const name_end = line.rfind(") ");
    if (name_end == std::string::npos) return false;
    char const state = line[name_end + 2];
    return state == 'T' || state == 't';
}

}  // namespace

void ServerThread::count_as_drained() const {
    for (auto const& session : sessions_) {
        for (auto const& [lease, held] : session->leases) {
            ServedItem& object = *held.object;
            if (object.told() != KernelState::draining || object.outstanding(held.place)) continue;
            bool const heard = Clock::now() - object.told_at() > longest_hearing;
            if (heard || is_stopped(session->peer.pid)) object.drained(held.place);
        }
    }
}

}  // namespace carillon::detail
