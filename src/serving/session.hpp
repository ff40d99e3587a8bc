// SPDX-License-Identifier: Apache-2.0
// The records of a server's thread: one for each object that it serves by a name, and one for each
// client, with its identity, its loans and its open requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/detail/serving/lendable.hpp"
#include "carillon/memory.hpp"
#include "serving/buffer_table.hpp"
#include "serving/client_messages.hpp"
#include "serving/reception.hpp"

namespace carillon::detail {

// Memory of the device, or of the host, as a client hears of it.
[[nodiscard]] inline WireMemory wire_memory(Device const& device, bool in_host, std::size_t bytes) {
    if (in_host) return {MemorySource::host, std::nullopt, bytes, false};
    return {device.info().memory_source, uuid_of(device.info()), bytes,
            device.traits().write_combining};
}

// A place that a client gets.
struct Loan {
    unsigned place;
    Attached attached;  // without the number of the lease
    // The device memory, or what clients only read, and the host memory if there is some.
    std::vector<FileDescriptor> files;
};

// Calls need the server's lock.
class ServedItem {
   public:
    ServedItem(std::string_view name, std::shared_ptr<Lendable> lendable)
        : name_(name), lendable_(std::move(lendable)) {}

    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] Lendable* operator->() const { return lendable_.get(); }
    // The state that clients know, and its cause unless it is running. An end is final.
    [[nodiscard]] KernelState told() const { return told_; }
    [[nodiscard]] std::string const& told_text() const { return text_; }
    [[nodiscard]] bool ended() const {
        return told_ == KernelState::stopped || told_ == KernelState::failed;
    }
    // Why it takes no clients; nothing if it does.
    [[nodiscard]] std::optional<std::string> closed() const;
    // Looks at the state: whether it is news, which it stays until all have heard it. It sees its
    // own end only if it asks the device.
    [[nodiscard]] bool look(bool ask_device);
    void all_heard() { news_ = false; }
    // Another object of the name has ended before: it is news that this one runs.
    void follow() { news_ = true; }
    // Since when it has that state.
    [[nodiscard]] std::chrono::steady_clock::time_point told_at() const { return told_at_; }

   private:
    std::string name_;
    std::shared_ptr<Lendable> lendable_;
    KernelState told_ = KernelState::running;
    std::chrono::steady_clock::time_point told_at_{};
    std::string text_;
    bool news_ = false;
};

// A place of an object that a client has.
struct HeldPlace {
    ServedItem* object;
    unsigned place;
    std::chrono::steady_clock::time_point since;
};

// A client waits for a place of an object.
struct AwaitedPlace {
    std::uint32_t id;  // of its question
    ServedItem* object;
    bool host_memory;
    std::chrono::steady_clock::time_point since;
};

// A buffer that a client holds, and has not asked for.
struct UnaskedBuffer {
    std::uint64_t number;  // from 1 on, in the order in which they were lent
    std::uint64_t memory;
    bool descriptor;  // see LentBuffer
};

struct Session : Connected {
    // A constructor, since where a member of an aggregate throws, GCC 12 destroys the base twice.
    explicit Session(UnixSocket connected) : Connected{std::move(connected)} {}

    std::map<std::uint32_t, HeldPlace> leases{};
    std::deque<AwaitedPlace> asks{};
    bool hears_states = false;  // of objects: it has asked for one, so a thread of its reads

    BufferUser who{};  // for the table of buffers
    bool uses_buffers = false;
    unsigned holds = 0;  // buffers
    SealedNews news = SealedNews::none;
    std::uint64_t next_sealed = 0;  // the number of the next buffer that it is to hear of
    std::uint64_t missed = 0;       // buffers that it has not heard of
    std::uint64_t lent_unasked = 0;
    std::map<std::uint64_t, UnaskedBuffer> unasked{};  // by the number of the buffer
    bool waits_for_room = false;  // news wait until it reads, or a descriptor is free
};
using Sessions = std::vector<std::unique_ptr<Session>>;

}  // namespace carillon::detail
