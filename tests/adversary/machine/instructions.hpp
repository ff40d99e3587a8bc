// SPDX-License-Identifier: Apache-2.0
// The adversary's machine as the instructions that the access policies are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "adversary/machine/machine.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"

namespace carillon::test {
using namespace detail;

namespace detail {

inline Quad load_quad(Machine& machine, Side side, Quad const* from, Machine::LoadOrder order) {
    std::array<std::uint64_t, 2> words;
    machine.load(side, from, words, order);
    return {words[0], words[1]};
}

inline std::uint64_t load_word(Machine& machine, Side side, std::uint64_t const* from,
                               Machine::LoadOrder order) {
    std::array<std::uint64_t, 1> word;
    machine.load(side, from, word, order);
    return word[0];
}

inline std::uint64_t fetch_add(Machine& machine, Side side, std::uint64_t* to,
                               std::uint64_t addend) {
    return machine.exchange(side, to, [&](std::uint64_t before) { return before + addend; });
}

inline std::uint64_t compare_exchange(Machine& machine, Side side, std::uint64_t* to,
                                      std::uint64_t expected, std::uint64_t desired) {
    return machine.exchange(
        side, to, [&](std::uint64_t before) { return before == expected ? desired : before; });
}

}  // namespace detail

class AdversaryCpu {
   public:
    explicit AdversaryCpu(Machine& machine) : machine_(&machine) {}

    void store_line(StoreKind kind, Line* to, Line const& line) const {
        if (kind == StoreKind::movdir64b) return machine_->store_direct(to, line);
        auto const words = __builtin_bit_cast(std::array<std::uint64_t, cells_per_line>, line);
        std::size_t const width = traits_of(kind).width / sizeof(std::uint64_t);
        for (std::size_t i = 0; i != cells_per_line; i += width) {
            machine_->store(Side::host, reinterpret_cast<std::uint64_t*>(to) + i,
                            std::span(words).subspan(i, width));
        }
    }
    void store_word(std::uint64_t* to, std::uint64_t value) const {
        machine_->store(Side::host, to, {&value, 1});
    }
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        return detail::load_word(*machine_, Side::host, from, Machine::LoadOrder::acquire);
    }
    [[nodiscard]] Quad load_quad(Quad const* from) const {
        return detail::load_quad(*machine_, Side::host, from, Machine::LoadOrder::acquire);
    }
    void store_payloads(StoreKind kind, Line* to, void const* payloads, std::size_t count,
                        Tag first) const {
        auto const* payload = static_cast<std::byte const*>(payloads);
        for (std::size_t i = 0; i != count; ++i, payload += payload_bytes) {
            store_line(kind, to + i, pack_payload(payload, first + static_cast<Tag>(i)));
        }
    }
    [[nodiscard]] std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend) const {
        return detail::fetch_add(*machine_, Side::host, to, addend);
    }
    [[nodiscard]] std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                 std::uint64_t desired) const {
        return detail::compare_exchange(*machine_, Side::host, to, expected, desired);
    }
    void store_fence() const { machine_->fence(Side::host); }
    void read_back(std::uint64_t const* from) const { machine_->read_back(from); }

   private:
    Machine* machine_;
};

class AdversaryGpu {
   public:
    explicit AdversaryGpu(Machine& machine) : machine_(&machine) {}

    [[nodiscard]] Quad load_relaxed(Quad const* from) const {
        return detail::load_quad(*machine_, Side::device, from, Machine::LoadOrder::relaxed);
    }
    [[nodiscard]] Quad load_acquire(Quad const* from) const {
        return detail::load_quad(*machine_, Side::device, from, Machine::LoadOrder::acquire);
    }
    [[nodiscard]] std::uint64_t load_acquire(std::uint64_t const* from) const {
        return detail::load_word(*machine_, Side::device, from, Machine::LoadOrder::acquire);
    }
    [[nodiscard]] std::uint64_t fetch_add(std::uint64_t* to, std::uint64_t addend) const {
        return detail::fetch_add(*machine_, Side::device, to, addend);
    }
    [[nodiscard]] std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                 std::uint64_t desired) const {
        return detail::compare_exchange(*machine_, Side::device, to, expected, desired);
    }
    // Loads each word separately: the two doorbells may be of different times.
    [[nodiscard]] Quad load_pair(std::uint64_t const* from) const {
        return {detail::load_word(*machine_, Side::device, from, Machine::LoadOrder::relaxed),
                detail::load_word(*machine_, Side::device, from + 1, Machine::LoadOrder::relaxed)};
    }
    void store_relaxed(Quad* to, Quad const& quad) const {
        std::array const words{quad.low, quad.high};
        machine_->store(Side::device, to, words);
    }
    void store_relaxed(std::uint64_t* to, std::uint64_t word) const {
        machine_->store(Side::device, to, {&word, 1});
    }
    void fence_system() const { machine_->fence(Side::device); }

   protected:
    Machine* machine_;
};

// A GPU that has bulk copies, and whose compiler is told which loads to keep: its code looks at
// several messages at once.
class AdversaryBulkGpu : public AdversaryGpu {
   public:
    using AdversaryGpu::AdversaryGpu;

    template <std::size_t most>
    void store_bulk(Line* to, Line const* from, std::size_t count, std::size_t quads,
                    std::size_t last) const {
        for (std::size_t i = 0; i != count; ++i) stage(i, from[i], i + 1 < count ? quads : last);
        send(to, (count - 1) * quads_per_line + last);
    }
    template <std::size_t most>
    void stage_bulk(Line* /*to*/, std::uint32_t i, Line const& line, std::size_t quads) const {
        stage(i, line, quads);
    }
    template <std::size_t most>
    void store_staged(Line* to, std::size_t count, std::size_t quads) const {
        send(to, (count - 1) * quads_per_line + quads);
    }
    void settle_bulk() const { machine_->settle_bulk(); }
    static void keep_whole(Quad const* /*quads*/, std::size_t /*count*/) {}
    static void keep_in_memory(Line* /*lines*/) {}

   private:
    // Fills the rest of a staged line with random words: a GPU's shared memory is reused, and holds
    // remains of earlier messages there.
    void stage(std::size_t index, Line const& line, std::size_t quads) const {
        for (std::size_t i = 0; i != quads_per_line; ++i) {
            staged_.at(index).quads[i] =
                i < quads ? line.quads[i] : Quad{machine_->random().next(), ~std::uint64_t{0}};
        }
    }
    void send(Line* to, std::size_t quads) const {
        machine_->store_bulk(to, std::span(&staged_[0].quads[0], quads));
    }

    mutable std::array<Line, 32> staged_{};
};

static_assert(GpuBulkStores<AdversaryBulkGpu> && KeepAccess<BasicDeviceNear<AdversaryBulkGpu>>);
static_assert(CpuLoads<AdversaryCpu> && ClaimAccess<BasicHostCached<AdversaryCpu>> &&
              CpuMappedStores<AdversaryCpu>);
static_assert(CpuBulkStores<AdversaryCpu>);
static_assert(GpuLoads<AdversaryGpu> && GpuStores<AdversaryGpu> &&
              ClaimAccess<BasicDeviceNear<AdversaryGpu>>);

class AdversarySync final : public RangeSync {
   public:
    explicit AdversarySync(Machine& machine) : machine_(machine) {}
    void flush(void const* where, std::size_t size) const override { machine_.flush(where, size); }
    void invalidate(void const* where, std::size_t size) const override {
        machine_.invalidate(where, size);
    }

   private:
    Machine& machine_;
};

}  // namespace carillon::test
