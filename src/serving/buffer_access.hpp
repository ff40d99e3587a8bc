// SPDX-License-Identifier: Apache-2.0
// What a buffer has of its store, be that this process's or another's.
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
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "serving/buffer_view.hpp"

namespace carillon::detail {

class BufferHold;

// Which buffer: by its number, or by its name where that is 0.
struct BufferKey {
    std::uint64_t id = 0;
    std::string name{};
};
// Throws UsageError for no name, or none that can be one.
[[nodiscard]] BufferKey key_of(char const* call, std::string_view name);
// Throws UsageError for 0.
[[nodiscard]] BufferKey key_of(char const* call, std::uint64_t id);
// Throws UsageError for a name or a size that none can have.
void require_buffer(char const* call, std::string_view name, std::size_t bytes);

// Throws as BufferStore and StoreConnection say.
class BufferAccess {
   public:
    virtual ~BufferAccess() = default;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> create(std::string const& name,
                                                             std::size_t bytes) = 0;
    [[nodiscard]] virtual std::shared_ptr<BufferHold> get(BufferKey const& key) = 0;
    virtual void remove(BufferKey const& key) = 0;
    [[nodiscard]] virtual std::vector<BufferInfo> list() = 0;
    [[nodiscard]] virtual std::unique_ptr<SealedSource> sealed_events() = 0;
    [[nodiscard]] virtual std::unique_ptr<LentSource> sealed_buffers() = 0;

    // For holds.
    [[nodiscard]] virtual CopyTeam& team() = 0;
    // `meanwhile` is done while the store seals it. RefusedError: it is not sealed, for certain; it
    // may be after any other. Its maker may ask again.
    virtual void seal(std::uint64_t id, std::function<void()> const& meanwhile) = 0;
    virtual void release(std::uint64_t id) noexcept = 0;
};

// A buffer that this process has; given back at its end.
class BufferHold {
   public:
    BufferHold(std::uint64_t id, std::string name, std::size_t size, bool of_host,
               std::shared_ptr<BufferView> view)
        : id_(id), name_(std::move(name)), size_(size), of_host_(of_host), view_(std::move(view)) {}
    // Not in a child that was forked (make_hold).
    ~BufferHold();
    // Not before it is sure to be: whoever makes it gives the buffer back otherwise.
    void keep_for(std::shared_ptr<BufferAccess> store) noexcept { store_ = std::move(store); }
    BufferHold(BufferHold const&) = delete;
    BufferHold& operator=(BufferHold const&) = delete;

    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool of_host() const { return of_host_; }
    // Both of bytes that are in it, and not none.
    void write(std::size_t offset, std::span<std::byte const> from) const {
        view_->write(store_->team(), offset, from.data(), from.size());
    }
    void read(std::span<std::byte> to, std::size_t offset) const {
        view_->read(store_->team(), to.data(), offset, to.size());
    }
    // Throws UsageError where a seal() that failed has left it without, or may have sealed it.
    [[nodiscard]] std::byte* host(char const* call) const;
    // The same; UnsupportedError where it has none.
    [[nodiscard]] void* device_ptr(char const* call) const;
    // Throws UsageError while a mirror is awaited.
    void seal();
    // A mirror is going to write to it, or has, or will not.
    void await_mirror() { ++mirrors_; }
    void forget_mirror() { --mirrors_; }
    void require_own(char const* call) const { mark_.require_own(call); }

   private:
    void require_settled(char const* call) const;

    ProcessMark mark_;
    std::shared_ptr<BufferAccess> store_;
    std::uint64_t id_;
    std::string name_;
    std::size_t size_;
    bool of_host_;
    std::shared_ptr<BufferView> view_;
    unsigned mirrors_ = 0;
    bool may_be_sealed_ = false;  // seal() was not answered, and nothing else keeps it from writing
};

template <class... Arguments>
[[nodiscard]] std::shared_ptr<BufferHold> make_hold(std::shared_ptr<BufferAccess> store,
                                                    Arguments&&... arguments) {
    std::shared_ptr<BufferHold> hold(new BufferHold(std::forward<Arguments>(arguments)...),
                                     DeleteOwn());
    hold->keep_for(std::move(store));
    return hold;
}

// For poll(): at most a while, and at least until the time is up.
[[nodiscard]] int poll_period(Deadline const& deadline);

// How long to look for something before sleeping: not at all where whoever makes it needs the
// processor.
[[nodiscard]] std::chrono::nanoseconds spin_time(std::chrono::nanoseconds wanted);

class SealedSource {
   public:
    virtual ~SealedSource() = default;
    [[nodiscard]] virtual int descriptor() const = 0;
    [[nodiscard]] virtual std::optional<SealedBuffer> next(std::chrono::nanoseconds timeout) = 0;
    void require_own(char const* call) const { mark_.require_own(call); }

   private:
    ProcessMark mark_;
};

class LentSource {
   public:
    virtual ~LentSource() = default;
    [[nodiscard]] virtual int descriptor() const = 0;
    // nullptr: none has come in time.
    [[nodiscard]] virtual std::shared_ptr<BufferHold> next(std::chrono::nanoseconds timeout) = 0;
    [[nodiscard]] std::uint64_t missed() const { return missed_; }
    void require_own(char const* call) const { mark_.require_own(call); }

   protected:
    [[nodiscard]] bool inherited() const { return mark_.inherited(); }

    std::uint64_t missed_ = 0;

   private:
    ProcessMark mark_;
};

// Makes what users have of these.
struct BufferMaker {
    [[nodiscard]] static MutableBuffer make_mutable(std::shared_ptr<BufferHold> hold) {
        return MutableBuffer(std::move(hold));
    }
    [[nodiscard]] static Buffer make(std::shared_ptr<BufferHold> hold) {
        return Buffer(std::move(hold));
    }
    [[nodiscard]] static SealedEvents make(std::unique_ptr<SealedSource> source) {
        return SealedEvents(std::move(source));
    }
    [[nodiscard]] static SealedBuffers make(std::unique_ptr<LentSource> source) {
        return SealedBuffers(std::move(source));
    }
};

}  // namespace carillon::detail
