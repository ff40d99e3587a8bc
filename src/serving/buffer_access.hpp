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
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/buffer.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "serving/buffer_memory.hpp"

namespace carillon {
struct StoreOptions;
}

namespace carillon::detail {

class BufferHold;
class BufferTable;
class Link;
class NewsSource;

// Names a buffer: by its number, or by its name if the number is 0.
struct BufferKey {
    std::uint64_t id = 0;
    std::string name{};
};
// Throws UsageError for no name, or none that can be one.
[[nodiscard]] BufferKey key_of(std::string_view name);
// Throws UsageError for 0.
[[nodiscard]] BufferKey key_of(std::uint64_t id);
// Throws UsageError for a name or a size that none can have.
void require_buffer(std::string_view name, std::size_t bytes);

// Whether a source says which buffers are sealed, or brings them.
enum class NewsKind : bool { told, brought };

// A store, as its buffers and the program have it. It throws what Store says.
class BufferAccess {
   public:
    virtual ~BufferAccess() = default;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> create(std::string const& name,
                                                             std::size_t bytes) = 0;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> get(BufferKey const& key) = 0;
    virtual void remove(BufferKey const& key) = 0;
    [[nodiscard]] virtual std::vector<BufferInfo> list() = 0;
    [[nodiscard]] virtual std::shared_ptr<NewsSource> news(NewsKind kind) = 0;
    // table() throws if the store is another process's, owner() if it is this one's.
    [[nodiscard]] virtual std::shared_ptr<BufferTable> const& table() const;
    [[nodiscard]] virtual ConnectedOwner const& owner() const;
    [[nodiscard]] virtual std::string why_host_memory() const { return {}; }
    // The program's Store goes, in the process that made it.
    virtual void close() noexcept {}
    void require_own() const { mark_.require_own(); }
    [[nodiscard]] bool inherited() const { return mark_.inherited(); }

    // Holds copy with it.
    [[nodiscard]] virtual CopyTeam& team() = 0;
    // Calls `meanwhile` while the store seals the buffer. After a RefusedError it is not sealed,
    // for certain; after any other error it may be. Its maker may ask again.
    virtual void seal(std::uint64_t id, std::function<void()> const& meanwhile) = 0;
    virtual void release(std::uint64_t id) noexcept = 0;

   private:
    ProcessMark mark_;
};

// Makes a store of this process's. Throws as Store's constructor.
[[nodiscard]] std::shared_ptr<BufferAccess> make_store(Device const& device,
                                                       StoreOptions const& options);
// Finds the store of the link's owner, and waits for it as ConnectOptions::wait_for_owner says.
// Throws RefusedError if the owner has none.
[[nodiscard]] std::shared_ptr<BufferAccess> find_store(std::shared_ptr<Link> const& link);

// A buffer that this process has. Its end gives the buffer back.
class BufferHold {
   public:
    BufferHold(std::uint64_t id, std::string name, std::size_t size, bool of_host, bool sealed,
               std::shared_ptr<BufferView> view)
        : id_(id),
          name_(std::move(name)),
          size_(size),
          of_host_(of_host),
          sealed_(sealed),
          view_(std::move(view)) {}
    // A forked child does not run it (make_hold).
    ~BufferHold();
    // Call this for a complete hold alone: before, its maker gives the buffer back.
    void keep_for(std::shared_ptr<BufferAccess> store) noexcept { store_ = std::move(store); }
    BufferHold(BufferHold const&) = delete;
    BufferHold& operator=(BufferHold const&) = delete;

    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool of_host() const { return of_host_; }
    [[nodiscard]] bool is_mutable() const { return !sealed_; }
    // Throws UsageError if it is sealed.
    void require_mutable() const;
    // Both need at least one byte, and all of them in the buffer.
    void write(std::size_t offset, std::span<std::byte const> from) const {
        view_->write(store_->team(), offset, from.data(), from.size());
    }
    void read(std::span<std::byte> to, std::size_t offset) const {
        view_->read(store_->team(), to.data(), offset, to.size());
    }
    // Throws UsageError if a seal() that failed has left no mapping, or may have sealed it.
    [[nodiscard]] std::span<std::byte> host() const;
    // Throws as host(), and UnsupportedError if the device has no address for it.
    [[nodiscard]] void* device_ptr() const;
    // Throws UsageError if it is sealed, and while a mirror is awaited.
    void seal();
    // A mirror is going to write to it; forget_mirror(): it has, or will not.
    void await_mirror() { ++mirrors_; }
    void forget_mirror() { --mirrors_; }
    void require_own() const { mark_.require_own(); }

   private:
    void require_settled() const;

    ProcessMark mark_;
    std::shared_ptr<BufferAccess> store_;
    std::uint64_t id_;
    std::string name_;
    std::size_t size_;
    bool of_host_;
    bool sealed_;
    std::shared_ptr<BufferView> view_;
    unsigned mirrors_ = 0;
    bool may_be_sealed_ = false;  // seal() was not answered, and nothing else prevents writes
};

template <class... Arguments>
[[nodiscard]] std::shared_ptr<BufferHold> make_hold(std::shared_ptr<BufferAccess> store,
                                                    Arguments&&... arguments) {
    auto hold = make_shared_own<BufferHold>(std::forward<Arguments>(arguments)...);
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
class NewsSource {
   public:
    virtual ~NewsSource() = default;
    [[nodiscard]] virtual int descriptor() const = 0;
    // None: none came in time.
    [[nodiscard]] virtual std::optional<News> next(std::chrono::nanoseconds timeout) = 0;
    [[nodiscard]] std::uint64_t missed() const { return missed_; }
    void require_own() const { mark_.require_own(); }

   protected:
    std::uint64_t missed_ = 0;

   private:
    ProcessMark mark_;
};

// Makes the program's objects of these.
struct BufferMaker {
    template <class Made, class Of>
    [[nodiscard]] static Made make(Of of) {
        return Made(std::move(of));
    }
};

}  // namespace carillon::detail
