// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/leases.hpp"

#include <algorithm>
#include <utility>

#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/read_counters.hpp"

namespace carillon::detail {
namespace {

// Another lease of the same memory numbers its messages so much further on: no tag of one is one
// of the next.
constexpr Sequence between_leases = Sequence{1} << 21U;
// What one user's clients leave is there for that user's only: so many channels' memory at most.
constexpr std::size_t memories_of_a_block = 4;

// The kernel's options, looked at before memory is touched.
unsigned checked_blocks(KernelOptions const& options) {
    check_options("PersistentKernel", options);
    check_capacity("PersistentKernel", options.capacity);
    return blocks_of(options);
}

}  // namespace

Leases::Leases(Device const& device, KernelOptions const& options, ChannelShape const& shape,
               MessageTypes types)
    : device_(device),
      shape_(shape),
      types_(std::move(types)),
      blocks_(make_block_lines(device, checked_blocks(options))),
      lines_(device.allocate(blocks_of(options) * sizeof(LeaseLine))),
      status_(device.allocate_host(blocks_of(options) * sizeof(LeaseStatus))) {
    LeaseTable const table = view(lines_.host_ptr(), status_.host_ptr());
    for (unsigned i = 0; i < blocks_of(options); ++i) {
        slots_.push_back({Writer(table, i, HostCached(), device.access(lines_))});
        add_region(sharing_for(device));
    }
}

ChannelSharing Leases::sharing_for(Device const& device) {
    MemorySource const source = device.info().memory_source;
    bool const others_can_map = source == MemorySource::memfd || source == MemorySource::vulkan;
    return others_can_map ? ChannelSharing::exported : ChannelSharing::exported_from_host;
}

LeaseTable Leases::view(void* lines, void* status) const {
    return {static_cast<LeaseLine*>(lines), static_cast<LeaseStatus*>(status), shape_};
}

LeaseTable Leases::device_view() const { return view(lines_.device_ptr(), status_.device_ptr()); }

void Leases::collect() {
    for (Slot& slot : slots_) {
        if (slot.region == nullptr || !slot.writer.over()) continue;
        slot.region->used = false;
        slot.region = nullptr;
    }
}

Leases::Region& Leases::add_region(ChannelSharing sharing) {
    auto memory = std::make_shared<ChannelMemory>(device_, 1, shape_, 1, sharing);
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
    if (regions_.size() >= memories_of_a_block * slots_.size()) return nullptr;
    return &add_region(sharing);
}

std::optional<Leases::Lent> Leases::begin(std::uint32_t user, ChannelSharing sharing) {
    std::lock_guard const lock(mutex_);
    collect();
    auto const slot =
        std::ranges::find_if(slots_, [](Slot const& each) { return each.region == nullptr; });
    if (slot == slots_.end()) return {};
    Region* const region = region_for(user, sharing);
    if (region == nullptr) return {};
    region->memory->reset(next_first_);
    next_first_ += between_leases;
    slot->region = region;
    slot->drained = false;
    region->used = true;
    region->user = user;
    try {
        slot->writer.begin(region->memory->device_view());
    } catch (...) {  // memory that could not be flushed: the block may have heard of it
        slot->writer.end();
        throw;
    }
    return Lent{static_cast<unsigned>(slot - slots_.begin()), region->memory};
}

void Leases::end(unsigned block) {
    std::lock_guard const lock(mutex_);
    Slot& slot = slots_.at(block);
    if (slot.writer.leased()) slot.gone = with_gone(slot.gone, slot.region->memory->counters(0));
    slot.writer.end();
    collect();
}

bool Leases::any_ends() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::any_of(
        slots_, [](Slot const& slot) { return slot.region != nullptr && !slot.writer.leased(); });
}

Leases::Counters Leases::counters(unsigned block) const {
    std::lock_guard const lock(mutex_);
    Slot const& slot = slots_.at(block);
    if (!slot.writer.leased()) return {{}, slot.gone};
    return {slot.region->memory->counters(0), slot.gone};
}

void Leases::drained(unsigned block) {
    std::lock_guard const lock(mutex_);
    slots_.at(block).drained = true;
}

bool Leases::lent(unsigned block) const {
    std::lock_guard const lock(mutex_);
    Slot const& slot = slots_.at(block);
    return slot.region != nullptr && !slot.writer.over();
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
