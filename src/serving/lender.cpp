// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/serving/lender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "carillon/error.hpp"
#include "os/own_user.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

// No client of the library's gives a value such a number.
constexpr Sequence beyond_clients = Sequence{1} << 61U;

}  // namespace

Sequence first_of_next(Sequence first, std::uint64_t used) {
    constexpr Sequence between = Sequence{1} << 21U;  // twice the longest ring
    Sequence const next = first + (used + between - 1) / between * between + between;
    // A count may be anything: the number stays one that a ring may begin with, and keeps its tag.
    constexpr Sequence below = (Sequence{1} << 62U) - 1;
    constexpr Sequence not_zero = Sequence{1} << 32U;
    return (next & below) | not_zero;
}

ChannelTable LentMemory::host_view() const {
    return table_of_one(device.host_ptr(), host.size() == 0 ? nullptr : host.host_ptr(), shape,
                        first, in_pairs);
}
ChannelTable LentMemory::device_view() const {
    return table_of_one(device.device_ptr(), host.size() == 0 ? nullptr : host.device_ptr(), shape,
                        first, in_pairs);
}

Lender::Parts Lender::Parts::of(KernelOptions const& options, ServedBy served_by) {
    check_options(options);
    check_capacity(options.capacity);
    unsigned const blocks = blocks_of(options);
    if (served_by == ServedBy::one_block) return {.places = blocks, .blocks = blocks};
    unsigned const clients = options.shared_pool.clients;
    if (clients == 0 || clients > most_pool_places) {
        throw UsageError(fmt::format("SharedPool::clients is {}, but 1 to {} are possible", clients,
                                     most_pool_places));
    }
    return {.places = clients, .blocks = blocks, .servers = blocks, .served_by = served_by};
}

Lender::Lender(Device const& device, KernelOptions const& options, ChannelShape const& shape,
               MessageTypes types, ServedBy served_by)
    : Lender(device, ObjectKind::kernel, shape, 0, std::move(types), Parts::of(options, served_by),
             1) {}

Lender::Lender(Device const& device, ObjectKind kind, ObjectShape const& shape,
               MessageType const& type, unsigned readers, Sequence first)
    : Lender(device, kind, {shape.capacity, shape.slot_lines, shape.slot_lines}, shape.chunk_bytes,
             {type, type}, {.ends = readers}, first) {}

Lender::Lender(Device const& device, ObjectKind kind, ChannelShape const& shape,
               std::uint32_t chunk_bytes, MessageTypes types, Parts parts, Sequence first)
    : Lendable(device, kind, std::move(types)),
      row_(kind_row(kind)),
      shape_(shape),
      chunk_bytes_(chunk_bytes),
      parts_(parts),
      first_(first),
      device_bytes_(row_.bytes(shape, chunk_bytes).device),
      host_bytes_(row_.bytes(shape, chunk_bytes).host),
      blocks_(parts.blocks == 0 ? nullptr : make_block_lines(device, parts.blocks)),
      // News are behind the lines of the places.
      lines_(device.allocate((parts.lines() + std::size_t{1}) * sizeof(LeaseLine))),
      status_(
          device.allocate_host(std::size_t{parts.lines()} * parts.servers * sizeof(LeaseStatus))),
      taken_(parts.ends) {
    if (together()) {
        claims_ = device.allocate(parts.places * sizeof(LeaseClaim));
    }
    LeaseTable const table =
        view(lines_.host_ptr(), status_.host_ptr(), claims_ ? claims_->host_ptr() : nullptr);
    if (table.news != nullptr) news_.emplace(table.news, device.access(lines_));
    for (unsigned i = 0; i < parts.places; ++i) {
        Place& place = places_.emplace_back();
        for (unsigned end = 0; end < parts.ends; ++end) {
            place.writers.emplace_back(table, i * parts.ends + end, HostCached(),
                                       device.access(lines_));
        }
        (void)add_memory(sharing_for(device));
    }
}

ChannelSharing Lender::sharing_for(Device const& device) {
    MemorySource const source = device.info().memory_source;
    bool const others_can_map = source == MemorySource::memfd || source == MemorySource::vulkan;
    return others_can_map ? ChannelSharing::exported : ChannelSharing::exported_from_host;
}

LeaseTable Lender::view(void* lines, void* status, void* claims) const {
    LeaseTable table{static_cast<LeaseLine*>(lines), static_cast<LeaseStatus*>(status), shape_};
    if (together()) {
        table.servers = parts_.servers;
        table.news = &table.lines[parts_.lines()].number;
        table.claims = static_cast<LeaseClaim*>(claims);
    }
    return table;
}

LeaseTable Lender::device_view() const {
    return view(lines_.device_ptr(), status_.device_ptr(),
                claims_ ? claims_->device_ptr() : nullptr);
}

LeaseTable Lender::take(std::string_view giver, unsigned reader, CodeLocation const& where) {
    if (reader >= taken_.size()) {
        throw UsageError(fmt::format("there is no reader {}: the object has {} (from 0)", reader,
                                     taken_.size()));
    }
    std::lock_guard const lock(mutex_);
    LeaseTable const table = device_view();
    taken_[reader].take(giver, where, {table.lines + reader, table.status_of(reader, 0)});
    return table;
}

std::shared_ptr<LentMemory> const& Lender::add_memory(ChannelSharing sharing) {
    MemorySource const source = device().info().memory_source;
    bool const in_host =
        sharing == ChannelSharing::exported_from_host || source == MemorySource::host;
    auto memory = std::make_shared<LentMemory>();
    memory->sharing = sharing;
    memory->shape = shape_;
    memory->in_pairs = is_kernel() && !in_host && !together();
    memory->device =
        in_host ? device().allocate_shared_host(device_bytes_) : device().allocate(device_bytes_);
    if (host_bytes_ != 0) memory->host = device().allocate_shared_host(host_bytes_);
    if (is_kernel()) row_.format(object_shape(), memory->host_view());
    return memories_.emplace_back(std::move(memory));
}

std::shared_ptr<LentMemory> Lender::memory_for(std::uint32_t user, ChannelSharing sharing) {
    // Memory that the user has had comes before memory that nobody has had.
    std::shared_ptr<LentMemory> unused;
    for (auto const& memory : memories_) {
        if (memory->used || memory->sharing != sharing) continue;
        if (memory->user == user) return memory;
        if (!memory->user) unused = memory;
    }
    if (unused != nullptr) return unused;
    // Memory that a client has had is that user's alone, since the client may have it mapped still.
    // If none can be freed beside a kernel, as many again are kept for the owner's user and root.
    constexpr std::size_t of_a_place = 4;
    bool const more = is_kept_for(user) && !device().traits().frees_beside_kernels;
    bool const may_be_more = memories_.size() < (more ? 2 : 1) * of_a_place * places_.size();
    unsigned const descriptors = descriptors_of_place();
    bool const keeps_all = may_be_more && can_open(descriptors, descriptors_for_gone());
    if (!keeps_all && !free_oldest() &&
        !(may_be_more && can_open(descriptors, descriptors_for(user)))) {
        return nullptr;
    }
    for (;;) {
        try {
            return add_memory(sharing);
        } catch (SystemError const& error) {
            if (!none_left(error.code()) || !free_oldest()) throw;
        } catch (OutOfMemoryError const&) {
            if (!free_oldest()) throw;
        }
    }
}

bool Lender::free_oldest() noexcept {
    if (!device().traits().frees_beside_kernels) return false;
    auto const oldest = std::ranges::find_if_not(
        memories_, &LentMemory::used, [](auto const& each) -> LentMemory& { return *each; });
    if (oldest == memories_.end()) return false;
    (*oldest)->device.free_at_once();
    (*oldest)->host.free_at_once();
    memories_.erase(oldest);
    return true;
}

void Lender::lay_out(LentMemory& memory) {
    if (is_kernel()) {
        // The last client's own count gives the next number.
        Sequence const first = memory.first;
        auto* const words = memory.host_view().counters(0);
        memory.first = first_of_next(first, CounterWords::load(words->submitted) + 1 - first);
    } else {
        memory.first = memory.user ? first_of_next(memory.first, memory.count) : first_;
    }
    // Formats every line and word that an end looks at; chunks keep bytes of the same user.
    row_.format(object_shape(), memory.host_view());
    memory.device.flush(0, memory.device.size());
}

void Lender::end(Place& place) {
    for (Writer& writer : place.writers) writer.end();
    if (news_) news_->tell();
}

void Lender::collect() {
    for (Place& place : places_) {
        if (place.memory == nullptr || !place.over()) continue;
        place.memory->used = false;
        place.memory = nullptr;
    }
}

std::optional<Lender::Lent> Lender::begin(std::uint32_t user, ChannelSharing sharing) {
    std::lock_guard const lock(mutex_);
    // The lock comes first: a drain changes the state before it looks at the places.
    if (kernel_ && kernel_->state_word() != KernelState::running) return {};
    collect();
    if (begin_again(places_.front(), user, sharing)) return Lent{0, places_.front().memory};
    auto const place =
        std::ranges::find_if(places_, [](Place const& each) { return each.memory == nullptr; });
    if (place == places_.end()) return {};
    auto const memory = memory_for(user, sharing);
    if (memory == nullptr) return {};
    lay_out(*memory);
    place->watch.begin(memory->first);
    place->memory = memory;
    place->drained = false;
    memory->used = true;
    memory->user = user;
    auto const lent = std::ranges::find(memories_, memory);
    std::rotate(lent, lent + 1, memories_.end());
    try {
        for (Writer& writer : place->writers) writer.begin(memory->device_view());
        if (news_) news_->tell();
    } catch (...) {  // a flush has failed: an end may have heard of it
        end(*place);
        throw;
    }
    return Lent{static_cast<unsigned>(place - places_.begin()), memory};
}

// The value that is there stays, and the client's values are numbered behind it: the device's ends
// look for the newest as before, whether or not they have heard of any client.
bool Lender::begin_again(Place& place, std::uint32_t user, ChannelSharing sharing) {
    if (!row_.begins_again || place.memory == nullptr || place.leased()) return false;
    LentMemory& last = *place.memory;
    bool const can_map = sharing == last.sharing || sharing == ChannelSharing::exported ||
                         device().info().memory_source == MemorySource::memfd;
    if (last.user != user || !can_map || newest_value(last) >= beyond_clients) return false;
    last.first = first_of_next(last.first, last.count);
    for (Writer& writer : place.writers) writer.begin_again();
    return true;
}

void Lender::end(unsigned number) {
    std::lock_guard const lock(mutex_);
    Place& place = places_.at(number);
    if (place.leased()) {
        ChannelCounters const counted = count(*place.memory);
        place.memory->count = counted.submitted;
        place.gone = with_gone(place.gone, counted);
    }
    end(place);
    collect();
}

LeasedCounters Lender::counters(unsigned number) const {
    std::lock_guard const lock(mutex_);
    Place const& place = places_.at(number);
    return {place.leased() ? count(*place.memory) : ChannelCounters{}, place.gone};
}

ChannelCounters Lender::count(LentMemory const& memory) const {
    ChannelTable const at = memory.host_view();
    if (is_kernel()) {
        return read_counters(at.channel(0).replies, *at.counters(0), parts_.served_by);
    }
    HostCached const in_device(memory.device.range_sync());
    HostCached const in_host;
    Sequence const before = memory.first - 1;
    ChannelCounters counters;
    if (row_.ring == nullptr) {
        // A client that has set nothing counts none, also where another one's value is.
        counters.submitted = std::max(newest_value(memory), before) - before;
        return counters;
    }
    auto const [ring, slots_in_device] = row_.ring(object_shape(), at);
    Sequence const taken = (slots_in_device ? in_host : in_device).load_word(ring.credit);
    Sequence const pushed = last_arrived(slots_in_device ? in_device : in_host, ring, taken);
    counters.submitted = pushed - before;
    counters.answered = counters.taken = taken - before;
    counters.depth = static_cast<std::uint32_t>(pushed - taken);
    return counters;
}

Sequence Lender::newest_value(LentMemory const& memory) const {
    HostCached const in_device(memory.device.range_sync());
    return in_device.load_word(MailboxLayout::view(object_shape(), memory.host_view()).newest);
}

char const* Lender::look_at_counters(unsigned number) {
    std::lock_guard const lock(mutex_);
    Place& place = places_.at(number);
    if (!is_kernel() || !place.leased()) return nullptr;
    return place.watch.look(*place.memory->host_view().counters(0), shape_.capacity);
}

bool Lender::outstanding(Place const& place) const {
    if (!is_kernel() || place.memory == nullptr) return false;
    if (!place.leased()) return !place.over();
    ChannelCounters const counters = count(*place.memory);
    return counters.submitted != counters.answered;
}

}  // namespace carillon::detail
