// SPDX-License-Identifier: Apache-2.0
// The memory that the threads of an emulated block share (block.hpp).
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "carillon/block.hpp"

namespace carillon::block::detail {
namespace {

struct FreeAligned {
    std::align_val_t alignment;
    void operator()(void* memory) const { ::operator delete(memory, alignment); }
};
struct SharedPlace {
    void const* name;
    std::unique_ptr<void, FreeAligned> memory;
};

// A thread is one block, and ends with it.
thread_local std::vector<SharedPlace> places;

constexpr int arbitrary = 0xa5;  // a program that reads before it writes must not find zeros

}  // namespace

void* shared_memory(void const* name, std::size_t bytes, std::size_t alignment) {
    auto const found = std::ranges::find(places, name, &SharedPlace::name);
    if (found != places.end()) return found->memory.get();
    std::align_val_t const aligned{alignment};
    std::unique_ptr<void, FreeAligned> memory(::operator new(bytes, aligned), {aligned});
    std::memset(memory.get(), arbitrary, bytes);
    places.push_back({name, std::move(memory)});
    return places.back().memory.get();
}

}  // namespace carillon::block::detail
