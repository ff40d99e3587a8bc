// SPDX-License-Identifier: Apache-2.0
// The device memory of this copy of the library, by the device's address (held_memory.hpp).
#include <map>
#include <mutex>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/memory.hpp"
#include "device/allocation.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

struct ListEntry {
    HeldMemory range{};
    unsigned holds = 0;
    Memory freed{};  // freed by its user, but held
    ProcessMark mark{};
};

using RangeList = std::map<std::uint64_t, ListEntry>;  // by begin

// The process's list, under ForkMutex<ListEntry>. It is never deleted, since memory may be freed at
// any time.
RangeList& list() {
    static auto* const one = new RangeList;
    return *one;
}

ListEntry* first_touched(std::uint64_t address, std::uint64_t size) {
    auto const behind = list().upper_bound(address);
    if (behind != list().begin()) {
        auto const before = std::prev(behind);
        if (address - before->first < before->second.range.size) return &before->second;
    }
    bool const touched = behind != list().end() && behind->first - address < size;
    return touched ? &behind->second : nullptr;
}

void end_hold(std::uint64_t begin) {
    Memory last;  // destroyed without the lock: that removes its range here
    std::lock_guard const lock(ForkMutex<ListEntry>::get());
    ListEntry& entry = list().find(begin)->second;
    if (--entry.holds == 0) last = std::move(entry.freed);
}

}  // namespace

ListedRange::ListedRange(void* device, void* host, std::size_t size, bool write_combining)
    : begin_(reinterpret_cast<std::uint64_t>(device)) {
    HeldMemory const range{begin_, size, static_cast<std::byte*>(host), write_combining, &end_hold};
    std::lock_guard const lock(ForkMutex<ListEntry>::get());
    // It replaces an entry for a parent's memory at the same address.
    list().insert_or_assign(begin_, ListEntry{.range = range});
}

ListedRange::~ListedRange() {
    std::lock_guard const lock(ForkMutex<ListEntry>::get());
    list().erase(begin_);
}

bool ListedRange::take_over_if_held(Memory& memory) const noexcept {
    std::lock_guard const lock(ForkMutex<ListEntry>::get());
    ListEntry& entry = list().find(begin_)->second;
    if (entry.holds == 0) return false;
    entry.freed = std::move(memory);
    return true;
}

[[gnu::used]] HoldResult hold_memory(std::uint64_t address, std::uint64_t size, HeldMemory& found) {
    std::unique_lock const lock(ForkMutex<ListEntry>::get(), std::try_to_lock);
    if (!lock) return HoldResult::busy;
    ListEntry* const entry = first_touched(address, size);
    if (entry == nullptr || entry->freed.size() != 0) return HoldResult::none;
    found = entry->range;
    if (entry->mark.inherited()) return HoldResult::inherited;
    ++entry->holds;
    return HoldResult::held;
}

// The first two numbers are the lengths of the name, including its zero, and of the description.
asm(".pushsection .note.carillon, \"a\", @note\n"
    ".balign 4\n"
    ".long 9, 8, 4\n"
    ".asciz \"Carillon\"\n"
    ".balign 4\n"
    "0: .quad carillon_hold_memory - 0b\n"
    ".popsection\n");
static_assert(CopyNote::name == "Carillon" && CopyNote::type == 4);

}  // namespace carillon::detail
