// SPDX-License-Identifier: Apache-2.0
#include "carillon/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "device/backend.hpp"
#include "emulated/emulated_backend.hpp"

namespace carillon {
namespace {

constexpr unsigned most_threads_of_a_block = 1024;  // on every GPU so far
constexpr unsigned most_blocks_of_an_sm = 32;       // likewise
constexpr std::chrono::seconds own_patience{1};     // for a kernel without a stop_timeout

// Whether `there` became true within the timeout.
template <class Condition>
bool poll_until(std::chrono::nanoseconds timeout, Condition&& there) {
    detail::Deadline const deadline(timeout);
    while (!there()) {
        if (deadline.passed()) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
}

void require_shape(unsigned blocks, unsigned threads, unsigned lasting) {
    if (blocks == 0) throw UsageError("a kernel needs at least one block");
    if (threads == 0 || threads > most_threads_of_a_block) {
        throw UsageError(fmt::format("a block has 1 to {} threads, {} were requested",
                                     most_threads_of_a_block, threads));
    }
    if (lasting > blocks) {
        throw UsageError(fmt::format("{} lasting blocks requested, but the launch has {} blocks",
                                     lasting, blocks));
    }
}

}  // namespace

void detail::require_launch(Device const& device, unsigned blocks, unsigned threads,
                            unsigned lasting) {
    auto const backend = DeviceAccess::backend(device);
    backend->mark().require_own();
    require_shape(blocks, threads, lasting);
    auto const sms = device.info().sm_count;
    unsigned const limit =
        sms ? static_cast<unsigned>(*sms) * most_blocks_of_an_sm : emulated_resident_blocks;
    backend->residents().require_room(sms && lasting != 0 ? lasting : blocks, limit);
}

RunningKernel::RunningKernel(Device const& device, detail::Program const& program, unsigned blocks)
    : backend_(detail::DeviceAccess::backend(device)), start_by_(program.start_timeout) {
    backend_->mark().require_own();
    require_shape(blocks, program.threads, program.lasting);
    execution_ = backend_->start(program, blocks);
}

RunningKernel::RunningKernel() noexcept = default;
RunningKernel::RunningKernel(RunningKernel&&) noexcept = default;

RunningKernel& RunningKernel::operator=(RunningKernel&& other) noexcept {
    if (this != &other) {
        leave(own_patience, true);
        backend_ = std::move(other.backend_);
        execution_ = std::move(other.execution_);
        start_by_ = other.start_by_;
    }
    return *this;
}

RunningKernel::~RunningKernel() { leave(own_patience, true); }

bool RunningKernel::finished() const {
    if (execution_ == nullptr) return true;
    return detail::in_call("RunningKernel::finished", backend_->mark(),
                           [&] { return execution_->finished(); });
}

bool RunningKernel::wait(std::chrono::nanoseconds timeout) const {
    return detail::in_call("RunningKernel::wait",
                           [&] { return poll_until(timeout, [this] { return finished(); }); });
}

void RunningKernel::leave(std::chrono::nanoseconds patience, bool says_so) noexcept {
    if (execution_ == nullptr) return;
    if (backend_->mark().inherited()) {  // it is the parent's, whose threads are not here
        (void)execution_.release();
        return;
    }
    // Not finished(): a failed kernel may have blocks that have not ended yet.
    if (!poll_until(patience, [this] { return execution_->gone(); })) {
        if (says_so) {
            detail::say_line(
                "carillon: a kernel was still running when its owner was destroyed; the kernel and "
                "its memory are left in place");
        }
        backend_->residents().adopt(std::move(execution_));
    }
    execution_.reset();
}

Pins::Pins(Device const& device, std::span<std::uint32_t const> sms) try
    : roles_(static_cast<unsigned>(sms.size())), blocks_(roles_) {
    if (sms.empty()) throw UsageError("no SMs given: at least one is needed");
    // Two rounds of the block scheduler: the first may skip an SM that another kernel uses.
    auto const count = device.info().sm_count;  // none: there is no choice
    if (count) blocks_ = std::max(2U * static_cast<unsigned>(*count), 2 * roles_);
    std::size_t const size = detail::PinTable::words_for(roles_) * sizeof(std::uint64_t);
    memory_ = device.allocate(size);
    auto* const words = static_cast<std::uint64_t*>(memory_.host_ptr());
    for (std::uint32_t role = 0; role < roles_; ++role) {
        words[detail::PinTable::wanted_at(role)] = count ? sms[role] : any_sm;
    }
    memory_.flush(0, size);
} catch (...) {
    detail::throw_named("Pins");
}

void Pins::take() const {
    if (memory_.size() == 0 || !taken_.exchange(true)) return;
    throw UsageError("a launch already uses these Pins: make new Pins for each launch");
}

detail::PinTable Pins::device_view() const {
    if (memory_.size() == 0) return {};
    return {static_cast<std::uint64_t*>(memory_.device_ptr()), roles_};
}

}  // namespace carillon
