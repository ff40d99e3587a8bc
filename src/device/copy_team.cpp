// SPDX-License-Identifier: Apache-2.0
#include "device/copy_team.hpp"

#include <algorithm>

#include "carillon/copy.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "cpu/cpu.hpp"

namespace carillon::detail {
namespace {

using TeamClock = std::chrono::steady_clock;
constexpr unsigned processors_for_each = 4;
constexpr unsigned looks_between_clocks = 64;

void store_piece(std::byte* to, std::byte const* from, std::size_t size) {
    stream_copy(best_copy_stores(), to, from, size);
}

void load_piece(std::byte* to, std::byte const* from, std::size_t size) {
    stream_load(to, from, size);
}

}  // namespace

std::shared_ptr<CopyTeam> CopyTeam::make(unsigned threads) {
    return make_of_all(std::min(threads, cpu::available_processors() / processors_for_each));
}

std::shared_ptr<CopyTeam> CopyTeam::make_of_all(unsigned threads) {
    return {new CopyTeam(std::max(threads, 1U) - 1), DeleteOwn()};
}

CopyTeam::~CopyTeam() {
    for (Thread& each : threads_) each.request_stop();
    wake();
}

void CopyTeam::expect(std::size_t bytes) noexcept {
    if (helpers_ == 0 || bytes < least_bytes) return;
    std::call_once(started_, [this]() noexcept {
        try {
            threads_.reserve(helpers_);
            while (threads_.size() < helpers_) {
                threads_.push_back(start_thread(
                    "carillon-copy", [this](std::stop_token const& stop) { help(stop); }));
            }
        } catch (std::exception const&) {  // the threads that were started help
        }
    });
    wake();
}

void CopyTeam::wake() noexcept {
    woken_.fetch_add(1, std::memory_order_release);
    woken_.notify_all();
}

void CopyTeam::store(std::byte* to, std::byte const* from, std::size_t size) noexcept {
    copy(&store_piece, to, from, size);
}

void CopyTeam::load(std::byte* to, std::byte const* from, std::size_t size) noexcept {
    copy(&load_piece, to, from, size);
}

void CopyTeam::copy(Copy how, std::byte* to, std::byte const* from, std::size_t size) noexcept {
    std::size_t const pieces = (size + piece_bytes - 1) / piece_bytes;
    if (helpers_ == 0 || size < least_bytes || pieces >= no_piece) return how(to, from, size);
    std::unique_lock const alone(copying_, std::try_to_lock);
    if (!alone) return how(to, from, size);
    copy_.store(how, std::memory_order_relaxed);
    to_.store(to, std::memory_order_relaxed);
    from_.store(from, std::memory_order_relaxed);
    size_.store(size, std::memory_order_relaxed);
    pieces_.store(static_cast<std::uint32_t>(pieces), std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    std::uint32_t const last = next_.load(std::memory_order_relaxed).copy;
    next_.store({0, last + 1}, std::memory_order_release);
    expect(size);
    while (take_piece()) {
    }
    // Each is at its last piece, which takes some microseconds.
    for (std::uint32_t polls = 0; done_.load(std::memory_order_acquire) != pieces; ++polls) {
        cpu::pause_or_yield(polls, false);
    }
}

bool CopyTeam::take_piece() noexcept {
    Next next = next_.load(std::memory_order_acquire);
    for (;;) {
        if (next.piece == no_piece) return false;
        Copy const how = copy_.load(std::memory_order_relaxed);
        std::byte* const to = to_.load(std::memory_order_relaxed);
        std::byte const* const from = from_.load(std::memory_order_relaxed);
        std::size_t const size = size_.load(std::memory_order_relaxed);
        bool const last = next.piece + 1 == pieces_.load(std::memory_order_relaxed);
        Next const after{last ? no_piece : next.piece + 1, next.copy};
        if (!next_.compare_exchange_weak(next, after, std::memory_order_acq_rel)) continue;
        std::size_t const begin = next.piece * piece_bytes;
        how(to + begin, from + begin, std::min(piece_bytes, size - begin));
        X86::store_fence();
        done_.fetch_add(1, std::memory_order_release);
        return true;
    }
}

void CopyTeam::help(std::stop_token const& stop) noexcept {
    leave_pinned_cores();
    while (!stop.stop_requested()) {
        std::uint32_t const seen = woken_.load(std::memory_order_acquire);
        auto sleepy = TeamClock::now() + awake;
        for (unsigned looks = 1; !stop.stop_requested(); ++looks) {
            if (take_piece()) {
                sleepy = TeamClock::now() + awake;
            } else if (looks % looks_between_clocks == 0 && TeamClock::now() > sleepy) {
                break;
            }
            cpu::Waits::pause();
        }
        if (!stop.stop_requested()) woken_.wait(seen, std::memory_order_acquire);
    }
}

}  // namespace carillon::detail
