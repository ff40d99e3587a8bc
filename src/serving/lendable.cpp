// SPDX-License-Identifier: Apache-2.0
// The blocks of a kernel, the host's end of an object, and what clients only read, as a server's
// thread sees and lends them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "os/shared_memory.hpp"
#include "serving/session.hpp"

namespace carillon::detail {
namespace {

// Describes memory of the device, or of the host, to a client.
Attached describe_memory(Device const& device, bool in_host, std::size_t bytes) {
    Attached attached;
    attached.memory = wire_memory(device, in_host, bytes);
    attached.read_back = device.info().data_order == DataOrder::read_back;
    attached.shares_processors = device.traits().shares_processors;
    return attached;
}

// This process maps it for writing, and nobody else can later.
std::shared_ptr<SharedMemory const> published_memory(std::size_t size) {
    auto memory = std::make_shared<SharedMemory>(new_sealable_memory(size), size);
    seal_against_new_writers(memory->descriptor());
    return memory;
}

}  // namespace

std::string Lendable::why_closed(KernelState /*state*/) const {
    return fmt::format("the owner has destroyed the {}", to_string(kind_));
}

std::optional<Loan> Lender::lend(std::uint32_t user, bool host_memory) {
    auto const lent =
        begin(user, host_memory ? ChannelSharing::exported_from_host : sharing_for(device()));
    if (!lent) return {};
    LentMemory const& memory = *lent->memory;
    try {
        bool const in_host = memory.sharing == ChannelSharing::exported_from_host;
        Loan loan{lent->place, describe_memory(device(), in_host, memory.device.size()), {}};
        loan.files.push_back(memory.device.export_fd());
        if (memory.host.size() != 0) loan.files.push_back(memory.host.export_fd());
        Attached& attached = loan.attached;
        attached.host_bytes = memory.host.size();
        attached.shape = shape_;
        attached.chunk_bytes = chunk_bytes_;
        attached.first = memory.first;
        attached.in_pairs = memory.in_pairs;
        attached.any_block = together();
        if (is_kernel()) attached.blocks = blocks_->channels();
        return loan;
    } catch (...) {
        end(lent->place);
        throw;
    }
}

KernelState Lender::state(bool ask_device) const {
    if (!is_kernel()) return Lendable::state(ask_device);
    return ask_device ? kernel_->state() : kernel_->state_word().load();
}

template <class Body>
void Lender::for_each_server(unsigned place, Body const& body) const {
    if (!together()) return body(place);
    for (unsigned block = 0; block < kernel_->blocks(); ++block) body(block);
}

// If all blocks serve the place, the activity of the block that is best off.
BlockActivity Lender::activity(unsigned place) const {
    if (!is_kernel()) {
        bool const busy = !closed() && counters(place).now.depth != 0;
        return busy ? BlockActivity::busy : Lendable::activity(place);
    }
    bool const busy = outstanding(place);
    BlockActivity best = BlockActivity::ended;
    for_each_server(place,
                    [&](unsigned block) { best = std::min(best, kernel_->activity(block, busy)); });
    return best;
}

// If all blocks serve the place, the last heartbeat counts.
BlockBeats Lender::beats(unsigned place) const {
    if (!is_kernel()) return {};
    BlockBeats all{0, std::chrono::nanoseconds::max()};
    for_each_server(place, [&](unsigned block) {
        BlockBeats const beats = kernel_->beats(block);
        all = {all.seen + beats.seen, std::min(all.age, beats.age)};
    });
    return all;
}

std::string Lender::why_full() const {
    constexpr char const* of_others =
        "clients of other users have used all memory that may be lent while a kernel runs";
    std::string_view const name = to_string(kind());
    if (is_kernel()) {
        char const* const what = together() ? "places" : "blocks";
        if (any_free()) return fmt::format("{} of the kernel are free, but {}", what, of_others);
        return fmt::format("all {} ({}) are in use{}", what, places(),
                           any_ends() ? ", or still finish requests of departed clients" : "");
    }
    if (any_ends()) {
        return fmt::format(
            "the kernel has not looked at the {} often enough since the last client left: it takes "
            "the rest at one look and frees the place at the next",
            name);
    }
    if (!any_free()) return fmt::format("the {} has a client", name);
    return fmt::format("the {} is free, but {}", name, of_others);
}

std::string Lender::why_closed(KernelState state) const {
    if (!is_kernel()) return Lendable::why_closed(state);
    try {
        if (state == KernelState::draining) {
            kernel_->require_open();
        } else {
            kernel_->require_alive();
        }
    } catch (std::exception const& error) {
        return error.what();
    } catch (...) {  // a handler may throw anything
        return "its handler threw something other than an exception";
    }
    return {};
}

PublishedObject::PublishedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                                 MessageType const& type, unsigned writers, Sequence first)
    : Lendable(device, kind, {type, type}),
      shape_(shape),
      first_(first),
      memory_(published_memory(MailboxLayout::device_bytes(shape))) {
    format_mailbox(host_view());
    if (writers != 0) registered_ = device.register_host(memory_->bytes(), memory_);
}

MailboxView PublishedObject::view_at(void* begin) const {
    return MailboxLayout::view(shape_, table_of_one(begin, nullptr, {}, first_));
}

MailboxView PublishedObject::host_view() const { return view_at(memory_->bytes().data()); }
MailboxView PublishedObject::device_view() const { return view_at(registered_.device_ptr()); }

unsigned PublishedObject::places() const {
    std::lock_guard const lock(mutex_);
    return static_cast<unsigned>(lent_.size());
}

LeasedCounters PublishedObject::counters(unsigned place) const {
    if (place != 0) return {};
    return {{.submitted = HostCached().load_word(host_view().newest) - (first_ - 1)}, {}};
}

std::optional<Loan> PublishedObject::lend(std::uint32_t /*user*/, bool /*host_memory*/) {
    std::lock_guard const lock(mutex_);
    auto const free = std::ranges::find(lent_, false);
    if (free == lent_.end() && lent_.size() == most_readers) return {};
    auto const place = static_cast<unsigned>(std::distance(lent_.begin(), free));
    Loan loan{place, describe_memory(device(), true, bytes_of_place()), {}};
    loan.files.push_back(memory_->duplicate());
    loan.attached.shape = {shape_.capacity, shape_.slot_lines, shape_.slot_lines};
    loan.attached.first = first_;
    if (free == lent_.end()) lent_.push_back(false);
    lent_[place] = true;
    return loan;
}

void PublishedObject::end(unsigned place) {
    std::lock_guard const lock(mutex_);
    lent_.at(place) = false;
}

std::optional<std::string> ServedItem::closed() const {
    if (told_ != KernelState::running) return text_;
    KernelState const state = lendable_->state(false);
    if (state == KernelState::running) return {};
    return lendable_->why_closed(state);
}

bool ServedItem::look(bool ask_device) {
    if (ended()) return news_;
    KernelState const state = lendable_->state(ask_device);
    if (state == told_) return news_;
    text_ = lendable_->why_closed(state);
    told_ = state;
    told_at_ = std::chrono::steady_clock::now();
    return news_ = true;
}

}  // namespace carillon::detail
