// SPDX-License-Identifier: Apache-2.0
// HostMapped: the CPU on memory of the other side that is mapped into it, write-combining as a
// rule: commands and credits towards the GPU. It writes and never reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carillon/access/range_sync.hpp"
#include "carillon/core/line.hpp"

namespace carillon {

// The instruction that stores a line.
enum class StoreKind : std::uint8_t {
    cached,     // two 8-byte atomics a quad: cached memory, that is the emulated device
    sse2,       // four 16-byte streaming stores
    avx2,       // two 32-byte streaming stores
    avx512,     // one 64-byte streaming store
    movdir64b,  // one 64-byte direct store, which the CPU documents as a single write
};

// one_step stores payload and tags together. two_step stores the payload under the slot's previous
// tags, fences, and stores the tags: for CPUs whose write-combining buffers may be evicted in
// 8-byte pieces half way through a line, that is all that lack MOVDIR64B.
enum class PublishMode : std::uint8_t { one_step, two_step };

[[nodiscard]] std::string_view to_string(StoreKind kind);
[[nodiscard]] std::string_view to_string(PublishMode mode);

// Whether this CPU has the instruction.
[[nodiscard]] bool supported(StoreKind kind);

struct HostStores {
    StoreKind kind = StoreKind::cached;
    PublishMode mode = PublishMode::one_step;
};

// The widest store into write-combining memory that this CPU has, and the mode that it needs.
[[nodiscard]] HostStores best_mapped_stores();

class HostMapped {
   public:
    explicit HostMapped(HostStores stores = best_mapped_stores(), RangeSync const* sync = nullptr)
        : stores_(stores), sync_(sync) {}

    void store_line(Line* to, Line const& line, Tag previous) const;
    void store_word(std::uint64_t* to, std::uint64_t value) const;
    // A store fence drains the write-combining buffers: without it a line may linger.
    void commit(void const* where, std::size_t size) const;
    // Orders earlier writes of this thread, to whatever memory, before its next line.
    void release() const;

    [[nodiscard]] HostStores stores() const { return stores_; }

   private:
    HostStores stores_;
    RangeSync const* sync_;
};

// Drains this CPU's write-combining buffers, so that what was written leaves for the device now.
void drain_write_combining();

}  // namespace carillon
