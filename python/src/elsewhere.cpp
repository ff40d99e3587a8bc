// SPDX-License-Identifier: Apache-2.0
#include "elsewhere.hpp"

#include <unistd.h>

#include <carillon/detail/host/thread.hpp>
#include <vector>

namespace carillon::python {

// The helper and its thread share this.
struct Helper::Work {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool ends = false;

    static void run(std::shared_ptr<Work> const& work) {
        std::unique_lock lock(work->mutex);
        for (;;) {
            work->changed.wait(lock, [&] { return work->job != nullptr || work->ends; });
            if (work->job == nullptr) return;
            auto const job = std::exchange(work->job, nullptr);
            lock.unlock();
            job();
            lock.lock();
        }
    }
};

namespace {

// The helpers that have nothing to do. They are never deleted: their threads are there until the
// process ends. A forked child has none of them.
template <class Work>
struct Idle {
    std::vector<std::shared_ptr<Work>> all;
    pid_t process = ::getpid();

    static Idle& get() {
        static auto* idle = new Idle;
        if (idle->process != ::getpid()) idle = new Idle;
        return *idle;
    }
};

}  // namespace

bool signals_come_here() { return ::gettid() == ::getpid(); }

Helper::Helper() {
    auto& idle = Idle<Work>::get().all;
    if (!idle.empty()) {
        work_ = std::move(idle.back());
        idle.pop_back();
        return;
    }
    work_ = std::make_shared<Work>();
    detail::start_thread("carillon-python", [work = work_] { Work::run(work); }).detach();
}

Helper::~Helper() {
    if (!busy_) {
        Idle<Work>::get().all.push_back(std::move(work_));
        return;
    }
    std::lock_guard const lock(work_->mutex);
    work_->ends = true;
    work_->changed.notify_all();
}

void Helper::start(std::function<void()> job) {
    busy_ = true;
    std::lock_guard const lock(work_->mutex);
    work_->job = std::move(job);
    work_->changed.notify_all();
}

}  // namespace carillon::python
