// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "carillon/error.hpp"
#include "os/own_user.hpp"

namespace carillon::detail {
namespace {

// A follower can still get so many of the last sealed buffers.
constexpr std::size_t most_known_sealed = 1024;

// Each buffer in host memory takes a descriptor. Half of all are left for connections and the
// program.
std::size_t most_descriptors() { return limit_of_descriptors() / 2; }

constexpr std::size_t least_memory = std::size_t{1} << 16;

// The size of the memory for a buffer of `bytes`: in steps of an eighth, so that buffers of nearly
// one size can have each other's memory.
std::size_t store_memory_size(std::size_t bytes) {
    if (bytes <= least_memory) return least_memory;
    std::size_t const step = std::max(std::bit_floor(bytes), least_memory) / 8;
    return (bytes + step - 1) / step * step;
}

std::string words_for(BufferKey const& key) {
    return key.id != 0 ? fmt::format("number {}", key.id) : fmt::format("\"{}\"", key.name);
}

}  // namespace

BufferTable::BufferTable(Device const& device, StoreOptions const& options)
    : device_(device),
      options_(options),
      all_of_host_(device.info().memory_source != MemorySource::vulkan) {
    if (options.bytes != 0 && options.buffers != 0) return;
    throw UsageError(fmt::format("bytes is {} and buffers is {}: a store needs at least 1 of each",
                                 options.bytes, options.buffers));
}

std::string BufferTable::why_fewer_buffers() const {
    std::size_t const most = most_descriptors();
    if (!all_of_host_ || options_.buffers <= most) return {};
    return fmt::format(
        "the store has at most {} buffers instead of {} (its option buffers): each takes a "
        "descriptor in host memory, and together they take at most half of RLIMIT_NOFILE (ulimit "
        "-n)",
        most, options_.buffers);
}

HeldBuffer BufferTable::create(BufferUser const& by, std::string const& name, std::size_t bytes,
                               bool of_host) {
    std::lock_guard const lock(mutex_);
    std::size_t const size = store_memory_size(bytes);
    require_room(by, name, size, of_host || all_of_host_);
    auto memory = take_memory(by, size, of_host || all_of_host_);
    memory->made_by(by.number);
    bool const host_memory = memory->of_host();
    std::uint64_t const id = ++last_id_;
    Entry entry{{id, name, bytes, size, false, host_memory, 0, by.process, by.user},
                std::move(memory),
                by.number};
    HeldBuffer lent = hold(entry, by.number);
    // If no memory is left for a buffer, nothing of it stays.
    Taken& by_user = taken_by_[by.user];
    if (!name.empty()) names_[name] = id;
    try {
        entries_.emplace(id, std::move(entry));
    } catch (...) {
        names_.erase(name);
        throw;
    }
    by_user.add(Taken::by(*lent.memory));
    return lent;
}

BufferTable::Taken BufferTable::taken(bool by_others) const {
    Taken sum;
    for (auto const& [user, taken] : taken_by_) {
        if (!by_others || !is_kept_for(user)) sum.add(taken);
    }
    return sum;
}

void BufferTable::require_room(BufferUser const& by, std::string const& name, std::size_t size,
                               bool of_host) const {
    if (!name.empty() && names_.contains(name)) {
        throw_refused(RefusalReason::name_taken, "the store already has a buffer \"{}\"", name);
    }
    if (entries_.size() >= options_.buffers) {
        throw_refused(RefusalReason::full, "the store already has {} buffers (its option buffers)",
                      entries_.size());
    }
    Taken const all = taken();
    if (of_host && all.descriptors >= most_descriptors()) {
        throw_refused(RefusalReason::full,
                      "the store already has {} buffers in host memory, half of the process's "
                      "descriptors (RLIMIT_NOFILE)",
                      all.descriptors);
    }
    if (of_host && !can_open(1, descriptors_for(by.user))) {
        throw Refused{
            RefusalReason::full,
            why_no_descriptor(by.user, is_kept_for(by.user) ? "connections" : "the store's user")};
    }
    if (size > options_.bytes - all.bytes) {
        throw_refused(RefusalReason::full,
                      "{} bytes requested, but {} of {} are free (the store's option bytes)", size,
                      options_.bytes - all.bytes, options_.bytes);
    }
    auto const found = taken_by_.find(by.user);
    Taken const own = found == taken_by_.end() ? Taken{} : found->second;
    if (!is_kept_for(by.user)) require_share(by, own, size, of_host);
    if (options_.bytes_per_user != 0 && own.bytes + size > options_.bytes_per_user) {
        throw_refused(RefusalReason::full,
                      "{} bytes requested, but the user {} has {} and may have {} (the store's "
                      "option bytes_per_user)",
                      size, by.user, own.bytes, options_.bytes_per_user);
    }
}

void BufferTable::require_share(BufferUser const& by, Taken const& own, std::size_t size,
                                bool of_host) const {
    Taken const others = taken(true);
    auto const require = [&](char const* what, std::size_t more, std::size_t Taken::*field,
                             UserShare const& share) {
        bool const of_user = own.*field + more > share.of_user;
        if (!of_user && others.*field + more <= share.of_others) return;
        throw_refused(
            RefusalReason::full,
            "{} {} requested, but {} and may have {}: the rest is reserved for {}", more, what,
            of_user ? fmt::format("the user {} has {}", by.user, own.*field)
                    : fmt::format("users other than the store's have {}", others.*field),
            of_user ? share.of_user : share.of_others, of_user ? "others" : "the store's user");
    };
    require("bytes", size, &Taken::bytes, share_of(options_.bytes, options_.bytes_per_user));
    require("buffers", 1, &Taken::buffers, share_of(options_.buffers));
    require("buffers in host memory", of_host ? 1 : 0, &Taken::descriptors,
            share_of(most_descriptors()));
}

std::shared_ptr<StoreMemory> BufferTable::take_memory(BufferUser const& by, std::size_t size,
                                                      bool of_host) {
    auto const fits = [&](auto const& memory) {
        return !of_host && memory->user() == by.user && memory->size() == size &&
               memory->is_free_for(by.number);
    };
    auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](auto const& memory) {
        return fits(memory) && memory->is_spare_of(by.number);
    });
    if (found == kept_.rend()) found = std::find_if(kept_.rbegin(), kept_.rend(), fits);
    if (found != kept_.rend()) {
        auto memory = *found;
        kept_.erase(std::next(found).base());
        kept_bytes_ -= size;
        return memory;
    }
    shrink_kept(options_.bytes - taken().bytes - size);
    return std::make_shared<StoreMemory>(device_, of_host, ++last_memory_, size, by.user);
}

BufferTable::Entries::iterator BufferTable::find(BufferKey const& key) {
    auto const named = key.id == 0 ? names_.find(key.name) : names_.end();
    auto const found = entries_.find(named != names_.end() ? named->second : key.id);
    if (found != entries_.end() && !found->second.removed) return found;
    throw_refused(RefusalReason::unknown_object, "the store has no buffer {}", words_for(key));
}

HeldBuffer BufferTable::get(BufferUser const& by, BufferKey const& key) {
    std::lock_guard const lock(mutex_);
    auto const found = find(key);
    if (!found->second.info.sealed) {
        throw_refused(RefusalReason::not_sealed, "the buffer {} is not sealed yet", words_for(key));
    }
    return hold(found->second, by.number);
}

void BufferTable::seal(BufferUser const& by, std::uint64_t id, Wakeup const* but) {
    std::lock_guard const lock(mutex_);
    auto const at = entries_.find(id);
    bool const is_maker = at != entries_.end() && at->second.maker == by.number &&
                          at->second.holders.contains(by.number);
    if (is_maker && at->second.info.sealed) return;  // the maker has not heard the answer
    Entry& entry = find({id})->second;
    if (!is_maker) {
        throw_refused(RefusalReason::not_allowed,
                      "only the maker of the buffer number {} can seal it", id);
    }
    if (!entry.memory->seal()) {
        throw_refused(RefusalReason::other, "a process still has the buffer mapped for writing");
    }
    sealed_.push_back({id, entry.info.name, entry.info.size});
    entry.info.sealed = true;
    ++sealed_end_;
    if (sealed_.size() > most_known_sealed) sealed_.pop_front();
    for (Wakeup const* each : followers_) {
        if (each != but) each->wake();
    }
    if (doorbell_) doorbell_->ring(OutOfLine::written);
}

std::uint64_t BufferTable::remove(BufferUser const& by, BufferKey const& key) {
    std::lock_guard const lock(mutex_);
    auto const found = find(key);
    Entry& entry = found->second;
    if (by.user != entry.info.user && !is_kept_for(by.user)) {
        throw_refused(RefusalReason::not_allowed, "the buffer {} belongs to the user {}",
                      words_for(key), entry.info.user);
    }
    auto const memory = entry.memory;
    take_from_all(entry);
    drop_unheld(found);
    bool const spare = std::ranges::find(kept_, memory) != kept_.end();
    return spare && memory->is_spare_of(by.number) ? memory->number() : 0;
}

void BufferTable::leave(HolderNumber who) noexcept {
    std::lock_guard const lock(mutex_);
    for (auto each = entries_.begin(); each != entries_.end();) {
        auto const at = each++;
        at->second.memory->forget(who);
        (void)let_go(at, who, ~0U);
    }
    for (auto const& memory : kept_) memory->forget(who);
}

// A buffer that its maker has not sealed goes with its maker.
bool BufferTable::let_go(Entries::iterator at, HolderNumber who, unsigned times) noexcept {
    Entry& entry = at->second;
    auto const holder = entry.holders.find(who);
    if (holder == entry.holders.end()) return false;
    times = std::min(times, holder->second);
    holder->second -= times;
    entry.info.holders -= times;
    if (holder->second != 0) return true;
    entry.holders.erase(holder);
    if (!entry.info.sealed && !entry.removed) take_from_all(entry);
    drop_unheld(at);
    return true;
}

void BufferTable::drop_unheld(Entries::iterator at) noexcept {
    Entry& entry = at->second;
    if (!entry.removed || !entry.holders.empty()) return;
    auto const user = taken_by_.find(entry.info.user);
    user->second.remove(Taken::by(*entry.memory));
    if (user->second.buffers == 0) taken_by_.erase(user);
    keep(entry.memory);
    entries_.erase(at);
}

void BufferTable::keep(std::shared_ptr<StoreMemory> const& memory) noexcept {
    if (closed_ || !memory->usable_again() || memory->size() > options_.kept_bytes) return;
    try {
        kept_.push_back(memory);
    } catch (std::bad_alloc const&) {
        return;
    }
    kept_bytes_ += memory->size();
    shrink_kept(options_.kept_bytes);
}

std::optional<SealedBuffer> BufferTable::sealed(std::uint64_t& number) const {
    std::lock_guard const lock(mutex_);
    if (number >= sealed_end_) return {};
    std::uint64_t const first = sealed_end_ - sealed_.size();
    std::uint64_t const wanted = std::max(number, first);
    SealedBuffer found = sealed_.at(static_cast<std::size_t>(wanted - first));
    found.missed = wanted - number;
    number = wanted + 1;
    return found;
}

}  // namespace carillon::detail
