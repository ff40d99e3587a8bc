// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "carillon/error.hpp"
#include "cpu/cpu.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

BufferKey key_of(std::string_view name) {
    require_name("buffer", name);
    return {0, std::string(name)};
}

BufferKey key_of(std::uint64_t id) {
    if (id == 0) throw UsageError("no buffer has the number 0");
    return {id};
}

void require_buffer(std::string_view name, std::size_t bytes) {
    if (!name.empty()) require_name("buffer", name);
    if (bytes == 0) throw UsageError("a buffer of 0 bytes was asked for");
    if (bytes <= largest_buffer) return;
    throw OutOfMemoryError(
        fmt::format("{} bytes asked for, of {} that a buffer can have", bytes, largest_buffer));
}

std::shared_ptr<BufferTable> const& BufferAccess::table() const {
    throw UsageError("the store is another process's");
}

ConnectedOwner const& BufferAccess::owner() const {
    throw UsageError("the store is this process's own");
}

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
    if (store_) store_->release(id_);
}

void BufferHold::require_settled() const {
    if (!may_be_sealed_) return;
    throw UsageError(
        "the store may have sealed the buffer, since its seal() had no answer: seal() "
        "again finds out");
}

void BufferHold::require_mutable() const {
    if (sealed_) throw UsageError("the buffer was sealed: nobody writes it any more");
}

std::span<std::byte> BufferHold::host() const {
    require_settled();
    if (std::byte* const there = view_->host()) return {there, size_};
    throw UsageError(
        "the buffer is not mapped any more, since its seal() has failed when the "
        "store may have sealed it: seal() again finds out");
}

void* BufferHold::device_ptr() const {
    require_settled();
    if (void* const there = view_->device()) return there;
    throw UnsupportedError(of_host_ ? "the buffer is in memory of the host's, which the "
                                      "store's device does not address"
                                    : "kernels of this process cannot reach the GPU that "
                                      "has it: ConnectOptions::device is none of it");
}

// Afterwards nothing of this process can write the buffer; if the system seals it, nothing can
// before, either. Without an answer it may be sealed, now or later: the system seals nothing that
// somebody has mapped for writing, and a buffer that it cannot seal is written no more.
void BufferHold::seal() {
    require_mutable();
    if (mirrors_ != 0) {
        throw UsageError(
            "a HostMirror has not written back yet: its write_back(), or its end, "
            "comes first");
    }
    view_->settle(size_);
    bool const by_system = view_->sealed_by_system();
    if (by_system) view_->use_for(BufferUse::none);
    auto const write_again = [&] {
        try {
            view_->use_for(BufferUse::writing);
        } catch (SystemError const&) {  // the store has sealed it, and its answer was not heard
        }
    };
    try {
        store_->seal(id_, [&] {
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
    sealed_ = true;
    view_->use_for(BufferUse::reading);
}

}  // namespace carillon::detail
