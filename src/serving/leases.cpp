// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/leases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "carillon/error.hpp"
#include "serving/memories.hpp"

namespace carillon::detail {
namespace {

// The kernel's options, looked at before memory is touched.
unsigned checked_blocks(KernelOptions const& options) {
    check_options("PersistentKernel", options);
    check_capacity("PersistentKernel", options.capacity);
    return blocks_of(options);
}

unsigned checked_places(SharedPool const& pool) {
    if (pool.clients == 0 || pool.clients > most_pool_places) {
        throw UsageError("PersistentKernel", fmt::format("SharedPool::clients is {}: 1 to {} are",
                                                         pool.clients, most_pool_places));
    }
    return pool.clients;
}

// News are behind the lines of the places.
std::size_t lease_bytes(unsigned places) { return (places + std::size_t{1}) * sizeof(LeaseLine); }

// Of the client that has had the memory last, by its own count.
Sequence next_first(ChannelMemory const& memory) {
    Sequence const first = memory.host_view().first;
    return first_of_next(first,
                         CounterWords::load(memory.host_view().counters(0)->submitted) + 1 - first);
}

}  // namespace

Sequence first_of_next(Sequence first, std::uint64_t used) {
    constexpr Sequence between = Sequence{1} << 21U;  // twice the longest ring
    Sequence const next = first + (used + between - 1) / between * between + between;
    // A count may be anything: the number stays one that a ring may begin with, and keeps its tag.
    constexpr Sequence below = (Sequence{1} << 62U) - 1;
    constexpr Sequence not_zero = Sequence{1} << 32U;
    return (next & below) | not_zero;
}

Leases::Leases(Device const& device, KernelOptions const& options, ChannelShape const& shape,
               MessageTypes types)
    : Leases(device, checked_blocks(options), ServedBy::one_block, blocks_of(options), shape,
             std::move(types)) {}

Leases::Leases(Device const& device, SharedPool const& pool, KernelOptions const& options,
               ChannelShape const& shape, MessageTypes types)
    : Leases(device, checked_places(pool), ServedBy::any_block, checked_blocks(options), shape,
             std::move(types)) {}

Leases::Leases(Device const& device, unsigned places, ServedBy served_by, unsigned blocks,
               ChannelShape const& shape, MessageTypes types)
    : device_(device),
      shape_(shape),
      types_(std::move(types)),
      served_by_(served_by),
      places_(places),
      blocks_(make_block_lines(device, blocks)),
      lines_(device.allocate(lease_bytes(places))),
      status_(device.allocate_host(std::size_t{places} *
                                   (served_by == ServedBy::any_block ? blocks : 1) *
                                   sizeof(LeaseStatus))) {
    if (served_by == ServedBy::any_block) claims_ = device.allocate(places * sizeof(LeaseClaim));
    LeaseTable const table =
        view(lines_.host_ptr(), status_.host_ptr(), claims_ ? claims_->host_ptr() : nullptr);
    if (table.news != nullptr) news_.emplace(table.news, device.access(lines_));
    for (unsigned i = 0; i < places; ++i) {
        slots_.push_back({Writer(table, i, HostCached(), device.access(lines_))});
        add_region(sharing_for(device));
    }
}

ChannelSharing Leases::sharing_for(Device const& device) {
    MemorySource const source = device.info().memory_source;
    bool const others_can_map = source == MemorySource::memfd || source == MemorySource::vulkan;
    return others_can_map ? ChannelSharing::exported : ChannelSharing::exported_from_host;
}

LeaseTable Leases::view(void* lines, void* status, void* claims) const {
    LeaseTable table{static_cast<LeaseLine*>(lines), static_cast<LeaseStatus*>(status), shape_};
    if (served_by_ == ServedBy::any_block) {
        table.servers = blocks_->channels();
        table.news = &table.lines[places_].number;
        table.claims = static_cast<LeaseClaim*>(claims);
    }
    return table;
}

void Leases::tell(Slot& slot, ChannelMemory const* begun) {
    if (begun != nullptr) {
        slot.writer.begin(begun->device_view());
    } else {
        slot.writer.end();
    }
    if (news_) news_->tell();
}

LeaseTable Leases::device_view() const {
    return view(lines_.device_ptr(), status_.device_ptr(),
                claims_ ? claims_->device_ptr() : nullptr);
}

void Leases::collect() {
    for (Slot& slot : slots_) {
        if (slot.region == nullptr || !slot.writer.over()) continue;
        slot.region->used = false;
        slot.region = nullptr;
    }
}

Leases::Region& Leases::add_region(ChannelSharing sharing) {
    auto memory = std::make_shared<ChannelMemory>(device_, 1, shape_, 1, sharing, served_by_);
    regions_.push_back(std::make_unique<Region>(Region{std::move(memory)}));
    return *regions_.back();
}

Leases::Region* Leases::region_for(std::uint32_t user, ChannelSharing sharing) {
    // What the user has had, rather than what nobody has.
    Region* unused = nullptr;
    for (auto const& region : regions_) {
        if (region->used || region->memory->sharing() != sharing) continue;
        if (region->user == user) return region.get();
        if (!region->user) unused = region.get();
    }
    if (unused != nullptr) return unused;
    return make_memory(
        device_, user, slots_.size(), regions_.size(), 2,
        [&]() -> Region& { return add_region(sharing); }, [&] { return free_oldest(); });
}

bool Leases::free_oldest() noexcept {
    if (!device_.traits().frees_beside_kernels) return false;
    auto const oldest = std::ranges::find_if_not(regions_, &Region::used,
                                                 [](auto const& each) -> Region& { return *each; });
    if (oldest == regions_.end()) return false;
    (*oldest)->memory->free_at_once();
    regions_.erase(oldest);
    return true;
}

std::optional<Leases::Lent> Leases::begin(std::uint32_t user, ChannelSharing sharing) {
    std::lock_guard const lock(mutex_);
    // Looked at with the lock: a drain changes the state before it looks at the places.
    if (kernel_ && kernel_->state_word() != KernelState::running) return {};
    collect();
    auto const slot =
        std::ranges::find_if(slots_, [](Slot const& each) { return each.region == nullptr; });
    if (slot == slots_.end()) return {};
    Region* const region = region_for(user, sharing);
    if (region == nullptr) return {};
    Sequence const first = next_first(*region->memory);
    region->memory->reset(first);
    slot->watch.begin(first);
    slot->region = region;
    slot->drained = false;
    region->used = true;
    region->user = user;
    auto const lent = std::ranges::find(regions_, region, &std::unique_ptr<Region>::get);
    std::rotate(lent, lent + 1, regions_.end());
    try {
        tell(*slot, region->memory.get());
    } catch (...) {  // memory that could not be flushed: a block may have heard of it
        tell(*slot, nullptr);
        throw;
    }
    return Lent{static_cast<unsigned>(slot - slots_.begin()), region->memory};
}

void Leases::end(unsigned place) {
    std::lock_guard const lock(mutex_);
    Slot& slot = slots_.at(place);
    if (slot.writer.leased()) slot.gone = with_gone(slot.gone, slot.region->memory->counters(0));
    tell(slot, nullptr);
    collect();
}

bool Leases::any_ends() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::any_of(
        slots_, [](Slot const& slot) { return slot.region != nullptr && !slot.writer.leased(); });
}

bool Leases::any_free() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::any_of(slots_, [](Slot const& slot) { return slot.region == nullptr; });
}

LeasedCounters Leases::counters(unsigned place) const {
    std::lock_guard const lock(mutex_);
    Slot const& slot = slots_.at(place);
    if (!slot.writer.leased()) return {{}, slot.gone};
    return {slot.region->memory->counters(0), slot.gone};
}

char const* Leases::look_at_counters(unsigned place) {
    std::lock_guard const lock(mutex_);
    Slot& slot = slots_.at(place);
    if (!slot.writer.leased()) return nullptr;
    return slot.watch.look(*slot.region->memory->host_view().counters(0), shape_.capacity);
}

void Leases::drained(unsigned place) {
    std::lock_guard const lock(mutex_);
    slots_.at(place).drained = true;
}

bool Leases::outstanding(Slot const& slot) {
    if (slot.region == nullptr) return false;
    if (!slot.writer.leased()) return !slot.writer.over();
    ChannelCounters const counters = slot.region->memory->counters(0);
    return counters.submitted != counters.answered;
}

bool Leases::outstanding(unsigned place) const {
    std::lock_guard const lock(mutex_);
    return outstanding(slots_.at(place));
}

bool Leases::outstanding_at(unsigned block) const {
    if (served_by_ == ServedBy::one_block) return outstanding(block);
    std::lock_guard const lock(mutex_);
    return std::ranges::any_of(slots_, [](Slot const& slot) { return outstanding(slot); });
}

bool Leases::all_drained() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::all_of(slots_, [](Slot const& slot) {
        return slot.drained || slot.region == nullptr || slot.writer.over();
    });
}

std::size_t Leases::memories() const {
    std::lock_guard const lock(mutex_);
    return regions_.size();
}

unsigned Leases::count() const {
    std::lock_guard const lock(mutex_);
    return static_cast<unsigned>(std::ranges::count_if(
        slots_, [](Slot const& slot) { return slot.region != nullptr && !slot.writer.over(); }));
}

}  // namespace carillon::detail
