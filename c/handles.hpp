// SPDX-License-Identifier: Apache-2.0
// The handles of carillon.h, and the way its calls are made: no exception leaves one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "carillon.h"
#include "carillon/bytes.hpp"
#include "carillon/bytes_kernel.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/either_way.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "carillon/server.hpp"
#include "carillon/store.hpp"

struct carillon_device {
    carillon::Device device;
};
struct carillon_memory {
    carillon::Memory memory;
};
struct carillon_connection {
    carillon::Connection connection;
};
struct carillon_kernel {
    std::shared_ptr<carillon::BytesKernel> kernel;
    std::chrono::nanoseconds stop_timeout;
};
struct carillon_server {
    carillon::Server server;
};
struct carillon_client {
    using Client = carillon::Channel<carillon::Bytes, carillon::Bytes>;

    std::shared_ptr<carillon::BytesKernel> kernel;  // whose client it is, or none
    Client* kernels = nullptr;
    std::unique_ptr<Client> own{};  // of another process's

    [[nodiscard]] Client& client() const { return kernels != nullptr ? *kernels : *own; }
};
// An end keeps the memory of its object.
struct carillon_ring {
    std::shared_ptr<carillon::detail::ObjectOfBytes<carillon::Ring>> ring;
};
struct carillon_ring_end {
    decltype(carillon_ring::ring) ring;
    carillon::detail::EndOfBytes<carillon::Ring> end;
};
struct carillon_mailbox {
    std::shared_ptr<carillon::detail::ObjectOfBytes<carillon::Mailbox>> mailbox;
};
struct carillon_mailbox_end {
    decltype(carillon_mailbox::mailbox) mailbox;
    carillon::detail::EndOfBytes<carillon::Mailbox> end;
};
struct carillon_chunk_ring {
    carillon::ChunkRing<carillon::Bytes> ring;
};
struct carillon_chunk_ring_end {
    carillon::ChunkRing<carillon::Bytes> ring;
    carillon::ChunkRing<carillon::Bytes>::DeviceEnd end;
};
struct carillon_chunk {
    carillon::Chunk<carillon::Bytes> chunk;
};
struct carillon_store {
    carillon::Store store;
};
struct carillon_store_server {
    carillon::Server server;
};
struct carillon_store_events {
    carillon::SealedEvents events;
};
struct carillon_store_sealed {
    carillon::SealedBuffers buffers;
};
struct carillon_buffer {
    carillon::Buffer buffer;
};

namespace carillon::c {

using AnyRing = detail::ObjectOfBytes<Ring>;
using AnyMailbox = detail::ObjectOfBytes<Mailbox>;

// Keeps the error that is being handled for this thread, in the name of `call`, and returns its
// status.
carillon_status keep_error(std::string_view call) noexcept;

// The door of a call: `body` returns nothing or a status.
template <class Body>
carillon_status guarded(std::string_view call, Body&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return CARILLON_OK;
        } else {
            return body();
        }
    } catch (...) {
        return keep_error(call);
    }
}

[[nodiscard]] inline carillon_status now(bool done) {
    return done ? CARILLON_OK : CARILLON_NOT_NOW;
}

// The object at a pointer. Throws UsageError for a null pointer.
template <class T>
[[nodiscard]] T& checked(T* pointer, std::string_view what) {
    if (pointer == nullptr) [[unlikely]]
        throw UsageError(fmt::format("the {} is a null pointer", what));
    return *pointer;
}
[[nodiscard]] inline std::span<std::byte const> bytes_at(void const* at, std::size_t size) {
    if (size != 0) (void)checked(static_cast<std::byte const*>(at), "message");
    return {static_cast<std::byte const*>(at), size};
}
[[nodiscard]] inline std::span<std::byte> room_at(void* at, std::size_t size) {
    if (size != 0) (void)checked(static_cast<std::byte*>(at), "output for a message");
    return {static_cast<std::byte*>(at), size};
}
// The size of `count` messages of `bytes` each. Throws UsageError if it is more than can be.
[[nodiscard]] std::size_t bytes_of_all(std::size_t bytes, std::size_t count);

// No struct of a newer carillon.h will be so large: a larger `size` is bytes of before.
constexpr std::size_t largest_struct = 4096;

// A copy of the caller's struct, which may have fewer members or more: members that it lacks are 0.
// Throws UsageError without a size, UnsupportedError for a member that is set and not known here.
template <class Struct>
[[nodiscard]] Struct known(Struct const* given, std::string_view what) {
    Struct all{};
    if (given == nullptr) return all;
    if (given->size < sizeof(given->size)) {
        throw UsageError(fmt::format("the size of the {} is not set: set it to sizeof", what));
    }
    if (given->size > largest_struct) {
        throw UsageError(
            fmt::format("the size of the {} is {} bytes: set it to sizeof", what, given->size));
    }
    auto const* const bytes = reinterpret_cast<unsigned char const*>(given);
    if (given->size > sizeof(all) && std::any_of(bytes + sizeof(all), bytes + given->size,
                                                 [](auto byte) { return byte != 0; })) {
        throw UnsupportedError(
            fmt::format("the {} come from a newer carillon.h than this library", what));
    }
    std::memcpy(&all, given, std::min(given->size, sizeof(all)));
    return all;
}
// Writes as many members as the caller knows.
template <class Struct>
void tell(Struct const& all, Struct* to) {
    std::size_t const size = checked(to, "struct").size;
    if (size < sizeof(size))
        throw UsageError("the size of the struct is not set: set it to sizeof");
    std::memcpy(to, &all, std::min(size, sizeof(all)));
    to->size = size;
}
// Writes the first `room` of `all`, each made by `of`, and returns how many there are. The caller's
// structs, of which the first one's size is set, may be smaller or larger than this library's.
// Throws UsageError for a size that none can have.
template <class All, class Make, class Struct>
[[nodiscard]] std::size_t tell_all(All const& all, Make&& of, Struct* to, std::size_t room) {
    std::size_t const stride = room == 0 ? 0 : to->size;
    if (stride % alignof(Struct) != 0 || stride > largest_struct) {
        throw UsageError(
            fmt::format("the size of the first struct is {} bytes: set it to sizeof", stride));
    }
    auto* at = reinterpret_cast<std::byte*>(to);
    std::size_t count = 0;
    for (auto const& each : all) {
        if (count++ >= room) continue;
        auto* const next = reinterpret_cast<Struct*>(at);
        next->size = stride;
        tell(of(each), next);
        at += stride;
    }
    return count;
}
// `given`, or `otherwise` if that is 0.
[[nodiscard]] inline std::chrono::nanoseconds time_or(std::int64_t given,
                                                      std::chrono::nanoseconds otherwise) {
    return given == 0 ? otherwise : std::chrono::nanoseconds(given);
}
// The owner's user; none for a null pointer.
[[nodiscard]] inline std::optional<std::uint32_t> user_at(std::uint32_t const* user) {
    return user == nullptr ? std::nullopt : std::optional(*user);
}
template <std::size_t size>
void copy_name(char (&to)[size], std::string_view text) {
    std::size_t const length = std::min(text.size(), size - 1);
    std::fill(std::copy_n(text.data(), length, to), to + size, '\0');
}

// The members that both structs of a connection have.
template <class Given>
[[nodiscard]] ConnectOptions connect_options(Given const& given) {
    ConnectOptions connect;
    if (given.name != nullptr) connect.name = given.name;
    connect.timeout = time_or(given.timeout_ns, connect.timeout);
    connect.wait_for_owner = std::chrono::nanoseconds(given.wait_for_owner_ns);
    connect.host_memory = given.host_memory != 0;
    connect.owner_user = user_at(given.owner_user);
    return connect;
}
[[nodiscard]] inline ServeOptions serve_options(carillon_serve_options const& given) {
    ServeOptions serve;
    if (given.name != nullptr) serve.name = given.name;
    if (given.mode != 0) serve.mode = given.mode;
    return serve;
}

[[nodiscard]] inline OutOfLine out_of_line(int flag) {
    return flag != 0 ? OutOfLine::written : OutOfLine::none;
}
[[nodiscard]] inline BytesType type_of(carillon_type const& type) {
    return {type.bytes, type.name != nullptr ? type.name : ""};
}
void require_size(std::size_t bytes, std::size_t wanted);
[[nodiscard]] Direction direction_of(carillon_direction direction);
[[nodiscard]] inline carillon_direction told(Direction direction) {
    return direction == Direction::to_device ? CARILLON_TO_DEVICE : CARILLON_TO_HOST;
}
[[nodiscard]] carillon_state state_of(KernelState state);

// Closes a handle.
template <class Handle>
void close(Handle** handle) noexcept {
    if (handle == nullptr) return;
    delete *handle;
    *handle = nullptr;
}

// Opens a handle with what `make` returns. It holds NULL if that throws.
template <class Handle, class Make>
carillon_status open(std::string_view call, Handle** handle, Make&& make) noexcept {
    return guarded(call, [&] {
        checked(handle, "output for the handle") = nullptr;
        if constexpr (std::is_same_v<decltype(make()), Handle>) {
            *handle = new Handle(make());
        } else {
            *handle = new Handle{make()};
        }
    });
}

}  // namespace carillon::c
