// SPDX-License-Identifier: Apache-2.0
// The list of this copy of the library, and how it is found in others.
#include "device/mapped_ranges.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "carillon/detail/host/fork_mutex.hpp"
#include "carillon/detail/host/mapped_range.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {
namespace {

constexpr std::uint64_t gpu_page = 64 << 10;  // of a GPU's memory, as gdrcopy has it

// Whether a list has an address. `perhaps`: another thread has the list just now.
enum class FoundRange : std::uint8_t { no, yes, perhaps };

class RangeList {
   public:
    // The process's: never deleted, since memory may be let go at any time.
    static RangeList& get() {
        static auto* const list = new RangeList;
        return *list;
    }

    void add(MappedRange const& range) {
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        // Where a parent had memory at the same address, this one takes its place.
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
    [[nodiscard]] bool hold(std::uint64_t begin) {
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        auto const found = ranges_.find(begin);
        if (found == ranges_.end() || found->second.is_gone()) return false;
        ++found->second.holds;
        return true;
    }
    void end_hold(std::uint64_t begin) {
        Memory last;  // goes without the lock: its range is removed from here
        std::lock_guard const lock(ForkMutex<RangeList>::get());
        Entry& entry = ranges_.find(begin)->second;
        if (--entry.holds == 0) last = std::move(entry.freed);
    }
    // Waits for no other thread: see find_mapped().
    [[nodiscard]] FoundRange find(std::uint64_t address, std::uint64_t size, MappedRange& found) {
        std::unique_lock const lock(ForkMutex<RangeList>::get(), std::try_to_lock);
        if (!lock) return FoundRange::perhaps;
        return find_locked(address, size, found) ? FoundRange::yes : FoundRange::no;
    }

   private:
    struct Entry {
        MappedRange range{};
        unsigned holds = 0;
        Memory freed{};  // by its user, and held
        ProcessMark mark{};

        // Freed, or the parent's and not mapped here.
        [[nodiscard]] bool is_gone() const { return freed.size() != 0 || mark.inherited(); }
    };

    [[nodiscard]] bool find_locked(std::uint64_t address, std::uint64_t size, MappedRange& found) {
        auto const behind = ranges_.upper_bound(address);
        auto at = behind == ranges_.begin() ? behind : std::prev(behind);
        if (at == behind || address - at->first >= at->second.range.size) at = behind;
        if (at == ranges_.end()) return false;
        bool const begins_behind = at->first > address;
        bool const in_same_page = at->first / gpu_page == address / gpu_page;
        if (begins_behind && (!in_same_page || at->first - address >= size)) return false;
        Entry const& entry = at->second;
        if (entry.freed.size() != 0) return false;
        found = entry.range;
        if (entry.mark.inherited()) found.host = nullptr;
        return true;
    }

    std::map<std::uint64_t, Entry> ranges_;  // by where they begin
};

bool hold(std::uint64_t device, bool on) {
    if (on) return RangeList::get().hold(device);
    RangeList::get().end_hold(device);
    return true;
}

using Find = FoundRange(std::uint64_t address, std::uint64_t size, MappedRange& found);

// A copy of the library tells the others where its function is by an ELF note: that needs no symbol
// that others see, which libraries made of the static one do not have.
constexpr std::string_view note_name = "Carillon";
constexpr std::uint32_t note_of_ranges = 3;  // another for each layout of MappedRange

std::size_t padded(std::size_t size, std::size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

// The function that the note tells, or nullptr for another note.
Find* told_by(ElfW(Nhdr) const& note, char const* name, char const* description) {
    if (note.n_type != note_of_ranges || note.n_namesz != note_name.size() + 1 ||
        note.n_descsz != sizeof(std::int64_t) ||
        std::memcmp(name, note_name.data(), note_name.size()) != 0) {
        return nullptr;
    }
    std::int64_t distance = 0;
    std::memcpy(&distance, description, sizeof(distance));
    return reinterpret_cast<Find*>(reinterpret_cast<std::intptr_t>(description) + distance);
}

struct Search {
    std::uint64_t address;
    std::uint64_t size;
    MappedRange found;
    bool perhaps = false;
};

// Where a parent had memory another copy may have this process's own.
bool ends_search(FoundRange found, Search& search) {
    search.perhaps = found == FoundRange::perhaps;
    return search.perhaps || (found == FoundRange::yes && search.found.host != nullptr);
}

bool find_by_notes(char const* notes, std::size_t size, std::size_t alignment, Search& search) {
    ElfW(Nhdr) note;
    for (std::size_t at = 0; size - at >= sizeof(note);) {
        std::memcpy(&note, notes + at, sizeof(note));
        char const* const name = notes + at + sizeof(note);
        std::size_t const to_description = padded(sizeof(note) + note.n_namesz, alignment);
        Find* const find = told_by(note, name, notes + at + to_description);
        if (find != nullptr &&
            ends_search(find(search.address, search.size, search.found), search)) {
            return true;
        }
        at += padded(to_description + note.n_descsz, alignment);
        if (at > size) return false;
    }
    return false;
}

// Of one object, a program or a library, that is loaded.
int find_in_object(dl_phdr_info* object, std::size_t /*size*/, void* context) {
    auto& search = *static_cast<Search*>(context);
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        auto const& part = object->dlpi_phdr[i];
        if (part.p_type != PT_NOTE) continue;
        auto const* const notes = reinterpret_cast<char const*>(object->dlpi_addr + part.p_vaddr);
        if (find_by_notes(notes, part.p_memsz, part.p_align == 8 ? 8 : 4, search)) return 1;
    }
    return 0;
}

}  // namespace

ListedRange::ListedRange(void* device, void* host, std::size_t size, bool write_combining)
    : begin_(reinterpret_cast<std::uint64_t>(device)) {
    RangeList::get().add({begin_, size, static_cast<std::byte*>(host), write_combining, &hold});
}

ListedRange::~ListedRange() { RangeList::get().remove(begin_); }

bool ListedRange::take_over_if_held(Memory& memory) const noexcept {
    return RangeList::get().take_over_if_held(begin_, memory);
}

// A fork waits for the search, since a child would find the dynamic linker locked for ever. It may
// have a list already: the search waits for none meanwhile, and begins anew.
std::optional<MappedRange> find_mapped(std::uint64_t device_address, std::uint64_t size) {
    for (;; std::this_thread::yield()) {
        Search search{device_address, size, {}};
        {
            std::lock_guard const lock(ForkMutex<Search>::get());
            (void)::dl_iterate_phdr(find_in_object, &search);
        }
        if (search.perhaps) continue;
        if (search.found.size == 0) return std::nullopt;
        return search.found;
    }
}

}  // namespace carillon::detail

// What the note tells. The two lengths are of the name with its zero, and of the description.
extern "C" [[gnu::used, gnu::visibility("hidden")]] carillon::detail::FoundRange
carillon_find_in_this_copy(std::uint64_t address, std::uint64_t size,
                           carillon::detail::MappedRange& found) {
    return carillon::detail::RangeList::get().find(address, size, found);
}
asm(".pushsection .note.carillon, \"a\", @note\n"
    ".balign 4\n"
    ".long 9, 8, 3\n"
    ".asciz \"Carillon\"\n"
    ".balign 4\n"
    "0: .quad carillon_find_in_this_copy - 0b\n"
    ".popsection\n");
