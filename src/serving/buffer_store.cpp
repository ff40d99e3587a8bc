// SPDX-License-Identifier: Apache-2.0
#include "carillon/buffer_store.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "serving/own_access.hpp"
#include "serving/store_session.hpp"

namespace carillon {
using detail::BufferMaker;
using detail::key_of;

BufferStore::BufferStore(Device const& device, BufferStoreOptions const& options)
    : table_(new detail::BufferTable(device, options), detail::DeleteOwn()),
      access_(std::make_shared<detail::OwnAccess>(table_, options.copy_threads)) {}
BufferStore::BufferStore(BufferStore&&) noexcept = default;
BufferStore& BufferStore::operator=(BufferStore&& other) noexcept {
    if (this != &other) {
        BufferStore const before(std::move(*this));
        table_ = std::move(other.table_);
        access_ = std::move(other.access_);
    }
    return *this;
}
BufferStore::~BufferStore() {
    if (table_ != nullptr && !table_->inherited()) table_->close();
}

detail::BufferAccess& BufferStore::access(char const* call) const {
    detail::owned(table_, call).require_own(call);
    return *access_;
}

Server BufferStore::serve(PathArgument const& path, ServeOptions const& options) const {
    (void)access("BufferStore::serve");
    ServeOptions named = options;
    if (!named.name) named.name = "store";
    Server server(named);
    server.add(*this);
    server.open(path);
    return server;
}

MutableBuffer BufferStore::create(NameArgument name, std::size_t bytes) const {
    constexpr char const* call = "BufferStore::create";
    detail::require_buffer(call, name, bytes);
    return BufferMaker::make_mutable(access(call).create(std::string(name), bytes));
}

Buffer BufferStore::get(std::uint64_t id) const {
    constexpr char const* call = "BufferStore::get";
    return BufferMaker::make(access(call).get(key_of(call, id)));
}
Buffer BufferStore::get(NameArgument name) const {
    constexpr char const* call = "BufferStore::get";
    return BufferMaker::make(access(call).get(key_of(call, name)));
}

void BufferStore::remove(std::uint64_t id) const {
    constexpr char const* call = "BufferStore::remove";
    access(call).remove(key_of(call, id));
}
void BufferStore::remove(NameArgument name) const {
    constexpr char const* call = "BufferStore::remove";
    access(call).remove(key_of(call, name));
}

std::vector<BufferInfo> BufferStore::list() const { return access("BufferStore::list").list(); }

SealedEvents BufferStore::sealed_events() const {
    return BufferMaker::make(access("BufferStore::sealed_events").sealed_events());
}

SealedBuffers BufferStore::sealed_buffers() const {
    return BufferMaker::make(access("BufferStore::sealed_buffers").sealed_buffers());
}

Doorbell<Direction::to_device>::DeviceEnd BufferStore::sealed_doorbell() const {
    (void)access("BufferStore::sealed_doorbell");
    return table_->doorbell();
}

StoreConnection::StoreConnection(PathArgument const& path, StoreConnectOptions const& options)
    : session_(detail::StoreSession::connect(path, options)) {}
StoreConnection::StoreConnection(StoreConnection&&) noexcept = default;
StoreConnection& StoreConnection::operator=(StoreConnection&&) noexcept = default;
StoreConnection::~StoreConnection() = default;

detail::StoreSession& StoreConnection::session(char const* call) const {
    detail::StoreSession& session = detail::owned(session_, call);
    session.require_own(call);
    return session;
}

MutableBuffer StoreConnection::create(NameArgument name, std::size_t bytes) const {
    constexpr char const* call = "StoreConnection::create";
    detail::require_buffer(call, name, bytes);
    return BufferMaker::make_mutable(session(call).create(std::string(name), bytes));
}

Buffer StoreConnection::get(std::uint64_t id) const {
    constexpr char const* call = "StoreConnection::get";
    return BufferMaker::make(session(call).get(key_of(call, id)));
}
Buffer StoreConnection::get(NameArgument name) const {
    constexpr char const* call = "StoreConnection::get";
    return BufferMaker::make(session(call).get(key_of(call, name)));
}

void StoreConnection::remove(std::uint64_t id) const {
    constexpr char const* call = "StoreConnection::remove";
    session(call).remove(key_of(call, id));
}
void StoreConnection::remove(NameArgument name) const {
    constexpr char const* call = "StoreConnection::remove";
    session(call).remove(key_of(call, name));
}

std::vector<BufferInfo> StoreConnection::list() const {
    return session("StoreConnection::list").list();
}

SealedEvents StoreConnection::sealed_events() const {
    return BufferMaker::make(session("StoreConnection::sealed_events").sealed_events());
}

SealedBuffers StoreConnection::sealed_buffers() const {
    return BufferMaker::make(session("StoreConnection::sealed_buffers").sealed_buffers());
}

ConnectedOwner const& StoreConnection::owner() const {
    return session("StoreConnection::owner").owner();
}
std::string StoreConnection::why_host_memory() const {
    return session("StoreConnection::why_host_memory").why_host_memory();
}

}  // namespace carillon
