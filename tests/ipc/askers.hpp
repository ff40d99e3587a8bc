// SPDX-License-Identifier: Apache-2.0
// A client of a kernel and a client of a store: each asks an owner for memory. Tests of what both
// have in common are written once, over these two.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "carillon/carillon.hpp"
#include "ipc/ipc_handlers.hpp"
#include "ipc/peer_process.hpp"
#include "serving/client_messages.hpp"

namespace carillon::test {

struct ChannelAsker {
    static constexpr char const* connects = "Connection";
    static constexpr char const* asks = "Connection::channel";
    static constexpr char const* reports = "Connection::status";
    static constexpr std::size_t descriptors = 2;
    static constexpr std::size_t memory_bytes = std::size_t{1} << 20;

    explicit ChannelAsker(std::string const& path, ConnectOptions const& options = {})
        : owner(path, options) {}
    void ask() const { (void)owner.channel<Ask, Told>(); }
    void report() const { (void)owner.status(); }
    // A lease as an owner sends it, without any memory behind it.
    [[nodiscard]] static detail::Attached lent() {
        detail::Attached attached;
        attached.lease = 1;
        attached.memory.source = MemorySource::memfd;
        attached.memory.bytes = attached.host_bytes = memory_bytes;
        attached.shape = {8, 1, 1};
        return attached;
    }

    Connection owner;
};

struct BufferAsker {
    static constexpr char const* connects = "Store";
    static constexpr char const* asks = "Store::create";
    static constexpr char const* reports = "Store::list";
    static constexpr std::size_t descriptors = 1;
    static constexpr std::size_t memory_bytes = 65536;

    explicit BufferAsker(std::string const& path, ConnectOptions const& options = {})
        : owner(path, options) {}
    void ask() const { (void)owner.create("a", 100); }
    void report() const { (void)owner.list(); }
    [[nodiscard]] static detail::LentBuffer lent(bool sealed = false) {
        detail::LentBuffer lent;
        lent.info.id = 7;
        lent.info.size = 100;
        lent.info.sealed = sealed;
        lent.memory.source = MemorySource::host;
        lent.memory_number = 9;
        lent.memory.bytes = memory_bytes;
        lent.descriptor = true;
        return lent;
    }

    Store owner;
};

using Askers = testing::Types<ChannelAsker, BufferAsker>;
struct AskerName {
    template <class Asker>
    static std::string GetName(int /*index*/) {
        return Asker::connects;
    }
};

}  // namespace carillon::test
