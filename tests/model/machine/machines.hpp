// SPDX-License-Identifier: Apache-2.0
// The machines that the protocol is checked on: for each, the CPU's and the device's instructions
// in terms of Relacy's atomics. They are as weak as docs/dev/guarantees.md allows, or weaker, with
// one exception: in Relacy no store goes ahead of an earlier load, so the models cannot test that a
// credit comes after the loads that it covers.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/machine/cpu_atomics.hpp"
#include "model/machine/model_memory.hpp"

namespace carillon::test {
using namespace detail;

// Copyable handles to a memory. Whole quads, as hardware has them: never torn.
class WholeQuads {
   public:
    explicit WholeQuads(ModelMemory& memory) : memory_(&memory) {}

    [[nodiscard]] Quad load(Quad const* from, rl::memory_order order) const {
        if (memory_->has(from)) memory_->loaded() = memory_->at(from).load(order, RL_INFO);
        return memory_->loaded();
    }
    void store(Quad* to, Quad const& quad, rl::memory_order order) const {
        if (memory_->has(to)) memory_->at(to).store(quad, order, RL_INFO);
    }
    // The content that the last store left in the quad.
    [[nodiscard]] Quad latest(Quad const* quad) const {
        return memory_->has(quad) ? memory_->at(quad).debug_value() : Quad{};
    }
    [[nodiscard]] Word load(Word const* from, rl::memory_order order) const {
        return memory_->at(from).load(order, RL_INFO);
    }
    void store(Word* to, Word word, rl::memory_order order) const {
        memory_->at(to).store(word, order, RL_INFO);
    }

   private:
    ModelMemory* memory_;
};

// Quads of two words, as on the emulated device: cpu::load_quad and cpu::store_quad define their
// order.
class QuadsOfWords {
   public:
    explicit QuadsOfWords(ModelMemory& memory) : memory_(&memory) {}

    [[nodiscard]] Quad load(Quad const* from, rl::memory_order /*order*/) const {
        if (memory_->has(from)) memory_->loaded() = detail::cpu::load_quad(from, *this);
        return memory_->loaded();
    }
    void store(Quad* to, Quad const& quad, rl::memory_order /*order*/) const {
        if (memory_->has(to)) detail::cpu::store_quad(to, quad, *this);
    }
    template <class Order>
    [[nodiscard]] Word load(Word const* from, Order order) const {
        return memory_->at(from).load(relacy(order), RL_INFO);
    }
    template <class Order>
    void store(Word* to, Word word, Order order) const {
        memory_->at(to).store(word, relacy(order), RL_INFO);
    }

   private:
    static rl::memory_order relacy(rl::memory_order order) { return order; }
    static rl::memory_order relacy(std::memory_order order) {
        switch (order) {
            case std::memory_order_relaxed:
                return rl::mo_relaxed;
            case std::memory_order_acquire:
                return rl::mo_acquire;
            case std::memory_order_release:
                return rl::mo_release;
            default:
                return rl::mo_seq_cst;
        }
    }

    ModelMemory* memory_;
};

// An x86 CPU. Its far stores are relaxed: write-combining memory keeps no order between stores.
template <class Access>
class RelacyCpu {
   public:
    explicit RelacyCpu(ModelMemory& memory) : access_(memory) {}

    void store_line(StoreKind /*kind*/, Line* to, Line const& line) const {
        for (std::size_t i = 0; i < quads_per_line; ++i) {
            access_.store(&to->quads[i], line.quads[i], rl::mo_relaxed);
        }
    }
    void store_word(Word* to, Word word) const { access_.store(to, word, rl::mo_relaxed); }
    [[nodiscard]] Quad load_quad(Quad const* from) const {
        return access_.load(from, rl::mo_acquire);
    }
    [[nodiscard]] Word load_word(Word const* from) const {
        return access_.load(from, rl::mo_acquire);
    }
    static void store_fence() { rl::atomic_thread_fence(rl::mo_release, RL_INFO); }
    static void read_back(Word const* /*from*/) {}

   protected:
    Access access_;
};

// The half of a quad that a write-combining buffer has sent when it is evicted half way.
enum class Evicted { low, high, either };

// A CPU without MOVDIR64B: every quad that it stores is seen in halves on the way.
template <Evicted evicted>
class TearingCpu : public RelacyCpu<WholeQuads> {
   public:
    using RelacyCpu::RelacyCpu;

    void store_line(StoreKind /*kind*/, Line* to, Line const& line) const {
        for (std::size_t i = 0; i < quads_per_line; ++i) {
            Quad half = access_.latest(&to->quads[i]);
            if (low_first()) {
                half.low = line.quads[i].low;
            } else {
                half.high = line.quads[i].high;
            }
            access_.store(&to->quads[i], half, rl::mo_relaxed);
            access_.store(&to->quads[i], line.quads[i], rl::mo_relaxed);
        }
    }

   private:
    static bool low_first() {
        return evicted == Evicted::either ? rl::rand(2) == 0 : evicted == Evicted::low;
    }
};

template <class Access>
class RelacyGpu {
   public:
    explicit RelacyGpu(ModelMemory& memory) : access_(memory) {}

    [[nodiscard]] Quad load_relaxed(Quad const* from) const {
        return access_.load(from, rl::mo_relaxed);
    }
    [[nodiscard]] Quad load_acquire(Quad const* from) const {
        return access_.load(from, rl::mo_acquire);
    }
    [[nodiscard]] Word load_acquire(Word const* from) const {
        return access_.load(from, rl::mo_acquire);
    }
    // Weaker than it is: two loads of one word each.
    [[nodiscard]] Quad load_pair(Word const* from) const {
        return {access_.load(from, rl::mo_relaxed), access_.load(from + 1, rl::mo_relaxed)};
    }
    void store_relaxed(Quad* to, Quad const& quad) const {
        access_.store(to, quad, rl::mo_relaxed);
    }
    void store_relaxed(Word* to, Word word) const { access_.store(to, word, rl::mo_relaxed); }
    static void fence_system() { rl::atomic_thread_fence(rl::mo_acq_rel, RL_INFO); }

   private:
    Access access_;
};

// Claims are mpmc_ring_model.hpp's.
static_assert(CpuLoads<RelacyCpu<WholeQuads>> && CpuMappedStores<TearingCpu<Evicted::either>>);
static_assert(!ClaimAccess<BasicHostCached<RelacyCpu<WholeQuads>>>);
static_assert(GpuLoads<RelacyGpu<QuadsOfWords>> && GpuStores<RelacyGpu<WholeQuads>>);

// A machine: its policies, the kind of a quad and how the CPU stores a line.
template <class Cpu, class Gpu, QuadIs quad_is_, Quads quads_, HostStores const& stores>
struct Machine {
    static constexpr QuadIs quad_is = quad_is_;
    static constexpr Quads quads = quads_;
    using HostNear = BasicHostCached<Cpu>;
    using HostFar = BasicHostMapped<Cpu>;
    using DeviceNear = BasicDeviceNear<Gpu>;
    using DeviceFar = BasicDeviceFar<Gpu>;

    template <class Policy>
    [[nodiscard]] static Policy make(ModelMemory& memory) {
        if constexpr (std::is_same_v<Policy, HostNear>) {
            return HostNear(nullptr, Cpu(memory));
        } else if constexpr (std::is_same_v<Policy, HostFar>) {
            return HostFar(stores, nullptr, nullptr, Cpu(memory));
        } else {
            return Policy(Gpu(memory));
        }
    }
};

inline constexpr HostStores one_step{StoreKind::movdir64b, PublishMode::one_step};
inline constexpr HostStores two_step{StoreKind::avx512, PublishMode::two_step};
inline constexpr HostStores cached{StoreKind::cached, PublishMode::one_step};

template <Quads quads, class Cpu = RelacyCpu<WholeQuads>, class Gpu = RelacyGpu<WholeQuads>>
using Hardware = Machine<Cpu, Gpu, QuadIs::one_access, quads, one_step>;
template <Quads quads, Evicted evicted>
using TwoStepHardware =
    Machine<TearingCpu<evicted>, RelacyGpu<WholeQuads>, QuadIs::one_access, quads, two_step>;
template <Quads quads, class Access = QuadsOfWords>
using Emulated = Machine<RelacyCpu<Access>, RelacyGpu<Access>, QuadIs::two_accesses, quads, cached>;

// The policies of the two ends, by the direction of lines or values.
template <class M>
struct ToDevice {
    using Machine = M;
    using SenderNear = typename M::HostNear;
    using SenderFar = typename M::HostFar;
    using ReceiverNear = typename M::DeviceNear;
    using ReceiverFar = typename M::DeviceFar;
};

template <class M>
struct ToHost {
    using Machine = M;
    using SenderNear = typename M::DeviceNear;
    using SenderFar = typename M::DeviceFar;
    using ReceiverNear = typename M::HostNear;
    using ReceiverFar = typename M::HostFar;
};

}  // namespace carillon::test
