// SPDX-License-Identifier: Apache-2.0
// What an owner lends to clients of other processes: the blocks of a kernel, places at all of its
// blocks, or the host's end of an object. Each client works in memory that no other client has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/serving/lendable.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/memory.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

struct KindRow;

// The first number for the next client of memory whose last one began with `first` and counts
// `used` messages, or whatever it has written there. Lines that the last client stores late have
// numbers up to a capacity around its last: the next client's are 2^21 beyond, at least, so that
// such a line is taken for none of the next 2^32 - 2^21 messages.
[[nodiscard]] Sequence first_of_next(Sequence first, std::uint64_t used);

// The memory of one client at a time.
struct LentMemory {
    ChannelSharing sharing;
    ChannelShape shape;
    bool in_pairs;  // see ChannelTable
    Memory device;
    Memory host;                                       // an object may have none
    std::optional<std::uint32_t> user = std::nullopt;  // whose clients have had it
    bool used = false;                                 // a block or an end may look into it
    Sequence first = 1;
    std::uint64_t count = 0;  // messages of its last client, if that was an object's

    [[nodiscard]] ChannelTable host_view() const;
    [[nodiscard]] ChannelTable device_view() const;
};

// Lends places, each to one client at a time.
class Lender final : public Lendable {
   public:
    // Lends a kernel's blocks, or places at all of its blocks together, as many as the options say.
    // Throws UsageError for the options, and what Device::allocate throws.
    Lender(Device const& device, KernelOptions const& options, ChannelShape const& shape,
           MessageTypes types, ServedBy served_by = ServedBy::one_block);
    // Lends an object. `readers`: how many ends the device has; each has to leave a client's
    // memory.
    Lender(Device const& device, ObjectKind kind, ObjectShape const& shape, MessageType const& type,
           unsigned readers, Sequence first);

    [[nodiscard]] ObjectShape object_shape() const {
        return {shape_.capacity, shape_.request_lines, chunk_bytes_};
    }
    [[nodiscard]] unsigned places() const override { return static_cast<unsigned>(places_.size()); }
    [[nodiscard]] std::size_t bytes_of_place() const override {
        return device_bytes_ + host_bytes_;
    }
    [[nodiscard]] unsigned descriptors_of_place() const override {
        return host_bytes_ == 0 ? 1 : 2;
    }
    // The best memory for a client's rings: the device's memory, if that has a descriptor.
    [[nodiscard]] static ChannelSharing sharing_for(Device const& device);

    // Lends a free place to a client of `user`. Memory that another user's client has had is never
    // lent, since it may still be mapped there. Each place has memory from the beginning on, and
    // more is allocated beside the kernel, for four users' clients per place, while this process
    // has few descriptors open. Further users get unused memory freed, the oldest first; on a GPU
    // none can be freed beside a kernel, and a part is kept for the owner's user and root. The last
    // client's user also gets a mailbox at which the device has not looked since. Nothing: no place
    // is free, the kernel takes no more requests, or there is no memory.
    struct Lent {
        unsigned place;
        std::shared_ptr<LentMemory const> memory;
    };
    [[nodiscard]] std::optional<Lent> begin(std::uint32_t user, ChannelSharing sharing);
    [[nodiscard]] std::optional<Loan> lend(std::uint32_t user, bool host_memory) override;
    // The place is lent anew once all that serve it have left the memory.
    void end(unsigned place) override;
    [[nodiscard]] bool any_ends() const override {
        return count_if([](Place const& place) { return !place.free() && !place.leased(); }) != 0;
    }
    [[nodiscard]] bool any_free() const { return count_if(&Place::free) != 0; }
    [[nodiscard]] std::size_t memories() const {  // how many there are
        std::lock_guard const lock(mutex_);
        return memories_.size();
    }
    [[nodiscard]] unsigned count() const override {
        return places() - static_cast<unsigned>(count_if(&Place::free));
    }
    // An object's counts are what was pushed, and what its consumer says to have taken, which it
    // does in batches; a mailbox's are how often it was set. Looks at a few lines and words of
    // either memory; the ends notice nothing.
    [[nodiscard]] LeasedCounters counters(unsigned place) const override;
    [[nodiscard]] KernelState state(bool ask_device) const override;
    [[nodiscard]] BlockActivity activity(unsigned place) const override;
    [[nodiscard]] std::string why_full() const override;
    [[nodiscard]] std::string why_closed(KernelState state) const override;

    // The next members are for a kernel alone.
    // The channel of each block, of which it uses the control and status lines.
    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    [[nodiscard]] LeaseTable device_view() const;
    // The kernel that serves, once it runs.
    void own(std::shared_ptr<KernelSupervisor> kernel) { kernel_ = std::move(kernel); }
    [[nodiscard]] std::shared_ptr<KernelSupervisor> const& kernel() const { return kernel_; }
    void drained(unsigned place) override {
        std::lock_guard const lock(mutex_);
        places_.at(place).drained = true;
    }
    // That is a request which its client has sent and which is not answered, or the last one of a
    // client that has gone.
    [[nodiscard]] bool outstanding(unsigned place) const override {
        std::lock_guard const lock(mutex_);
        return outstanding(places_.at(place));
    }
    [[nodiscard]] bool outstanding_at(unsigned block) const {
        if (!together()) return outstanding(block);
        return count_if([&](Place const& place) { return this->outstanding(place); }) != 0;
    }
    // Whether no client awaits a reply, as far as is known: none has a place, or those that do have
    // said so.
    [[nodiscard]] bool all_drained() const {
        return count_if([](Place const& place) { return place.drained || place.free(); }) ==
               places_.size();
    }
    [[nodiscard]] BlockBeats beats(unsigned place) const override;
    [[nodiscard]] char const* look_at_counters(unsigned place) override;

    // The next members are for an object alone.
    // A table for the device's end `reader`. Throws UsageError for an end that does not exist, and
    // for one that was taken. `giver`: see TakenOnce::take().
    [[nodiscard]] LeaseTable take(std::string_view giver, unsigned reader,
                                  CodeLocation const& where);
    // The owner itself has set the mailbox, in memory of its own.
    void tell_own_set() {
        std::lock_guard const lock(mutex_);
        for (Writer& writer : places_.front().writers) writer.tell_own_set();
    }

   private:
    // How many parts of each kind there are.
    struct Parts {
        unsigned places = 1;
        unsigned ends = 1;     // of an object on the device; each has a line of a place
        unsigned blocks = 0;   // of a kernel
        unsigned servers = 1;  // blocks that serve a place together
        ServedBy served_by = ServedBy::one_block;

        [[nodiscard]] unsigned lines() const { return places * ends; }
        // Checks the options before memory is touched. Throws UsageError.
        [[nodiscard]] static Parts of(KernelOptions const& options, ServedBy served_by);
    };
    Lender(Device const& device, ObjectKind kind, ChannelShape const& shape,
           std::uint32_t chunk_bytes, MessageTypes types, Parts parts, Sequence first);

    using Writer = LeaseWriter<HostCached, HostMapped>;
    struct Place {
        std::vector<Writer> writers;
        std::shared_ptr<LentMemory> memory{};  // that a block or an end may look into
        bool drained = false;
        ChannelCounters gone{};
        CounterWatch watch{};

        [[nodiscard]] bool leased() const { return writers.front().leased(); }
        [[nodiscard]] bool over() const { return std::ranges::all_of(writers, &Writer::over); }
        [[nodiscard]] bool free() const { return memory == nullptr || over(); }
    };

    template <class Which>
    [[nodiscard]] std::size_t count_if(Which const& which) const {
        std::lock_guard const lock(mutex_);
        return static_cast<std::size_t>(std::ranges::count_if(places_, which));
    }
    [[nodiscard]] LeaseTable view(void* lines, void* status, void* claims) const;
    [[nodiscard]] bool is_kernel() const { return blocks_ != nullptr; }
    // Whether all blocks serve each place.
    [[nodiscard]] bool together() const { return parts_.served_by == ServedBy::any_block; }
    // Calls `body` with each block that serves the place.
    template <class Body>
    void for_each_server(unsigned place, Body const& body) const;

    // All of these need the lock.
    void end(Place& place);
    // Takes back the memory of places that all have left.
    void collect();
    // Lends a place again with its last client's memory, to a client of the same user, while an end
    // of the device has not left it. False: it cannot.
    [[nodiscard]] bool begin_again(Place& place, std::uint32_t user, ChannelSharing sharing);
    // Memory that is not used; nullptr: no more may be made.
    [[nodiscard]] std::shared_ptr<LentMemory> memory_for(std::uint32_t user,
                                                         ChannelSharing sharing);
    std::shared_ptr<LentMemory> const& add_memory(ChannelSharing sharing);
    // Frees the unused memory that was lent longest ago. False: there is none, or it cannot be
    // freed now.
    bool free_oldest() noexcept;
    // Empties the memory, and gives it new numbers.
    void lay_out(LentMemory& memory);
    [[nodiscard]] ChannelCounters count(LentMemory const& memory) const;
    // The number of the newest value in the memory of a mailbox.
    [[nodiscard]] Sequence newest_value(LentMemory const& memory) const;
    [[nodiscard]] bool outstanding(Place const& place) const;

    KindRow const& row_;
    ChannelShape shape_;
    std::uint32_t chunk_bytes_;
    Parts parts_;
    Sequence first_;
    std::size_t device_bytes_;
    std::size_t host_bytes_;
    std::shared_ptr<ChannelMemory> blocks_;
    Memory lines_;  // and behind them the news of them
    Memory status_;
    std::optional<Memory> claims_;
    mutable std::mutex mutex_;                           // for all that follows
    std::vector<std::shared_ptr<LentMemory>> memories_;  // the one that was lent last is the last
    std::vector<Place> places_;
    std::vector<TakenOnce> taken_;
    std::optional<LeaseNewsWriter<HostMapped>> news_;
    std::shared_ptr<KernelSupervisor> kernel_;
};

}  // namespace carillon::detail
