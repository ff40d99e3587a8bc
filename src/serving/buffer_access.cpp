// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_access.hpp"

#include <algorithm>

#include "cpu/cpu.hpp"

namespace carillon::detail {

int poll_period(Deadline const& deadline) {
    using std::chrono::milliseconds;
    auto const whole = std::chrono::ceil<milliseconds>(
        std::min<std::chrono::nanoseconds>(deadline.left(), std::chrono::seconds(1)));
    return static_cast<int>(whole.count());
}

std::chrono::nanoseconds spin_time(std::chrono::nanoseconds wanted) {
    return cpu::available_processors() > 2 ? wanted : std::chrono::nanoseconds(0);
}

BufferHold::~BufferHold() {
    try {
        view_->use_for(BufferUse::none);
    } catch (std::exception const&) {  // it is not mapped then
    }
    view_.reset();
    if (store_) store_->release(id());
}

void* BufferHold::device_ptr() const {
    (void)host();
    if (void* const there = view_->device()) return there;
    throw UnsupportedError(
        of_host() ? "the buffer is in host memory, which the store's device cannot address"
                  : "the buffer is on a GPU that this connection has not opened: in C++ set "
                    "ConnectOptions::device to that GPU");
}

// Afterwards nothing of this process can write the buffer; if the system seals it, nothing can
// before, either. Without an answer it may be sealed, now or later: the system seals nothing that
// somebody has mapped for writing, and a buffer that it cannot seal is written no more.
void BufferHold::seal() {
    (void)require_mutable();
    if (mirrors_ != 0)
        throw UsageError("a HostMirror of the buffer exists: write it back or destroy it first");
    view_->settle(size());
    bool const by_system = view_->sealed_by_system();
    if (by_system) view_->use_for(BufferUse::none);
    auto const write_again = [&] {
        try {
            view_->use_for(BufferUse::writing);
        } catch (SystemError const&) {  // the store has sealed it, and its answer was not heard
        }
    };
    try {
        store_->seal(id(), [&] {
            if (!by_system) view_->use_for(BufferUse::reading);
        });
    } catch (RefusedError const&) {
        may_be_sealed_ = false;
        write_again();
        throw;
    } catch (...) {
        may_be_sealed_ = !by_system;
        if (by_system) write_again();
        throw;
    }
    may_be_sealed_ = false;
    view_->use_for(BufferUse::reading);
    info_.sealed = true;
}

}  // namespace carillon::detail
