// SPDX-License-Identifier: Apache-2.0
// Every copy of Carillon is asked by its ELF note (carillon/held_memory.hpp).
#include "held.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <thread>

#include "carillon/compat/gdrapi.h"

namespace carillon::compat {
namespace {

struct Search {
    std::uint64_t address;
    std::uint64_t size;
    HeldMemory found{};
    bool inherited = false;
    HoldResult result = HoldResult::none;

    // Asks one copy. If a parent had the memory, another copy may have this process's own.
    [[nodiscard]] bool ends_with(HoldMemory& copy) {
        result = copy(address, size, found);
        inherited |= result == HoldResult::inherited;
        return result == HoldResult::held || result == HoldResult::busy;
    }
};

std::size_t padded(std::size_t size, std::size_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

// The function that the note tells, or nullptr for another note.
HoldMemory* told_by(ElfW(Nhdr) const& note, char const* name, char const* description) {
    if (note.n_type != CopyNote::type || note.n_namesz != CopyNote::name.size() + 1 ||
        note.n_descsz != sizeof(std::int64_t) ||
        std::memcmp(name, CopyNote::name.data(), note.n_namesz) != 0) {
        return nullptr;
    }
    std::int64_t distance = 0;
    std::memcpy(&distance, description, sizeof(distance));
    return reinterpret_cast<HoldMemory*>(reinterpret_cast<std::intptr_t>(description) + distance);
}

bool ends_by_notes(char const* notes, std::size_t size, std::size_t alignment, Search& search) {
    ElfW(Nhdr) note;
    for (std::size_t at = 0; size - at >= sizeof(note);) {
        std::memcpy(&note, notes + at, sizeof(note));
        char const* const name = notes + at + sizeof(note);
        std::size_t const to_description = padded(sizeof(note) + note.n_namesz, alignment);
        HoldMemory* const copy = told_by(note, name, notes + at + to_description);
        if (copy != nullptr && search.ends_with(*copy)) return true;
        at += padded(to_description + note.n_descsz, alignment);
        if (at > size) return false;
    }
    return false;
}

// Asks one loaded object, a program or a library. A result that is not 0 ends the search.
int ask_object(dl_phdr_info* object, std::size_t /*size*/, void* context) {
    auto& search = *static_cast<Search*>(context);
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        auto const& part = object->dlpi_phdr[i];
        if (part.p_type != PT_NOTE) continue;
        auto const* const notes = reinterpret_cast<char const*>(object->dlpi_addr + part.p_vaddr);
        if (ends_by_notes(notes, part.p_memsz, part.p_align == 8 ? 8 : 4, search)) return 1;
    }
    return 0;
}

}  // namespace

// A fork waits for the search, since a child would find the dynamic linker locked for ever. The
// fork may have a copy's list already: the search waits for none meanwhile, and begins anew.
std::optional<Held> hold(std::uint64_t address, std::uint64_t size, bool& inherited) {
    std::uint64_t const to_next_page = GPU_PAGE_SIZE - (address & GPU_PAGE_OFFSET);
    for (;; std::this_thread::yield()) {
        Search search{.address = address, .size = std::min(size, to_next_page)};
        {
            std::lock_guard const lock(process_lock);
            (void)::dl_iterate_phdr(ask_object, &search);
        }
        if (search.result == HoldResult::busy) continue;
        if (search.result == HoldResult::held) return Held(search.found);
        inherited = search.inherited;
        return std::nullopt;
    }
}

}  // namespace carillon::compat
