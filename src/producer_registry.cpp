// SPDX-License-Identifier: Apache-2.0
#include "carillon/producer_registry.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <array>
#include <cerrno>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// Held for life by the thread that produces.
class LifeLock {
   public:
    LifeLock() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        int const error = pthread_mutex_init(&mutex_, &attributes);
        pthread_mutexattr_destroy(&attributes);
        if (error != 0) throw SystemError("pthread_mutex_init", error);
    }
    ~LifeLock() { pthread_mutex_destroy(&mutex_); }
    LifeLock(LifeLock const&) = delete;
    LifeLock& operator=(LifeLock const&) = delete;

    enum class Tried { taken, alive, died };  // taken and died: the caller holds it now

    [[nodiscard]] Tried attempt() {
        int const error = pthread_mutex_trylock(&mutex_);
        if (error == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
        bool const mine = error == 0 || error == EOWNERDEAD;
        if (mine) owner_ = std::this_thread::get_id();
        if (error == EOWNERDEAD) return Tried::died;
        return mine ? Tried::taken : Tried::alive;
    }
    // By the thread that took it.
    void release() {
        owner_ = {};
        pthread_mutex_unlock(&mutex_);
    }

    // By whoever: one that another thread holds stays as it is, unless that thread has ended.
    void let_go() {
        if (owner_ == std::this_thread::get_id() || attempt() != Tried::alive) release();
    }

   private:
    pthread_mutex_t mutex_{};
    std::thread::id owner_;  // under the registry's mutex, as all of this
};

}  // namespace

struct ProducerRegistry::Members {
    explicit Members(unsigned size) : in_use(size), held(size) {
        lives.reserve(size);
        for (unsigned i = 0; i < size; ++i) {
            lives.push_back(std::make_unique<LifeLock>());
            numbers.push_back(i);
        }
    }

    std::mutex mutex;  // of what is below; never held while lines are written
    std::vector<std::unique_ptr<LifeLock>> lives;
    std::vector<bool> in_use;
    std::vector<unsigned> numbers;  // each record's last one: the record's index modulo their count
    std::vector<Claim> held;        // room for give_up_claims
};

ProducerRegistry::ProducerRegistry(ProducerRecord* records, unsigned size)
    : records_(records), size_(size), members_(std::make_unique<Members>(size)) {}

// A lock that a living thread still holds, because another thread let go of its end, is one that
// the thread's own list of robust locks leads to: it stays for good.
ProducerRegistry::~ProducerRegistry() {
    for (std::unique_ptr<LifeLock>& life : members_->lives) {
        if (life->attempt() == LifeLock::Tried::alive) {
            (void)life.release();
        } else {
            life->release();
        }
    }
}

unsigned ProducerRegistry::enter(std::string_view call) {
    std::lock_guard const lock(members_->mutex);
    for (unsigned i = 0; i < size_; ++i) {
        if (members_->in_use[i]) continue;
        if (members_->lives[i]->attempt() == LifeLock::Tried::alive) continue;
        members_->in_use[i] = true;
        unsigned& number = members_->numbers[i];
        bool const is_last = number > std::numeric_limits<unsigned>::max() - size_;
        return number = is_last ? i : number + size_;
    }
    throw UsageError(call, fmt::format("all {} producers of the ring are in use "
                                       "(SharedRingOptions::producers)",
                                       size_));
}

void ProducerRegistry::leave(unsigned number) noexcept {
    std::lock_guard const lock(members_->mutex);
    unsigned const index = number % size_;
    // The record was recovered, and may be another's by now.
    if (!members_->in_use[index] || members_->numbers[index] != number) return;
    // A thread that died at a claim may have left its end to another, who lets go of it here: the
    // claim is still to be given up.
    bool const at_claim = HostCached().load_word(&records_[index].begin) != ProducerRecord::none;
    members_->in_use[index] = at_claim;
    members_->lives[index]->let_go();
}

unsigned ProducerRegistry::recover(SharedRingView const& view, HostMapped const& far,
                                   HostCached const& near) {
    std::lock_guard const lock(members_->mutex);
    std::vector<unsigned> dead;
    for (unsigned i = 0; i < size_; ++i) {
        if (!members_->in_use[i]) continue;
        // One that is free was found dead before, and could not be dealt with then.
        if (members_->lives[i]->attempt() != LifeLock::Tried::alive) dead.push_back(i);
    }
    if (dead.empty()) return 0;
    for (unsigned i : dead) members_->in_use[i] = false;
    auto const living = [&](std::size_t i) -> ProducerRecord const* {
        return members_->in_use[i] ? records_ + i : nullptr;
    };
    // A producer is at a claim for a few instructions, unless its thread does not get to run.
    constexpr int attempts = 10'000;
    bool done = false;
    for (int attempt = 0; !done && attempt < attempts; ++attempt) {
        done = give_up_claims(view, size_, living, far, near, members_->held.data());
        if (!done) std::this_thread::yield();
    }
    for (unsigned i : dead) {
        if (done) near.store_word(&records_[i].begin, ProducerRecord::none);
        members_->lives[i]->release();
        members_->in_use[i] = !done;
    }
    return done ? static_cast<unsigned>(dead.size()) : 0;
}

}  // namespace carillon::detail
