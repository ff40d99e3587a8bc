// SPDX-License-Identifier: Apache-2.0
#include "device/mapped_ranges.hpp"

#include <map>
#include <mutex>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/memory.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

class RangeList {
   public:
    // The process's list: never deleted, since memory may be freed at any time.
    static RangeList& get() {
        static auto* const list = new RangeList;
        return *list;
    }

    void add(HeldMemory const& range) {
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        // It replaces an entry for a parent's memory at the same address.
        ranges_.insert_or_assign(range.device, Entry{.range = range});
    }
    void remove(std::uint64_t begin) {
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        ranges_.erase(begin);
    }
    [[nodiscard]] bool take_over_if_held(std::uint64_t begin, Memory& memory) noexcept {
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        Entry& entry = ranges_.find(begin)->second;
        if (entry.holds == 0) return false;
        entry.freed = std::move(memory);
        return true;
    }
    [[nodiscard]] HoldResult hold(std::uint64_t address, std::uint64_t size, HeldMemory& found) {
        std::unique_lock const lock(ForkMutex<RangeList>::get(), std::try_to_lock);
        if (!lock) return HoldResult::busy;
        Entry* const entry = first_touched(address, size);
        if (entry == nullptr || entry->freed.size() != 0) return HoldResult::none;
        found = entry->range;
        if (entry->mark.inherited()) return HoldResult::inherited;
        ++entry->holds;
        return HoldResult::held;
    }
    void end_hold(std::uint64_t begin) {
        Memory last;  // destroyed without the lock: that removes its range here
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        Entry& entry = ranges_.find(begin)->second;
        if (--entry.holds == 0) last = std::move(entry.freed);
    }

   private:
    struct Entry {
        HeldMemory range{};
        unsigned holds = 0;
        Memory freed{};  // freed by its user, but held
        ProcessMark mark{};
    };

    [[nodiscard]] Entry* first_touched(std::uint64_t address, std::uint64_t size) {
        auto const behind = ranges_.upper_bound(address);
        if (behind != ranges_.begin()) {
            auto const before = std::prev(behind);
            if (address - before->first < before->second.range.size) return &before->second;
        }
        bool const touched = behind != ranges_.end() && behind->first - address < size;
        return touched ? &behind->second : nullptr;
    }

    std::map<std::uint64_t, Entry> ranges_;  // by begin
};

void end_hold(std::uint64_t device) { RangeList::get().end_hold(device); }

}  // namespace

ListedRange::ListedRange(void* device, void* host, std::size_t size, bool write_combining)
    : begin_(reinterpret_cast<std::uint64_t>(device)) {
    RangeList::get().add({begin_, size, static_cast<std::byte*>(host), write_combining, &end_hold});
}

ListedRange::~ListedRange() { RangeList::get().remove(begin_); }

bool ListedRange::take_over_if_held(Memory& memory) const noexcept {
    return RangeList::get().take_over_if_held(begin_, memory);
}

[[gnu::used]] HoldResult hold_memory(std::uint64_t address, std::uint64_t size, HeldMemory& found) {
    return RangeList::get().hold(address, size, found);
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
