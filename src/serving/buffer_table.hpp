// SPDX-License-Identifier: Apache-2.0
// The buffers of a store: who has which, by which name, in which memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "carillon/store.hpp"
#include "os/unix_socket.hpp"
#include "serving/buffer_access.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

// A process that asks.
struct BufferUser {
    HolderNumber number = own_process;
    pid_t process = 0;
    uid_t user = 0;
};

// A buffer, as its holder gets it.
struct HeldBuffer {
    BufferInfo info;
    std::shared_ptr<StoreMemory> memory;
};

// Any thread may call it. It reads nothing that clients can write.
class BufferTable {
   public:
    // Throws as Store's constructor.
    BufferTable(Device const& device, StoreOptions const& options);

    [[nodiscard]] Device const& device() const { return device_; }
    // Says, for people, why this process has descriptors for fewer buffers than its options say;
    // empty: it has enough.
    [[nodiscard]] std::string why_fewer_buffers() const;

    // All throw Refused, and create() what Device::allocate throws. The caller holds what it gets.
    [[nodiscard]] HeldBuffer create(BufferUser const& by, std::string const& name,
                                    std::size_t bytes, bool of_host);
    [[nodiscard]] HeldBuffer get(BufferUser const& by, BufferKey const& key);
    // Seals the buffer, and wakes all followers, `but` excepted.
    void seal(BufferUser const& by, std::uint64_t id, Wakeup const* but = nullptr);
    // Returns the number of its memory if that is spare now, and `by`'s; 0 otherwise.
    std::uint64_t remove(BufferUser const& by, BufferKey const& key);
    // Call it once for each time that `by` got the buffer. False: `by` does not hold it.
    bool release(HolderNumber by, std::uint64_t id) noexcept {
        std::lock_guard const lock(mutex_);
        auto const found = entries_.find(id);
        return found != entries_.end() && let_go(found, by, 1);
    }
    // Releases all that `who` holds.
    void leave(HolderNumber who) noexcept;
    // The memory of a buffer that `who` holds. Throws Refused.
    [[nodiscard]] std::shared_ptr<StoreMemory> memory_of(BufferUser const& who,
                                                         std::uint64_t id) const {
        std::lock_guard const lock(mutex_);
        auto const found = entries_.find(id);
        if (found != entries_.end() && found->second.holders.contains(who.number)) {
            return found->second.memory;
        }
        throw_refused(RefusalReason::unknown_object, "the connection holds no buffer number {}",
                      id);
    }
    // Whether `who` needs a descriptor of that memory; forget(): it has none any more.
    [[nodiscard]] bool tell(BufferUser const& who, StoreMemory& memory) {
        std::lock_guard const lock(mutex_);
        bool const first = memory.tell(who.number, who.user);
        return first || memory.of_host();
    }
    void forget(HolderNumber who, std::uint64_t memory) {
        std::lock_guard const lock(mutex_);
        for (auto& [id, entry] : entries_) {
            if (entry.memory->number() == memory) entry.memory->forget(who);
        }
        for (auto const& each : kept_) {
            if (each->number() == memory) each->forget(who);
        }
    }
    // The first buffer whose number is higher.
    [[nodiscard]] std::optional<BufferInfo> after(std::uint64_t id) const {
        std::lock_guard const lock(mutex_);
        for (auto each = entries_.upper_bound(id); each != entries_.end(); ++each) {
            if (!each->second.removed) return each->second.info;
        }
        return {};
    }

    [[nodiscard]] StoreStatus status() const {
        std::lock_guard const lock(mutex_);
        StoreStatus status{.bytes = taken().bytes, .most_bytes = options_.bytes};
        for (auto const& [id, entry] : entries_) {
            if (entry.removed) continue;
            ++status.buffers;
            if (entry.info.sealed) ++status.sealed;
        }
        return status;
    }

    // Wakes `wakeup` whenever a buffer is sealed, and when the store goes, until what is returned
    // has gone. The table has to stay so long.
    [[nodiscard]] std::shared_ptr<Wakeup const> follow(Wakeup const& wakeup) {
        std::shared_ptr<Wakeup const> follower(&wakeup, [this](Wakeup const* each) {
            std::lock_guard const lock(mutex_);
            std::erase(followers_, each);
        });
        std::lock_guard const lock(mutex_);
        followers_.push_back(&wakeup);
        return follower;
    }
    // The number of the next buffer that will be sealed.
    [[nodiscard]] std::uint64_t sealed_so_far() const {
        std::lock_guard const lock(mutex_);
        return sealed_end_;
    }
    // The sealed buffer of that number, or the first one after it that is still known, which says
    // how many it passed over; none if that is yet to come. `number` becomes the next one's.
    [[nodiscard]] std::optional<SealedBuffer> sealed(std::uint64_t& number) const;
    [[nodiscard]] Doorbell<Direction::to_device>::DeviceEnd doorbell() {
        std::lock_guard const lock(mutex_);
        if (!doorbell_) doorbell_ = std::make_unique<Doorbell<Direction::to_device>>(device_);
        return doorbell_->device_handle();
    }

    // The store has gone. It wakes the followers.
    void close() noexcept {
        std::lock_guard const lock(mutex_);
        closed_ = true;
        shrink_kept(0);
        for (Wakeup const* each : followers_) each->wake();
    }
    [[nodiscard]] bool closed() const { return closed_; }

   private:
    struct Entry {
        BufferInfo info;
        std::shared_ptr<StoreMemory> memory;
        HolderNumber maker;
        bool removed = false;
        std::map<HolderNumber, unsigned> holders{};
    };
    using Entries = std::map<std::uint64_t, Entry>;
    // The sums of one user's buffers, or of all.
    struct Taken {
        std::size_t bytes = 0;
        std::size_t buffers = 0;
        std::size_t descriptors = 0;  // of this process, for buffers in host memory

        static Taken by(StoreMemory const& memory) {
            return {memory.size(), 1, memory.of_host() ? 1U : 0U};
        }
        void add(Taken const& other, std::size_t times = 1) {
            bytes += times * other.bytes;
            buffers += times * other.buffers;
            descriptors += times * other.descriptors;
        }
        void remove(Taken const& other) { add(other, ~std::size_t{0}); }
    };

    // All of these need the mutex.
    [[nodiscard]] Entries::iterator find(BufferKey const& key);
    // The memory that all users have, or only users for whom nothing is reserved.
    [[nodiscard]] Taken taken(bool by_others = false) const;
    void require_room(BufferUser const& by, std::string const& name, std::size_t size,
                      bool of_host) const;
    // Checks the share that is left for users other than the store's and root.
    void require_share(BufferUser const& by, Taken const& own, std::size_t size,
                       bool of_host) const;
    [[nodiscard]] std::shared_ptr<StoreMemory> take_memory(BufferUser const& by, std::size_t size,
                                                           bool of_host);
    // Frees kept memory until `most` bytes are left.
    void shrink_kept(std::size_t most) noexcept {
        while (kept_bytes_ > most) {
            kept_bytes_ -= kept_.front()->size();
            kept_.pop_front();
        }
    }
    [[nodiscard]] static HeldBuffer hold(Entry& entry, HolderNumber by) {
        HeldBuffer lent{entry.info, entry.memory};
        ++entry.holders[by];
        lent.info.holders = ++entry.info.holders;
        return lent;
    }
    void take_from_all(Entry& entry) noexcept {
        entry.removed = true;
        names_.erase(entry.info.name);
    }
    void drop_unheld(Entries::iterator at) noexcept;
    // False: `who` did not hold it.
    bool let_go(Entries::iterator at, HolderNumber who, unsigned times) noexcept;
    void keep(std::shared_ptr<StoreMemory> const& memory) noexcept;

    Device device_;
    StoreOptions options_;
    bool all_of_host_;
    mutable std::mutex mutex_;
    Entries entries_;
    std::map<std::string, std::uint64_t> names_;
    std::map<uid_t, Taken> taken_by_;               // by user
    std::list<std::shared_ptr<StoreMemory>> kept_;  // the oldest first
    std::size_t kept_bytes_ = 0;
    std::uint64_t last_id_ = 0;
    std::uint64_t last_memory_ = 0;
    std::deque<SealedBuffer> sealed_;  // the last ones
    std::uint64_t sealed_end_ = 0;     // how many were sealed
    std::vector<Wakeup const*> followers_;
    std::unique_ptr<Doorbell<Direction::to_device>> doorbell_;
    std::atomic<bool> closed_ = false;
};

}  // namespace carillon::detail
