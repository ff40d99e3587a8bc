// SPDX-License-Identifier: Apache-2.0
#include "carillon/store.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "serving/buffer_access.hpp"
#include "serving/buffer_table.hpp"
#include "serving/link.hpp"

namespace carillon {
using detail::BufferMaker;
using detail::key_of;

Store::Store(Device const& device, StoreOptions const& options)
    : Store(detail::make_store(device, options)) {}
Store::Store(PathArgument const& path, ConnectOptions const& options)
    : Store(detail::find_store("Store", detail::Link::connect("Store", path, options))) {}
Store::Store(std::shared_ptr<detail::BufferAccess> access) : access_(std::move(access)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&& other) noexcept {
    if (this != &other) {
        Store const before(std::move(*this));
        access_ = std::move(other.access_);
    }
    return *this;
}
Store::~Store() {
    if (access_ != nullptr) access_->close();
}

detail::BufferAccess& Store::access(char const* call) const {
    detail::BufferAccess& access = detail::owned(access_, call);
    access.require_own(call);
    return access;
}

MutableBuffer Store::create(NameArgument name, std::size_t bytes) const {
    constexpr char const* call = "Store::create";
    detail::require_buffer(call, name, bytes);
    return BufferMaker::make_mutable(access(call).create(call, std::string(name), bytes));
}

Buffer Store::get(std::uint64_t id) const {
    constexpr char const* call = "Store::get";
    return BufferMaker::make(access(call).get(call, key_of(call, id)));
}
Buffer Store::get(NameArgument name) const {
    constexpr char const* call = "Store::get";
    return BufferMaker::make(access(call).get(call, key_of(call, name)));
}

void Store::remove(std::uint64_t id) const {
    constexpr char const* call = "Store::remove";
    access(call).remove(call, key_of(call, id));
}
void Store::remove(NameArgument name) const {
    constexpr char const* call = "Store::remove";
    access(call).remove(call, key_of(call, name));
}

std::vector<BufferInfo> Store::list() const {
    constexpr char const* call = "Store::list";
    return access(call).list(call);
}

SealedEvents Store::sealed_events() const {
    constexpr char const* call = "Store::sealed_events";
    return BufferMaker::make(access(call).sealed_events(call));
}

SealedBuffers Store::sealed_buffers() const {
    constexpr char const* call = "Store::sealed_buffers";
    return BufferMaker::make(access(call).sealed_buffers(call));
}

Server Store::serve(PathArgument const& path, ServeOptions const& options) const {
    constexpr char const* call = "Store::serve";
    (void)access(call).table(call);
    ServeOptions named = options;
    if (!named.name) named.name = "store";
    Server server(named);
    server.add(*this);
    server.open(path);
    return server;
}

Doorbell<Direction::to_device>::DeviceEnd Store::sealed_doorbell() const {
    constexpr char const* call = "Store::sealed_doorbell";
    return access(call).table(call)->doorbell();
}

ConnectedOwner const& Store::owner() const {
    constexpr char const* call = "Store::owner";
    return access(call).owner(call);
}

std::string Store::why_host_memory() const {
    return access("Store::why_host_memory").why_host_memory();
}

}  // namespace carillon
