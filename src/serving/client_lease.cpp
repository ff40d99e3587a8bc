// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "carillon/error.hpp"
#include "serving/client_session.hpp"

namespace carillon::detail {

ClientLease::ClientLease(std::shared_ptr<ClientSession> session, std::string object,
                         Attached const& attached, MappedChannel mapped)
    : session_(std::move(session)),
      object_(std::move(object)),
      number_(attached.lease),
      mapped_(std::move(mapped)) {}

ClientLease::~ClientLease() { session_->detach(*this); }

void ClientLease::require_open(std::string_view call) const {
    if (state_word() == KernelState::running) return;
    require_lent(call);
    session_->require_open(call, object_);
    require_lent(call);  // the name may be another object's by now, which runs
}

void ClientLease::require_lent(std::string_view call) const {
    std::lock_guard const lock(mutex_);
    if (!ended_.empty()) throw StoppedError(call, ended_);
}

void ClientLease::require_alive(std::string_view call) {
    if (state_word() != KernelState::draining) require_open(call);
}

void ClientLease::ask(std::function<bool()> answered) {
    if (session_->inherited()) return;  // who held the lock may not be there
    std::lock_guard const lock(mutex_);
    answered_ = std::move(answered);
}

bool ClientLease::newly_drained() {
    std::lock_guard const lock(mutex_);
    if (told_ || (answered_ && !answered_())) return false;
    return told_ = true;
}

void ClientLease::end(std::string why) {
    std::lock_guard const lock(mutex_);
    ended_ = std::move(why);
    set(KernelState::failed);
}

void ClientLease::tell_again() {
    std::lock_guard const lock(mutex_);
    told_ = false;
}

}  // namespace carillon::detail
