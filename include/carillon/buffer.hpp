// SPDX-License-Identifier: Apache-2.0
// Buffers of a store (docs/guide/store.md): device memory that several processes share by a name or
// a number.
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

// A buffer, as a list of buffers describes it.
struct BufferInfo {
    std::uint64_t id = 0;    // unique in its store; from 1 on
    std::string name;        // empty: it has no name
    std::size_t size = 0;    // bytes
    std::size_t memory = 0;  // bytes of the device that it takes up
    bool sealed = false;
    bool host_memory = false;
    unsigned holders = 0;      // mutable or immutable objects for it, in all processes
    std::int32_t process = 0;  // the process that made it; 0 in another namespace
    std::uint32_t user = 0;    // the user that made it
    bool operator==(BufferInfo const&) const = default;
};

// A buffer of a store. Copies share it. Until seal() it is mutable: its maker alone has it and
// writes it, by one thread at a time, and it goes with the last copy, or with the process. After
// seal() nobody writes it, any thread may use it, and its memory stays until the last copy goes,
// even if the buffer is removed or the store ends. After a move each call throws UsageError. In a
// forked child each call throws ForkError.
class Buffer {
   public:
    [[nodiscard]] std::uint64_t id() const;
    [[nodiscard]] std::string const& name() const;
    [[nodiscard]] std::size_t size() const;  // bytes
    [[nodiscard]] bool is_mutable() const;   // it was not sealed
    // Whether it is host memory: on the emulated device, or if the maker could not map the GPU's.
    [[nodiscard]] bool is_cpu() const;

    // The mapping in this process, read-only where the system allows that. Each load from a GPU's
    // memory is a round trip across the bus: read() and HostMirror copy in whole lines.
    [[nodiscard]] std::span<std::byte const> data() const;
    // The address for kernels of this process. Throws UnsupportedError for a GPU's memory if
    // ConnectOptions::device was not that GPU, and for host memory used with a GPU.
    [[nodiscard]] void const* device_ptr() const;
    // Copies bytes [offset, offset + to.size()). Throws UsageError for a range outside the buffer
    // and for a null pointer.
    void read(std::span<std::byte> to, std::size_t offset = 0) const;

    // The next four throw UsageError for a sealed buffer.
    // The mapping in this process. A GPU's is usually write-combining: write whole lines and do not
    // read. It is void after seal(), as data() and both device pointers are. The bytes are 0 at
    // first, or those that a buffer of the same user has left there.
    [[nodiscard]] std::span<std::byte> mutable_data() const;
    // device_ptr() for kernels that write. They must have finished before seal().
    [[nodiscard]] void* mutable_device_ptr() const;
    // Copies to bytes [offset, offset + from.size()), in whole lines where that is faster. Throws
    // UsageError for a range outside the buffer and for a null pointer.
    void write(std::span<std::byte const> from, std::size_t offset = 0);
    // Makes the buffer immutable, so that others may get it, and returns a copy of this object.
    // Then all that this process has written is in the memory, and pointers to it are void. The
    // buffer stays mutable after RefusedError (it was removed meanwhile, or another process can
    // still write it: docs/guide/store.md says where that can be known) and after UsageError (a
    // HostMirror has yet to write to it). After OwnerGoneError and TimeoutError it is unknown
    // whether the buffer is or will be sealed: it may not be written (UsageError) unless the system
    // keeps the two apart. seal() again finds out.
    Buffer seal();

   private:
    friend class Store;
    friend class SealedBuffers;
    friend class HostMirror;
    explicit Buffer(std::shared_ptr<detail::BufferHold> hold) : hold_(std::move(hold)) {}

    std::shared_ptr<detail::BufferHold> hold_;
};

struct MirrorOptions {
    bool read = true;        // the buffer's bytes are copied to the mirror first; otherwise 0
    bool write_back = true;  // the destructor copies them back if the buffer is mutable
};

// A buffer's bytes in ordinary memory, where loads are cheap. A mirror writes back all bytes: with
// two mirrors of one buffer the later write_back() replaces the earlier one's bytes. Bytes
// written to the mirror of a sealed buffer stay there.
class HostMirror {
   public:
    // A mutable buffer cannot be sealed until the mirror has written back or is destroyed. Keep the
    // Buffer until then: once it has gone, the mirror writes nothing back. Reading a mutable buffer
    // across the bus is slow.
    explicit HostMirror(Buffer const& buffer, MirrorOptions const& options = {});
    HostMirror& operator=(HostMirror&&) = delete;
    // Writes back, unless write_back() has done so or the buffer has gone; an error is dropped.
    ~HostMirror();

    [[nodiscard]] std::span<std::byte> data() { return bytes_; }
    [[nodiscard]] std::span<std::byte const> data() const { return bytes_; }
    // Writes back now, and the destructor does not do so again. Throws UsageError if there is no
    // buffer to write back to, if the mirror has been written back, or if the buffer has gone.
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
    std::uint64_t missed = 0;  // buffers without an event since the last one: too many came
    bool operator==(SealedBuffer const&) const = default;
};

// Reports every buffer that is sealed after this object was made. One thread at a time.
class SealedEvents {
   public:
    SealedEvents(SealedEvents&&) noexcept = default;
    SealedEvents& operator=(SealedEvents&&) noexcept = default;

    // For poll(): readable when next() has something to return, or the store has gone. The
    // descriptor belongs to this object.
    [[nodiscard]] int descriptor() const;
    // The next one, if it comes within `timeout`. Throws OwnerGoneError once the store has gone.
    [[nodiscard]] std::optional<SealedBuffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));

   private:
    friend class Store;
    explicit SealedEvents(std::shared_ptr<detail::NewsSource> source)
        : source_(std::move(source)) {}

    std::shared_ptr<detail::NewsSource> source_;
};

// Gets every buffer that is sealed after this object was made, in that order: like get(), but one
// message earlier. One thread at a time; the buffers that it returns are ordinary ones.
class SealedBuffers {
   public:
    SealedBuffers(SealedBuffers&&) noexcept = default;
    SealedBuffers& operator=(SealedBuffers&&) noexcept = default;

    // For poll(): readable when next() has a buffer to return, or released buffers to attend to, in
    // which case it returns none. The descriptor belongs to this object.
    [[nodiscard]] int descriptor() const;
    // The next buffer, if one comes within `timeout`. With another process's store, buffers that
    // come between calls are held for next(), as many as a connection may hold
    // (ServeOptions::buffers_per_connection); with this process's store none are held. Throws
    // OwnerGoneError once the store has gone, and what get() throws if the buffer's memory cannot
    // be mapped: that buffer is lost, and counted.
    [[nodiscard]] std::optional<Buffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));
    // How many were passed over: removed before next() got them, not mappable, or too many at once.
    // next() counts them when it reaches them, also those behind the last buffer.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Store;
    explicit SealedBuffers(std::shared_ptr<detail::NewsSource> source)
        : source_(std::move(source)) {}

    std::shared_ptr<detail::NewsSource> source_;
};

}  // namespace carillon
