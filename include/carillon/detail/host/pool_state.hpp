// SPDX-License-Identifier: Apache-2.0
// The state that a pool's kernel shares with its clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/mpmc_ring.hpp"

namespace carillon::detail {

// The request that a client is sending, for recovery after its thread's death. All accesses are
// relaxed: the thread's robust mutex orders its writes before the thread that finds it dead.
struct alignas(64) ClientRecord {
    // 1 plus the slot whose request it sends; 0: none.
    std::atomic<std::uint32_t> sends_at = 0;
    std::atomic<Sequence> claimed_before = 0;  // ProducerRecord::end before the push
};

// The common state of a kernel and its pool's clients. Each client has its own reply slots, so that
// they are known after its thread's death.
class PoolState {
   public:
    // Throws UsageError for options that do not fit a handler of that many threads.
    PoolState(Device const& device, KernelOptions const& options, unsigned threads,
              MessageShape const& requests, MessageShape const& replies);
    PoolState& operator=(PoolState&&) = delete;

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    // Whether the lanes of a warp share a block's messages, see Pool::stripe.
    [[nodiscard]] bool warps() const { return warps_; }
    [[nodiscard]] std::shared_ptr<MpmcRingState> const& ring() const { return ring_; }
    [[nodiscard]] std::uint32_t capacity() const { return ring_->memory.host_view().capacity; }
    [[nodiscard]] HostWait const& wait() const { return wait_; }
    [[nodiscard]] ReplySlots host_reply_slots() const { return reply_slots_at(slots_.host_ptr()); }
    [[nodiscard]] ReplySlots device_reply_slots() const {
        return reply_slots_at(slots_.device_ptr());
    }
    // The slots of each client: the most outstanding replies that it may have.
    [[nodiscard]] std::uint32_t replies() const { return replies_; }
    [[nodiscard]] std::uint32_t first_slot(unsigned client) const { return client * replies_; }
    [[nodiscard]] ClientRecord& record(unsigned client) { return records_[client]; }

    // Whether every sent request has its reply; from any thread.
    [[nodiscard]] bool all_answered() const;
    // Gives up all requests of clients whose threads have died. Takes a lock.
    void recover() { (void)ring_->recover(); }

    [[nodiscard]] KernelSupervisor& kernel() const { return *kernel_; }
    void own(std::shared_ptr<KernelSupervisor> kernel) { kernel_ = std::move(kernel); }

   private:
    [[nodiscard]] ReplySlots reply_slots_at(void* begin) const;
    void reclaim(unsigned client);
    // Whether the request that a dead client was sending was sent.
    [[nodiscard]] bool was_sent(unsigned client) const;

    std::uint32_t replies_;
    std::uint32_t count_;
    bool warps_;
    MessageShape shape_;  // of a reply
    std::shared_ptr<ChannelMemory> blocks_;
    Memory slots_;  // in host memory: the device writes lines, clients claim
    std::vector<ClientRecord> records_;
    std::shared_ptr<MpmcRingState> ring_;
    HostWait wait_;
    std::shared_ptr<KernelSupervisor> kernel_;  // destroyed first: the memory outlives it
};

}  // namespace carillon::detail
