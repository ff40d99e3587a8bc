// SPDX-License-Identifier: Apache-2.0
// Calls that can be made to fail, once: the n-th of a kind that the program makes. Operator new and
// pthread_create are this program's own, the library's system calls come here by the linker's
// --wrap, and the drivers' entry points are stand-ins (cuda_stand_in.cpp, vulkan_stand_in.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon::test {

enum class FaultKind : std::uint8_t { allocation, thread, system, vulkan, cuda };
inline constexpr std::array<std::string_view, 5> fault_kinds{"allocation", "thread", "system",
                                                             "vulkan", "cuda"};

// The `nth` call of the kind from now on fails. A stand-in fails it for want of memory, or in
// another way.
struct Fault {
    FaultKind kind;
    unsigned nth;
    bool for_want_of_memory = true;
};

void arm(Fault const& fault) noexcept;
// The name of the call that failed; nullptr if none did.
char const* disarm() noexcept;

// Every call that can fail asks this first: whether it shall fail.
[[nodiscard]] bool is_due(FaultKind kind, char const* call) noexcept;
// How a stand-in's call fails that is due.
[[nodiscard]] bool fails_for_want_of_memory() noexcept;

// Marks the calls that a stand-in makes itself: they are not the library's, and do not fail.
class InStandIn {
   public:
    InStandIn() noexcept;
    ~InStandIn();
    InStandIn(InStandIn const&) = delete;
    InStandIn& operator=(InStandIn const&) = delete;
};

// Pieces from operator new that have not been deleted.
[[nodiscard]] long live_allocations() noexcept;

// A function that counts the resources that this thread holds of a stand-in.
using HeldElsewhere = long (*)();
void also_held(HeldElsewhere held) noexcept;
[[nodiscard]] long held_by_stand_ins() noexcept;

// Makes this program stand in for `library`: `find` finds its functions.
using FindSymbol = void* (*)(char const* name);
void stand_in_for(char const* library, FindSymbol find) noexcept;

}  // namespace carillon::test
