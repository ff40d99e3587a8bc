// SPDX-License-Identifier: Apache-2.0
// `Lender`: lends a kernel's blocks, places at all of its blocks, or an object's host end to
// clients of other processes. Each client works in memory that no other client has.
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

// Returns the first number for the next client of memory whose last client began with `first` and
// counts `used` messages, or whatever it has written there. Lines that the last client stores late
// have numbers up to a capacity around its last. The next client's are at least 2^21 beyond, so
// that such a line is taken for none of the next 2^32 - 2^21 messages.
[[nodiscard]] Sequence first_of_next(Sequence first, std::uint64_t used);

// Memory for one client at a time.
struct LentMemory {
    ChannelSharing sharing;
    ChannelShape shape;
    bool in_pairs;  // see ChannelTable
    Memory device;
    Memory host;                                       // an object may have none
    std::optional<std::uint32_t> user = std::nullopt;  // the user whose clients have had it
    bool used = false;                                 // a block or an end may look into it
    Sequence first = 1;
    std::uint64_t count = 0;  // messages of its last client, for an object

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
    // Lends an object. `readers`: the device's ends, which must all leave a client's memory.
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
    // The best memory for a client's rings: device memory, if that has a descriptor.
    [[nodiscard]] static ChannelSharing sharing_for(Device const& device);

    // Lends a free place to a client of `user`, or nothing if no place is free, the kernel accepts
    // no more requests, or there is no memory. Memory that another user's client has had is never
    // lent, because it may still be mapped there. Each place has memory from the beginning on. More
    // is allocated while the kernel runs, for four users' clients per place, if this process has
    // few descriptors open. For further users unused memory is freed, the oldest first; on a GPU
    // none can be freed while a kernel runs, and a part is reserved for the owner's user and root.
    // The last client's user also gets a mailbox at which the device has not looked since.
    struct Lent {
        unsigned place;
        std::shared_ptr<LentMemory const> memory;
    };
    [[nodiscard]] std::optional<Lent> begin(std::uint32_t user, ChannelSharing sharing);
    [[nodiscard]] std::optional<Loan> lend(std::uint32_t user, bool host_memory) override;
    // The place is lent again once all that serve it have left the memory.
    void end(unsigned place) override;
    [[nodiscard]] bool any_ends() const override {
        return count_if([](Place const& place) { return !place.free() && !place.leased(); }) != 0;
    }
    [[nodiscard]] bool any_free() const { return count_if(&Place::free) != 0; }
    [[nodiscard]] std::size_t memories() const {  // their number
        std::lock_guard const lock(mutex_);
        return memories_.size();
    }
    [[nodiscard]] unsigned count() const override {
        return places() - static_cast<unsigned>(count_if(&Place::free));
    }
    // An object's counts are its pushed messages, and those that its consumer reports as taken, in
    // batches; a mailbox's count is how often it was set. Looks at a few lines and words of both
    // memories; the ends do not notice.
    [[nodiscard]] LeasedCounters counters(unsigned place) const override;
    [[nodiscard]] KernelState state(bool ask_device) const override;
    [[nodiscard]] BlockActivity activity(unsigned place) const override;
    [[nodiscard]] std::string why_full() const override;
    [[nodiscard]] std::string why_closed(KernelState state) const override;

    // The next members are for kernels only. blocks() has the control and status lines of each
    // block.
    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    [[nodiscard]] LeaseTable device_view() const;
    // Takes the kernel that serves, once it runs.
    void own(std::shared_ptr<KernelSupervisor> kernel) { kernel_ = std::move(kernel); }
    [[nodiscard]] std::shared_ptr<KernelSupervisor> const& kernel() const { return kernel_; }
    void drained(unsigned place) override {
        std::lock_guard const lock(mutex_);
        places_.at(place).drained = true;
    }
    // A request is outstanding if its client has sent it and it is not answered; also the last one
    // of a client that has left.
    [[nodiscard]] bool outstanding(unsigned place) const override {
        std::lock_guard const lock(mutex_);
        return outstanding(places_.at(place));
    }
    [[nodiscard]] bool outstanding_at(unsigned block) const {
        if (!together()) return outstanding(block);
        return count_if([&](Place const& place) { return this->outstanding(place); }) != 0;
    }
    // Whether no client is known to await a reply: none has a place, or those that have one said
    // so.
    [[nodiscard]] bool all_drained() const {
        return count_if([](Place const& place) { return place.drained || place.free(); }) ==
               places_.size();
    }
    [[nodiscard]] BlockBeats beats(unsigned place) const override;
    [[nodiscard]] char const* look_at_counters(unsigned place) override;

    // The next members are for objects only. take() makes a table for the device's end `reader`.
    // Throws UsageError for an end that does not exist, and for one that was taken. `giver`: see
    // TakenOnce::take().
    [[nodiscard]] LeaseTable take(std::string_view giver, unsigned reader,
                                  CodeLocation const& where);
    // The owner itself has set the mailbox, in its own memory.
    void tell_own_set() {
        std::lock_guard const lock(mutex_);
        for (Writer& writer : places_.front().writers) writer.tell_own_set();
    }

   private:
    // The numbers of its parts.
    struct Parts {
        unsigned places = 1;
        unsigned ends = 1;     // of an object on the device; each has a line of a place
        unsigned blocks = 0;   // of a kernel
        unsigned servers = 1;  // blocks that serve a place together
        ServedBy served_by = ServedBy::one_block;

        [[nodiscard]] unsigned lines() const { return places * ends; }
        // Checks the options before memory is allocated. Throws UsageError.
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
    // of the device has not left it. Returns false if that is impossible.
    [[nodiscard]] bool begin_again(Place& place, std::uint32_t user, ChannelSharing sharing);
    // Unused memory; nullptr if no more may be made.
    [[nodiscard]] std::shared_ptr<LentMemory> memory_for(std::uint32_t user,
                                                         ChannelSharing sharing);
    std::shared_ptr<LentMemory> const& add_memory(ChannelSharing sharing);
    // Frees the unused memory lent longest ago; false if there is none or it cannot be freed now.
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
    Memory lines_;  // and behind them their news
    Memory status_;
    std::optional<Memory> claims_;
    mutable std::mutex mutex_;                           // for all that follows
    std::vector<std::shared_ptr<LentMemory>> memories_;  // in the order in which they were lent
    std::vector<Place> places_;
    std::vector<TakenOnce> taken_;
    std::optional<LeaseNewsWriter<HostMapped>> news_;
    std::shared_ptr<KernelSupervisor> kernel_;
};

}  // namespace carillon::detail
