// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/life_registry.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// A lock that the thread with a place holds as long as it lives.
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
    LifeLock& operator=(LifeLock&&) = delete;

    // Whether the caller holds it now: nobody did, or its holder has died.
    [[nodiscard]] bool attempt() {
        int const error = pthread_mutex_trylock(&mutex_);
        if (error == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
        bool const mine = error == 0 || error == EOWNERDEAD;
        if (mine) owner_ = this_thread();
        return mine;
    }
    // For the thread that took it.
    void release() {
        owner_ = 0;
        pthread_mutex_unlock(&mutex_);
    }

    // From any thread. False if another living thread holds it: then nothing changes.
    bool let_go() {
        bool const mine = owner_ == this_thread() || attempt();
        if (mine) release();
        return mine;
    }

   private:
    // Unlike a thread's id this number is never reused.
    static std::uint64_t this_thread() {
        static std::atomic<std::uint64_t> last{0};
        static thread_local std::uint64_t const own = ++last;
        return own;
    }

    pthread_mutex_t mutex_{};
    std::uint64_t owner_ = 0;  // under the registry's mutex, like the whole object
};

}  // namespace

struct LifeRegistry::Members {
    explicit Members(unsigned size) : in_use(size), holders(size) {
        lives.reserve(size);
        for (unsigned i = 0; i < size; ++i) {
            lives.push_back(std::make_unique<LifeLock>());
            numbers.push_back(i);
        }
    }

    // A living thread may still hold a lock whose end another thread has left: the thread's own
    // list of robust locks refers to the lock, so it stays for good.
    ~Members() {
        for (auto* const locks : {&lives, &left}) {
            for (std::unique_ptr<LifeLock>& life : *locks) {
                if (!life->let_go()) (void)life.release();
            }
        }
    }
    Members& operator=(Members&&) = delete;

    // Another thread than the living holder of the lock has left its end.
    void leave_life(unsigned i) noexcept {
        try {
            left.push_back(std::make_unique<LifeLock>());
            std::swap(left.back(), lives[i]);
        } catch (std::exception const&) {  // the place is free when that thread has ended
        }
    }

    std::mutex mutex;  // for the following members; never held while lines are written
    std::vector<std::unique_ptr<LifeLock>> lives;
    // Locks that living threads hold after other threads left their ends: only a thread itself can
    // release its lock, which it does when it enters again, or ends.
    std::vector<std::unique_ptr<LifeLock>> left;
    std::vector<bool> in_use;
    std::vector<std::atomic<unsigned>> holders;  // read without the mutex
    std::vector<unsigned> numbers;  // each place's last number: its index modulo their count
};

LifeRegistry::LifeRegistry(unsigned size)
    : size_(size), members_(std::make_unique<Members>(size)) {}

LifeRegistry::~LifeRegistry() = default;

std::optional<unsigned> LifeRegistry::try_enter() {
    std::lock_guard const lock(members_->mutex);
    std::erase_if(members_->left, [](auto const& life) { return life->let_go(); });
    for (unsigned i = 0; i < size_; ++i) {
        if (members_->in_use[i]) continue;
        if (!members_->lives[i]->attempt()) continue;
        members_->in_use[i] = true;
        unsigned& number = members_->numbers[i];
        bool const is_last = number > std::numeric_limits<unsigned>::max() - size_;
        number = is_last ? i + size_ : number + size_;
        members_->holders[i].store(number, std::memory_order_relaxed);
        return number;
    }
    return {};
}

void LifeRegistry::leave(unsigned number, std::function<bool(unsigned)> const& close) noexcept {
    std::lock_guard const lock(members_->mutex);
    unsigned const index = number % size_;
    // The place was recovered, and may be another's by now.
    if (!members_->in_use[index] || members_->numbers[index] != number) return;
    members_->in_use[index] = !close(index);
    if (!members_->lives[index]->let_go()) members_->leave_life(index);
}

unsigned LifeRegistry::recover(std::function<bool(std::vector<unsigned> const&)> const& reclaim) {
    std::lock_guard const lock(members_->mutex);
    std::vector<unsigned> dead;
    dead.reserve(size_);  // a dead thread's lock is held from then on
    for (unsigned i = 0; i < size_; ++i) {
        if (!members_->in_use[i]) continue;
        // A free lock is that of a thread that was found dead when `reclaim` failed.
        if (members_->lives[i]->attempt()) dead.push_back(i);
    }
    if (dead.empty()) return 0;
    for (unsigned i : dead) {
        members_->in_use[i] = false;
        members_->holders[i].store(0, std::memory_order_relaxed);
    }
    bool done = false;
    std::exception_ptr failure;  // with non-coherent memory: the next call tries again
    try {
        done = reclaim(dead);
    } catch (...) {
        failure = std::current_exception();
    }
    for (unsigned i : dead) {
        members_->lives[i]->release();
        members_->in_use[i] = !done;
    }
    if (failure) std::rethrow_exception(failure);
    return done ? static_cast<unsigned>(dead.size()) : 0;
}

std::atomic<unsigned> const& LifeRegistry::holder(unsigned number) const {
    return members_->holders[index(number)];
}

bool LifeRegistry::in_use(unsigned index) const { return members_->in_use[index]; }

ProducerRegistry::ProducerRegistry(ProducerRecord* records, unsigned size)
    : LifeRegistry(size), records_(records), held_(size) {}

void ProducerRegistry::leave(unsigned number,
                             std::function<void(unsigned)> const& reclaim) noexcept {
    LifeRegistry::leave(number, [&](unsigned index) {
        try {
            reclaim(index);
        } catch (std::exception const&) {  // non-coherent memory could not be read
        }
        // A thread that died during a claim may have left its end to another, which leaves here:
        // the claim must still be given up.
        return HostCached().load_word(&records_[index].begin) == ProducerRecord::none;
    });
}

void ProducerRegistry::give_up(unsigned number, MpmcRingView const& view,
                               HostMapped const& far) const noexcept {
    ProducerRecord* const own = record(number);
    if (own->begin == ProducerRecord::none || own->begin == ProducerRecord::claiming) return;
    try {
        give_up_claim(view, own->begin, own->end, far);
    } catch (std::exception const&) {  // the rest leaves with the next flush
    }
    ClaimRecord(own).done(HostCached());
}

unsigned ProducerRegistry::recover(MpmcRingView const& view, HostMapped const& far,
                                   HostCached const& near,
                                   std::function<void(unsigned)> const& reclaim) {
    auto const living = [&](std::size_t i) -> ProducerRecord const* {
        return in_use(static_cast<unsigned>(i)) ? records_ + i : nullptr;
    };
    return LifeRegistry::recover([&](std::vector<unsigned> const& dead) {
        for (unsigned i : dead) reclaim(i);
        // A claim takes a producer a few instructions, unless its thread does not run.
        constexpr int attempts = 10'000;
        bool done = false;
        for (int attempt = 0; !done && attempt < attempts; ++attempt) {
            done = give_up_claims(view, size(), living, far, near, held_.data());
            if (!done) std::this_thread::yield();
        }
        for (unsigned i : dead) {
            if (done) near.store_word(&records_[i].begin, ProducerRecord::none);
        }
        return done;
    });
}

}  // namespace carillon::detail
