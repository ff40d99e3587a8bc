// SPDX-License-Identifier: Apache-2.0
// HostCached and HostMapped: the CPU's policies for its own memory and for the other side's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/x86.hpp"

namespace carillon::detail {

// Makes writes to non-coherent mapped memory reach it, and reads see it. Memory implements it; a
// policy has a pointer to one, or nullptr if the memory is coherent. Ranges are widened to whole
// atoms (VkPhysicalDeviceLimits::nonCoherentAtomSize).
class RangeSync {
   public:
    virtual void flush(void const* where, std::size_t size) const = 0;
    virtual void invalidate(void const* where, std::size_t size) const = 0;

   protected:
    ~RangeSync() = default;
};

// The CPU on its own, cached memory, where replies and credits arrive. Claims are made among CPU
// threads, with the machine's own instructions, like the states told beside them.
template <CpuLoads Cpu>
class BasicHostCached : public Cpu {
   public:
    explicit BasicHostCached(RangeSync const* sync = nullptr, Cpu cpu = {})
        : Cpu(cpu), sync_(sync) {}

    // H5, pairs with D2: the loads are acquires, so data that a line names are loaded after its
    // tags.
    // N1, pairs with D2: on non-coherent memory an invalidate precedes every look; otherwise the
    // CPU would see old content for ever.
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(Line));
        Line line{};
        detail::each_quad(quads,
                          [&](std::size_t i) { line.quads[i] = Cpu::load_quad(&from->quads[i]); });
        return line;
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        return load_line(from, quads);
    }

    // H5 and N1, for a word.
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        if (sync_ != nullptr) sync_->invalidate(from, sizeof(*from));
        return Cpu::load_word(from);
    }

   private:
    RangeSync const* sync_;
};

using HostCached = BasicHostCached<X86>;
template <>
inline constexpr std::uint32_t looks_within_a_trip<HostCached> = 1024;

// How the CPU stores into mapped memory: the instruction for one line, and whether the quads' tags
// are stored with it or after it.
struct HostStores {
    StoreKind kind = StoreKind::cached;
    PublishMode mode = PublishMode::one_step;
    // For many lines in a row, if another instruction is faster than `kind`.
    std::optional<StoreKind> bulk = std::nullopt;

    // The kind for many lines in a row.
    [[nodiscard]] StoreKind bulk_kind() const { return bulk.value_or(kind); }
};

// The widest store into write-combining memory that this CPU has, and the mode that it needs.
[[nodiscard]] HostStores best_mapped_stores();

// The CPU on mapped memory, usually write-combining, for commands and credits to the GPU. It writes
// and never reads. Device::access() makes one for a device's memory.
template <CpuMappedStores Cpu>
class BasicHostMapped {
   public:
    // `read_back` is a word of the same device's memory, for a device that may reorder the CPU's
    // writes (DeviceInfo::data_order); nullptr for a device that does not.
    explicit BasicHostMapped(HostStores stores = best_mapped_stores(),
                             RangeSync const* sync = nullptr,
                             std::uint64_t const* read_back = nullptr, Cpu cpu = {})
        : stores_(stores), sync_(sync), read_back_(read_back), cpu_(cpu) {}

    // Stores the whole line, however many quads are wanted, because a line is one write on the bus.
    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t /*quads*/ = quads_per_line) const {
        if (stores_.mode == PublishMode::two_step) {
            // H1, pairs with C1: the payload leaves before any of its tags; without the fence an
            // evicted half of the buffer could carry a new tag ahead of its payload.
            cpu_.store_line(stores_.kind, to, with_tag(line, previous));
            commit(to, sizeof(Line));
            read_back();
        }
        cpu_.store_line(stores_.kind, to, line);
    }

    template <std::size_t count>
    void store_lines(Line* to, Lines<count> const& lines, std::size_t /*quads*/,
                     Tag previous) const {
        if (stores_.mode == PublishMode::two_step) {  // H1, once for all lines
            for (std::size_t i = 0; i < count; ++i) {
                cpu_.store_line(stores_.kind, to + i, with_tag(lines.line[i], previous));
            }
            commit(to, count * sizeof(Line));
            read_back();
        }
        for (std::size_t i = 0; i < count; ++i)
            cpu_.store_line(stores_.kind, to + i, lines.line[i]);
    }

    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        if (stores_.mode == PublishMode::two_step) {  // H1, once for all lines
            store_all(to, payloads, count, previous);
            commit(to, count * sizeof(Line));
            read_back();
        }
        store_all(to, payloads, count, first);
    }

    void store_word(std::uint64_t* to, std::uint64_t value) const { cpu_.store_word(to, value); }

    // H2, for P2 and similar sites: the store fence drains the write-combining buffers; otherwise a
    // line may linger for ever.
    // N2, pairs with D1: on non-coherent memory a flush follows every publish; otherwise the device
    // may never see it.
    void commit(void const* where, std::size_t size) const {
        if (stores_.kind != StoreKind::cached) cpu_.store_fence();
        if (sync_ != nullptr) sync_->flush(where, size);
    }

    // H3, pairs with D1: orders earlier writes of this thread, to any memory, before its next line;
    // otherwise the device could read old data that a new line names.
    void release() const {
        cpu_.store_fence();
        read_back();
    }

    // Prefetches the code of a store to `where` and, if the CPU looks it up, the translation of the
    // address. It reads nothing across the bus and writes nothing.
    void warm(void const* where) const {
        cpu::prefetch(where);
        if constexpr (requires { cpu_.prefetch_stores(stores_.kind); }) {
            cpu_.prefetch_stores(stores_.kind);
        }
    }

    [[nodiscard]] HostStores stores() const { return stores_; }

   private:
    void store_all(Line* to, void const* payloads, std::size_t count, Tag first) const {
        if constexpr (CpuBulkStores<Cpu>) {
            cpu_.store_payloads(stores_.bulk_kind(), to, payloads, count, first);
        } else {
            auto const* payload = static_cast<unsigned char const*>(payloads);
            for (std::size_t i = 0; i < count; ++i) {
                cpu_.store_line(
                    stores_.kind, to + i,
                    pack_payload(payload + i * payload_bytes, first + static_cast<Tag>(i)));
            }
        }
    }

    // Part of H1 and H3: stores that left this CPU have arrived before its next store leaves.
    void read_back() const {
        if (read_back_ != nullptr) cpu_.read_back(read_back_);
    }

    HostStores stores_;
    RangeSync const* sync_;
    std::uint64_t const* read_back_;
    [[no_unique_address]] Cpu cpu_;
};

using HostMapped = BasicHostMapped<X86>;

}  // namespace carillon::detail
