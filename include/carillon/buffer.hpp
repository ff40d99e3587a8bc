// SPDX-License-Identifier: Apache-2.0
// `Buffer`, for users of a store (docs/guide/store.md): device memory that processes share by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "carillon/detail/wire/language.hpp"

namespace carillon {
namespace detail {
class BufferHold;
class NewsSource;
}  // namespace detail

class CARILLON_LAYOUT Store;

// A buffer as Store::list() describes it.
struct BufferInfo {
    std::uint64_t id = 0;    // unique in its store; from 1
    std::string name;        // empty: no name
    std::size_t size = 0;    // bytes
    std::size_t memory = 0;  // bytes of device memory that it occupies
    bool sealed = false;
    bool host_memory = false;
    unsigned holders = 0;      // Buffer objects for it, in all processes
    std::int32_t process = 0;  // the process that made it; 0 in another namespace
    std::uint32_t user = 0;    // the user that made it
    bool operator==(BufferInfo const&) const = default;
};

// A buffer of a store. Copies share it. Until seal() it is mutable: only its maker has it and
// writes it, in one thread at a time, and it is deleted with its last copy or with the process.
// After seal() nobody writes it, any thread may use it, and its memory stays until the last copy is
// destroyed, even if the buffer is removed or the store ends. After a move each call throws
// UsageError; in a forked child each call throws ForkError.
class Buffer {
   public:
    [[nodiscard]] std::uint64_t id() const;
    [[nodiscard]] std::string const& name() const;
    [[nodiscard]] std::size_t size() const;  // bytes
    [[nodiscard]] bool is_mutable() const;   // true until seal()
    // Whether it lies in host memory: emulated, or its maker could not map the GPU's memory.
    [[nodiscard]] bool is_cpu() const;

    // Its mapping in this process, read-only where the system allows that. Each load from a GPU's
    // memory is a bus round trip: read() and HostMirror copy whole lines.
    [[nodiscard]] std::span<std::byte const> data() const;
    // The address for kernels of this process. Throws UnsupportedError for a GPU's memory if
    // ConnectOptions::device was not that GPU, and for host memory used with a GPU.
    [[nodiscard]] void const* device_ptr() const;
    // Copies the bytes [offset, offset + to.size()) to `to`. Throws UsageError for a range outside
    // the buffer and for a null pointer.
    void read(std::span<std::byte> to, std::size_t offset = 0) const;

    // The next four throw UsageError for a sealed buffer. mutable_data() is the mapping in this
    // process; a GPU's is usually write-combining: write whole lines and do not read. seal()
    // invalidates it, data() and both device pointers. The bytes are initially 0, or were left
    // there by a buffer of the same user.
    [[nodiscard]] std::span<std::byte> mutable_data() const;
    // The address for kernels that write. They must have finished before seal().
    [[nodiscard]] void* mutable_device_ptr() const;
    // Copies `from` to the bytes [offset, offset + from.size()), in whole lines where that is
    // faster. Throws UsageError for a range outside the buffer and for a null pointer.
    void write(std::span<std::byte const> from, std::size_t offset = 0);
    // Makes the buffer immutable, so that others can get it, and returns a copy of this object. All
    // that this process has written is then in the memory, and earlier pointers to it are invalid.
    // The buffer stays mutable after UsageError (a HostMirror has yet to write back) and after
    // RefusedError: it was removed meanwhile, or another process can still write it
    // (docs/guide/store.md says where that can be known). After OwnerGoneError and TimeoutError it
    // is unknown whether the buffer is or will be sealed. Writing it then throws UsageError, unless
    // the system tells the two cases apart. Call seal() again to find out.
    Buffer seal();

   private:
    friend class Store;
    friend class SealedBuffers;
    friend class HostMirror;
    explicit Buffer(std::shared_ptr<detail::BufferHold> hold) : hold_(std::move(hold)) {}

    std::shared_ptr<detail::BufferHold> hold_;
};

struct MirrorOptions {
    bool read = true;        // copy the buffer's bytes to the mirror first; otherwise they are 0
    bool write_back = true;  // the destructor copies them back into a mutable buffer
};

// A buffer's bytes in ordinary memory, where loads are cheap. A mirror writes back all bytes, so of
// two mirrors of a buffer the later write_back() replaces the earlier one's bytes. Bytes written to
// the mirror of a sealed buffer stay in the mirror.
class HostMirror {
   public:
    // A mutable buffer cannot be sealed until the mirror has written back or is destroyed. Keep the
    // Buffer until then, or nothing is written back. Reading a mutable buffer across the bus is
    // slow.
    explicit HostMirror(Buffer const& buffer, MirrorOptions const& options = {});
    HostMirror& operator=(HostMirror&&) = delete;
    // Writes back, unless write_back() did or the buffer is gone. Errors are dropped.
    ~HostMirror();

    [[nodiscard]] std::span<std::byte> data() { return bytes_; }
    [[nodiscard]] std::span<std::byte const> data() const { return bytes_; }
    // Writes back now; the destructor then does not. Throws UsageError if there is no buffer to
    // write to, if the mirror was written back before, or if the buffer is gone.
    void write_back();

   private:
    std::vector<std::byte> bytes_;
    std::weak_ptr<detail::BufferHold> to_;
    bool writes_back_ = false;
    bool wrote_back_ = false;
};

// A buffer that has been sealed.
struct SealedBuffer {
    std::uint64_t id = 0;
    std::string name;
    std::size_t size = 0;      // bytes
    std::uint64_t missed = 0;  // buffers without an event since the last one: too many came at once
    bool operator==(SealedBuffer const&) const = default;
};

// Reports every buffer that is sealed after this object was made. One thread at a time.
class SealedEvents {
   public:
    SealedEvents(SealedEvents&&) noexcept = default;
    SealedEvents& operator=(SealedEvents&&) noexcept = default;

    // A descriptor for poll(), which belongs to this object. It is readable when next() has
    // something to return, or the store has ended.
    [[nodiscard]] int descriptor() const;
    // The next one if it comes within `timeout`. Throws OwnerGoneError once the store has ended.
    [[nodiscard]] std::optional<SealedBuffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));

   private:
    friend class Store;
    explicit SealedEvents(std::shared_ptr<detail::NewsSource> source)
        : source_(std::move(source)) {}

    std::shared_ptr<detail::NewsSource> source_;
};

// Gets every buffer that is sealed after this object was made, in that order. It needs one message
// less than SealedEvents with Store::get(). One thread at a time; the buffers are ordinary ones.
class SealedBuffers {
   public:
    SealedBuffers(SealedBuffers&&) noexcept = default;
    SealedBuffers& operator=(SealedBuffers&&) noexcept = default;

    // A descriptor for poll(), which belongs to this object. It is readable when next() has a
    // buffer to return, or has to handle released buffers and then returns none.
    [[nodiscard]] int descriptor() const;
    // Returns the next buffer if it comes within `timeout`. With another process's store, buffers
    // that come between calls are held for next(), as many as a connection may hold
    // (ServeOptions::buffers_per_connection); with this process's store none are held. Throws
    // OwnerGoneError once the store has ended. If the buffer's memory cannot be mapped, throws what
    // Store::get() throws; that buffer is skipped and counted.
    [[nodiscard]] std::optional<Buffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));
    // The number of skipped buffers: removed before next() got them, not mappable, or too many at
    // once. next() counts them when it reaches them, also those behind the last buffer.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Store;
    explicit SealedBuffers(std::shared_ptr<detail::NewsSource> source)
        : source_(std::move(source)) {}

    std::shared_ptr<detail::NewsSource> source_;
};

}  // namespace carillon
