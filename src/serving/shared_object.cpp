// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/shared_object.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "carillon/detail/host/leases.hpp"
#include "carillon/error.hpp"
#include "serving/memories.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

// No client of the library's numbers a value so.
constexpr Sequence beyond_clients = Sequence{1} << 61U;

// An object's slots are of one size.
ChannelShape channel_shape(ObjectShape const& shape) {
    return {shape.capacity, shape.slot_lines, shape.slot_lines};
}

ChannelTable table_at(void* device, void* host, Sequence first) {
    return {static_cast<std::byte*>(device),
            static_cast<std::byte*>(host),
            1,
            {},
            first,
            nullptr,
            false};
}

}  // namespace

ChannelTable ObjectMemory::host_view() const {
    return table_at(device.host_ptr(), host.size() == 0 ? nullptr : host.host_ptr(), first);
}

ChannelTable ObjectMemory::device_view() const {
    return table_at(device.device_ptr(), host.size() == 0 ? nullptr : host.device_ptr(), first);
}

SharedObject::SharedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                           MessageType const& type, unsigned readers, Sequence first)
    : device_(device),
      kind_(kind),
      row_(kind_row(kind)),
      shape_(shape),
      device_bytes_(row_.bytes(channel_shape(shape), shape.chunk_bytes).device),
      host_bytes_(row_.bytes(channel_shape(shape), shape.chunk_bytes).host),
      type_(type),
      lines_(device.allocate(readers * sizeof(LeaseLine))),
      status_(device.allocate_host(readers * sizeof(LeaseStatus))),
      taken_(readers),
      first_(first) {
    LeaseTable const table = view(lines_.host_ptr(), status_.host_ptr());
    for (unsigned i = 0; i < readers; ++i) {
        writers_.emplace_back(table, i, HostCached(), device.access(lines_));
    }
    add_memory(Leases::sharing_for(device));
}

LeaseTable SharedObject::view(void* lines, void* status) const {
    return {static_cast<LeaseLine*>(lines), static_cast<LeaseStatus*>(status), {}};
}

LeaseTable SharedObject::take(std::string_view call, unsigned reader, CodeLocation const& where) {
    if (reader >= taken_.size()) {
        throw UsageError(call,
                         fmt::format("there is no reader {}: there are {}", reader, taken_.size()));
    }
    std::lock_guard const lock(mutex_);
    LeaseTable const table = view(lines_.device_ptr(), status_.device_ptr());
    taken_[reader].take(call, where, {table.lines + reader, table.status_of(reader, 0)});
    return table;
}

ObjectMemory& SharedObject::add_memory(ChannelSharing sharing) {
    bool const in_host = sharing == ChannelSharing::exported_from_host ||
                         device_.info().memory_source == MemorySource::host;
    auto memory = std::make_unique<ObjectMemory>();
    memory->sharing = sharing;
    memory->device =
        in_host ? device_.allocate_shared_host(device_bytes_) : device_.allocate(device_bytes_);
    if (host_bytes_ != 0) memory->host = device_.allocate_shared_host(host_bytes_);
    memories_.push_back(std::move(memory));
    return *memories_.back();
}

ObjectMemory* SharedObject::memory_for(std::uint32_t user, ChannelSharing sharing) {
    // What the user has had, rather than what nobody has.
    ObjectMemory* unused = nullptr;
    for (auto const& memory : memories_) {
        if (memory->sharing != sharing) continue;
        if (memory->user == user) return memory.get();
        if (!memory->user) unused = memory.get();
    }
    if (unused != nullptr) return unused;
    return make_memory(
        device_, user, 1, memories_.size(), descriptors(),
        [&]() -> ObjectMemory& { return add_memory(sharing); }, [&] { return free_oldest(); });
}

// None is used: every end of the device has left the last client's.
bool SharedObject::free_oldest() noexcept {
    if (!device_.traits().frees_beside_kernels || memories_.empty()) return false;
    memories_.front()->free_at_once();
    memories_.erase(memories_.begin());
    return true;
}

void SharedObject::lay_out(ObjectMemory& memory) {
    memory.first = memory.user ? first_of_next(memory.first, memory.used) : first_;
    // Every line and word that an end looks at; what is in chunks is the same user's.
    row_.format(shape_, memory.host_view());
    memory.device.flush(0, memory.device.size());
}

bool SharedObject::over() const {
    return std::ranges::all_of(writers_, [](Writer const& writer) { return writer.over(); });
}

ObjectMemory const* SharedObject::begin(std::uint32_t user, ChannelSharing sharing) {
    std::lock_guard const lock(mutex_);
    if (!over()) return begin_again(user, sharing);
    ObjectMemory* const memory = memory_for(user, sharing);
    if (memory == nullptr) return nullptr;
    lay_out(*memory);
    memory->user = user;
    auto const lent = std::ranges::find(memories_, memory, &std::unique_ptr<ObjectMemory>::get);
    std::rotate(lent, lent + 1, memories_.end());
    try {
        for (Writer& writer : writers_) writer.begin(memory->device_view());
    } catch (...) {  // memory that could not be flushed: an end may have heard of it
        for (Writer& writer : writers_) writer.end();
        throw;
    }
    current_ = memory;
    return memory;
}

bool SharedObject::can_map(ObjectMemory const& memory, ChannelSharing asked) const {
    return asked == memory.sharing || asked == ChannelSharing::exported ||
           device_.info().memory_source == MemorySource::memfd;
}

// The value that is there stays, and the client's are numbered behind it: the device's ends look
// for the newest as before, whether or not they have heard of any client.
ObjectMemory const* SharedObject::begin_again(std::uint32_t user, ChannelSharing sharing) {
    if (!row_.begins_again || current_ != nullptr) return nullptr;
    ObjectMemory& last = *memories_.back();
    if (last.user != user || !can_map(last, sharing)) return nullptr;
    if (newest_value(last) >= beyond_clients) return nullptr;
    last.first = first_of_next(last.first, last.used);
    for (Writer& writer : writers_) writer.begin_again();
    current_ = &last;
    return current_;
}

void SharedObject::end() {
    std::lock_guard const lock(mutex_);
    if (current_ != nullptr) {
        ChannelCounters const counted = count();
        current_->used = counted.submitted;
        gone_ = with_gone(gone_, counted);
    }
    current_ = nullptr;
    for (Writer& writer : writers_) writer.end();
}

void SharedObject::tell_own_set() {
    std::lock_guard const lock(mutex_);
    for (Writer& writer : writers_) writer.tell_own_set();
}

ChannelCounters SharedObject::count() const {
    HostCached const in_device(current_->device.range_sync());
    HostCached const in_host;
    ChannelTable const at = current_->host_view();
    Sequence const before = current_->first - 1;
    ChannelCounters counters;
    if (row_.ring == nullptr) {
        // None of a client that has set nothing where another one's value is.
        counters.submitted = std::max(newest_value(*current_), before) - before;
        return counters;
    }
    auto const [ring, slots_in_device] = row_.ring(shape_, at);
    Sequence const taken = (slots_in_device ? in_host : in_device).load_word(ring.credit);
    Sequence const pushed = last_arrived(slots_in_device ? in_device : in_host, ring, taken);
    counters.submitted = pushed - before;
    counters.answered = counters.taken = taken - before;
    counters.depth = static_cast<std::uint32_t>(pushed - taken);
    return counters;
}

Sequence SharedObject::newest_value(ObjectMemory const& memory) const {
    HostCached const in_device(memory.device.range_sync());
    return in_device.load_word(MailboxLayout::view(shape_, memory.host_view()).newest);
}

LeasedCounters SharedObject::counters() const {
    std::lock_guard const lock(mutex_);
    return {current_ == nullptr ? ChannelCounters{} : count(), gone_};
}

bool SharedObject::lent() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::any_of(writers_, [](Writer const& writer) { return writer.leased(); });
}

bool SharedObject::ends() const {
    std::lock_guard const lock(mutex_);
    return std::ranges::none_of(writers_, [](Writer const& writer) { return writer.leased(); }) &&
           !over();
}

}  // namespace carillon::detail
