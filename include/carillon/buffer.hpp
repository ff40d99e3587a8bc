// SPDX-License-Identifier: Apache-2.0
// Buffers of a store (docs/store.md): device memory that several processes share by a name or a
// number. Who makes one writes it and seals it; then it stays as it is, and any may read it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/detail/wire/language.hpp"

namespace carillon {
namespace detail {
class BufferHold;
template <class Sealed>
class NewsSource;
struct BufferMaker;
}  // namespace detail

// A buffer, as a list of them tells of it.
struct BufferInfo {
    std::uint64_t id = 0;    // never another's of the same store; from 1 on
    std::string name;        // empty: it has none
    std::size_t size = 0;    // bytes
    std::size_t memory = 0;  // bytes that it takes of the device
    bool sealed = false;
    bool host_memory = false;
    unsigned holders = 0;      // mutable or immutable buffers of it, in all processes
    std::int32_t process = 0;  // that made it; 0 in another namespace
    std::uint32_t user = 0;    // that made it
};

// A buffer that nobody writes any more. Copies share it; its memory stays until the last of them
// lets go of it, removed or not, and whatever becomes of the store. From any thread. What was moved
// from has none: each call throws UsageError. A child that was forked gets a ForkError.
class Buffer {
   public:
    [[nodiscard]] std::uint64_t id() const;
    [[nodiscard]] std::string const& name() const;
    [[nodiscard]] std::size_t size() const;  // bytes
    [[nodiscard]] static constexpr bool is_mutable() { return false; }
    // Whether it is memory of the host's: of the emulated device, or where the maker could not map
    // the GPU's.
    [[nodiscard]] bool is_cpu() const;

    // Where this process has it mapped, read-only as far as that can be. Each load from a GPU's
    // memory is a round trip across the bus: read() or HostMirror copies in whole lines.
    [[nodiscard]] std::span<std::byte const> data() const;
    // Where kernels of this process find it. Throws UnsupportedError for a GPU's where
    // ConnectOptions::device was not that GPU, and for the host's memory beside a GPU.
    [[nodiscard]] void const* device_ptr() const;
    // Copies bytes [offset, offset + to.size()). Throws UsageError for a range outside it and for a
    // null pointer.
    void read(std::span<std::byte> to, std::size_t offset = 0) const;

   private:
    friend struct detail::BufferMaker;
    friend class MutableBuffer;
    explicit Buffer(std::shared_ptr<detail::BufferHold> hold);
    [[nodiscard]] detail::BufferHold& hold(char const* call) const;

    std::shared_ptr<detail::BufferHold> hold_;
};

// A buffer that its maker writes. It goes with this object, or with the process, if it has not been
// sealed by then. One thread at a time. What has been sealed, or moved from, is written no more:
// each call throws UsageError. A child that was forked gets a ForkError.
class MutableBuffer {
   public:
    MutableBuffer(MutableBuffer&&) noexcept;
    MutableBuffer& operator=(MutableBuffer&&) noexcept;
    MutableBuffer(MutableBuffer const&) = delete;
    MutableBuffer& operator=(MutableBuffer const&) = delete;
    ~MutableBuffer();

    [[nodiscard]] std::uint64_t id() const;
    [[nodiscard]] std::string const& name() const;
    [[nodiscard]] std::size_t size() const;  // bytes
    [[nodiscard]] static constexpr bool is_mutable() { return true; }
    [[nodiscard]] bool is_cpu() const;  // as Buffer's

    // Where this process has it mapped: a GPU's write-combining as a rule, so write whole lines and
    // do not read. Void from seal() on. The bytes are 0 at first, or what a buffer of the same user
    // has left there.
    [[nodiscard]] std::span<std::byte> mutable_data() const;
    // Where kernels of this process find it; as Buffer's. What they write is to be done before
    // seal().
    [[nodiscard]] void* device_ptr() const;
    // Copies to bytes [offset, offset + from.size()), in whole lines where that is faster. Throws
    // UsageError for a range outside it and for a null pointer.
    void write(std::span<std::byte const> from, std::size_t offset = 0);

    // From now on nobody writes it, and others may get it; all that this process has written is in
    // the memory when this returns. Pointers to it are void. Throws RefusedError where it was
    // removed meanwhile, or another process still could write it (docs/store.md says where that can
    // be known), and UsageError while a HostMirror is to write to it; it stays mutable then. Throws
    // OwnerGoneError, TimeoutError: nobody knows then whether it is sealed, or will be, and it may
    // not be written (UsageError) but where the system keeps the two apart. seal() again finds out.
    [[nodiscard]] Buffer seal();

   private:
    friend struct detail::BufferMaker;
    friend class HostMirror;
    explicit MutableBuffer(std::shared_ptr<detail::BufferHold> hold);
    [[nodiscard]] detail::BufferHold& hold(char const* call) const;

    std::shared_ptr<detail::BufferHold> hold_;
    bool sealed_ = false;
};

struct MirrorOptions {
    bool read = true;        // the buffer's bytes are copied to the mirror at first
    bool write_back = true;  // and the mirror's to the buffer when it goes; of a MutableBuffer
};

// A buffer's bytes in ordinary memory, where loads are cheap. It writes back all of them: of two
// mirrors of one buffer the later one's bytes replace what the earlier one wrote back.
class HostMirror {
   public:
    // Of a buffer that is written, which may be moved meanwhile. Until this has written back, or
    // goes, the buffer cannot be sealed. Without `read` the bytes are 0. Reading what is not sealed
    // across the bus takes long.
    explicit HostMirror(MutableBuffer& buffer, MirrorOptions const& options = {});
    // Of one that is not: what is written here stays here.
    explicit HostMirror(Buffer const& buffer);
    HostMirror(HostMirror const&) = delete;
    HostMirror& operator=(HostMirror const&) = delete;
    // Writes back, unless write_back() has or the buffer has gone; an error is dropped.
    ~HostMirror();

    [[nodiscard]] std::span<std::byte> data() { return bytes_; }
    [[nodiscard]] std::span<std::byte const> data() const { return bytes_; }
    // Now and not again, at the end either. Throws UsageError where there is nothing to write back
    // to, it has been written back, or the buffer has gone.
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
    std::uint64_t missed = 0;  // so many between the last one and this were not told: too many came
};

// Tells of every buffer that is sealed from when it was made on. One thread at a time.
class SealedEvents {
   public:
    SealedEvents(SealedEvents&&) noexcept;
    SealedEvents& operator=(SealedEvents&&) noexcept;
    SealedEvents(SealedEvents const&) = delete;
    SealedEvents& operator=(SealedEvents const&) = delete;
    ~SealedEvents();

    // For poll(): readable when next() has something to say, be it that the store has gone. It
    // stays this object's.
    [[nodiscard]] int descriptor() const;
    // The next one, if it comes within `timeout`. Throws OwnerGoneError when the store has gone.
    [[nodiscard]] std::optional<SealedBuffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));

   private:
    friend struct detail::BufferMaker;
    using Source = detail::NewsSource<SealedBuffer>;
    explicit SealedEvents(std::unique_ptr<Source> source);
    [[nodiscard]] Source& source(char const* call) const;

    std::unique_ptr<Source> source_;
};

// Gets every buffer that is sealed from when it was made on, in that order: each comes as get()
// returns it, one message earlier. One thread at a time; what it returns is as any other Buffer.
class SealedBuffers {
   public:
    SealedBuffers(SealedBuffers&&) noexcept;
    SealedBuffers& operator=(SealedBuffers&&) noexcept;
    SealedBuffers(SealedBuffers const&) = delete;
    SealedBuffers& operator=(SealedBuffers const&) = delete;
    ~SealedBuffers();

    // For poll(): readable when next() has something to say, or to do for those that were let go,
    // and returns none. It stays this object's.
    [[nodiscard]] int descriptor() const;
    // The next one, if it comes within `timeout`. Of another process's store those that come while
    // next() is not called are held for it, as many as a connection may hold
    // (ServeOptions::buffers_per_connection); of this process's none are. Throws
    // OwnerGoneError when the store has gone, and what get() throws where the buffer's memory
    // cannot be mapped: that one is lost, and counted.
    [[nodiscard]] std::optional<Buffer> next(
        std::chrono::nanoseconds timeout = std::chrono::nanoseconds(0));
    // How many were passed over: removed before they could be got, not mapped, or too many came.
    // next() counts them as it comes to them, those behind the last buffer, too.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend struct detail::BufferMaker;
    using Source = detail::NewsSource<std::shared_ptr<detail::BufferHold>>;
    explicit SealedBuffers(std::unique_ptr<Source> source);
    [[nodiscard]] Source& source(char const* call) const;

    std::unique_ptr<Source> source_;
};

}  // namespace carillon
