// SPDX-License-Identifier: Apache-2.0
// The store as a buffer has it, be that this process's store or another's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carillon/buffer.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"
#include "serving/buffer_memory.hpp"
#include "serving/client_messages.hpp"

namespace carillon {
struct StoreOptions;
}

namespace carillon::detail {

class BufferHold;
class BufferTable;
class Link;
class NewsSource;

// A store, as its buffers and the program have it. It throws what Store says.
class BufferAccess : public ProcessMark {
   public:
    virtual ~BufferAccess() = default;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> create(std::string const& name,
                                                             std::size_t bytes) = 0;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> get(BufferKey const& key) = 0;
    virtual void remove(BufferKey const& key) = 0;
    [[nodiscard]] virtual std::vector<BufferInfo> list() = 0;
    [[nodiscard]] virtual std::shared_ptr<NewsSource> news(SealedNews kind) = 0;
    // table() throws if the store is another process's, owner() if it is this one's.
    [[nodiscard]] virtual std::shared_ptr<BufferTable> const& table() const {
        throw UsageError("the store belongs to another process");
    }
    [[nodiscard]] virtual ConnectedOwner const& owner() const {
        throw UsageError("the store belongs to this process");
    }
    [[nodiscard]] virtual std::string why_host_memory() const { return {}; }

    // Holds copy with it.
    [[nodiscard]] virtual CopyTeam& team() = 0;
    // Calls `meanwhile` while the store seals the buffer. After a RefusedError it is not sealed,
    // for certain; after any other error it may be. Its maker may ask again.
    virtual void seal(std::uint64_t id, std::function<void()> const& meanwhile) = 0;
    virtual void release(std::uint64_t id) noexcept = 0;
};

// Makes a store of this process's, which goes with what is returned: buffers may keep the access.
// Throws as Store's constructor.
[[nodiscard]] std::shared_ptr<BufferAccess> make_store(Device const& device,
                                                       StoreOptions const& options);
// Finds the store of the link's owner, and waits for it as ConnectOptions::wait_for_owner says.
// Throws RefusedError if the owner has none.
[[nodiscard]] std::shared_ptr<BufferAccess> find_store(std::shared_ptr<Link> const& link);

// A buffer that this process has. Its end gives the buffer back.
class BufferHold : public ProcessMark {
   public:
    BufferHold(BufferInfo info, std::shared_ptr<BufferView> view)
        : info_(std::move(info)), view_(std::move(view)) {}
    // A forked child does not run it (make_hold).
    ~BufferHold();
    // Call this for a complete hold alone: before, its maker gives the buffer back.
    void keep_for(std::shared_ptr<BufferAccess> store) noexcept { store_ = std::move(store); }
    BufferHold& operator=(BufferHold&&) = delete;

    [[nodiscard]] std::uint64_t id() const { return info_.id; }
    [[nodiscard]] std::string const& name() const { return info_.name; }
    [[nodiscard]] std::size_t size() const { return info_.size; }
    [[nodiscard]] bool of_host() const { return info_.host_memory; }
    [[nodiscard]] bool is_mutable() const { return !info_.sealed; }
    // Returns this object. Throws UsageError if it is sealed.
    BufferHold const& require_mutable() const {
        if (info_.sealed) throw UsageError("the buffer is sealed, so it cannot be written");
        return *this;
    }
    // Both need at least one byte, and all of them in the buffer.
    void write(std::size_t offset, std::span<std::byte const> from) const {
        view_->write(store_->team(), offset, from.data(), from.size());
    }
    void read(std::span<std::byte> to, std::size_t offset) const {
        view_->read(store_->team(), to.data(), offset, to.size());
    }
    // Throws UsageError if a seal() that failed has left no mapping, or may have sealed it.
    [[nodiscard]] std::span<std::byte> host() const {
        if (may_be_sealed_) {
            throw UsageError("the store may have sealed the buffer: call seal() again to find out");
        }
        if (std::byte* const there = view_->host()) return {there, size()};
        throw UsageError("the buffer is not mapped because its seal() failed: call seal() again");
    }
    // Throws as host(), and UnsupportedError if the device has no address for it.
    [[nodiscard]] void* device_ptr() const;
    // Throws UsageError if it is sealed, and while a mirror is awaited.
    void seal();
    // A mirror is going to write to it; forget_mirror(): it has, or will not.
    void await_mirror() { ++mirrors_; }
    void forget_mirror() { --mirrors_; }

   private:
    std::shared_ptr<BufferAccess> store_;
    BufferInfo info_;
    std::shared_ptr<BufferView> view_;
    unsigned mirrors_ = 0;
    bool may_be_sealed_ = false;  // seal() was not answered, and nothing else prevents writes
};

[[nodiscard]] inline std::shared_ptr<BufferHold> make_hold(std::shared_ptr<BufferAccess> store,
                                                           BufferInfo info,
                                                           std::shared_ptr<BufferView> view) {
    view->use_for(info.sealed ? BufferUse::reading : BufferUse::writing);
    auto hold = make_shared_own<BufferHold>(std::move(info), std::move(view));
    hold->keep_for(std::move(store));
    return hold;
}

// For poll(): at most a while, and at least until the time is up.
[[nodiscard]] int poll_period(Deadline const& deadline);

// How long to look for something before sleeping: 0 if its maker needs the processor.
[[nodiscard]] std::chrono::nanoseconds spin_time(std::chrono::nanoseconds wanted);

// A buffer that was sealed, as a source of either kind says it.
struct News {
    SealedBuffer told{};
    std::shared_ptr<BufferHold> hold{};
};

// Says which buffers are sealed, or brings them. A forked child does not destroy it.
class NewsSource : public ProcessMark {
   public:
    virtual ~NewsSource() = default;
    [[nodiscard]] virtual int descriptor() const = 0;
    // None: none came in time.
    [[nodiscard]] virtual std::optional<News> next(std::chrono::nanoseconds timeout) = 0;
    [[nodiscard]] std::uint64_t missed() const { return missed_; }

   protected:
    std::uint64_t missed_ = 0;
};

}  // namespace carillon::detail
