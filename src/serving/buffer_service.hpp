// SPDX-License-Identifier: Apache-2.0
// The part of a server's thread that lends buffers of a store to clients.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "serving/session.hpp"

namespace carillon::detail {

// All calls are made with the server's lock.
class BufferService {
   public:
    // `wakeup` is woken whenever a buffer is sealed, and when the store goes.
    BufferService(std::shared_ptr<BufferTable> table, ServeOptions const& options,
                  Reception& reception, Sessions const& sessions, Wakeup const& wakeup);

    // Whether the program has destroyed the store.
    [[nodiscard]] bool closed() const { return table_->closed(); }
    [[nodiscard]] StoreStatus status() const { return table_->status(); }
    // Logs a line if there can be fewer buffers than the options say.
    void log_limits() {
        if (std::string const why = table_->why_fewer_buffers(); !why.empty()) reception_.log(why);
    }

    // Answers a client's messages. Each throws Refused.
    void answer(Session& session, std::uint32_t id, CreateBuffer const& create) {
        require_hold(session);
        lend(session, id,
             table_->create(session.who, create.name, create.bytes, create.host_memory));
    }
    void answer(Session& session, std::uint32_t id, GetBuffer const& get) {
        require_hold(session);
        lend(session, id, table_->get(session.who, get.key));
    }
    void answer(Session& session, std::uint32_t id, SealBuffer const& seal) {
        table_->seal(session.who, seal.buffer, wakeup_.get());
        // Followers come first: they wait for the buffer, and its maker waits for nothing.
        tell_sealed();
        reception_.send(session, id, BufferDone{});
    }
    void answer(Session& session, std::uint32_t /*id*/, ReleaseBuffer const& released) {
        (void)release(session, released.buffer);
    }
    void answer(Session& session, std::uint32_t /*id*/, UnmappedBuffer const& unmapped) {
        if (!release(session, unmapped.buffer)) return;
        reception_.log(session, fmt::format("could not map the buffer number {}: {}",
                                            unmapped.buffer, unmapped.text));
    }
    void answer(Session& session, std::uint32_t /*id*/, ForgetMemory const& forget) {
        table_->forget(session.who.number, forget.memory);
    }
    void answer(Session& session, std::uint32_t id, RemoveBuffer const& remove) {
        std::uint64_t const spare = table_->remove(session.who, remove.key);
        reception_.send(session, id, BufferDone{spare});
    }
    void answer(Session& session, std::uint32_t id, NextBuffer const& next) {
        reception_.send(session, id, table_->after(next.buffer).value_or(BufferInfo{}));
    }
    void answer(Session& session, std::uint32_t id, WatchBuffers const& watch);
    void answer(Session& session, std::uint32_t id, ShowMemory const& show);
    void leave(Session& session) noexcept { table_->leave(session.who.number); }
    // The step of a turn: sends clients the news of sealed buffers.
    void tell_sealed() {
        for (auto const& session : sessions_) tell_sealed(*session);
    }

   private:
    // Lends a buffer that the session got. If it throws, the session does not hold the buffer.
    // `missed`: the session did not ask for it, and missed so many before it.
    void lend(Session& session, std::uint32_t id, HeldBuffer const& held,
              std::optional<std::uint64_t> missed = std::nullopt);
    // False: the session does not hold it.
    bool release(Session& session, std::uint64_t buffer) noexcept {
        if (!table_->release(session.who.number, buffer)) return false;
        --session.holds;
        session.unasked.erase(buffer);
        return true;
    }
    // Throws Refused.
    void require_hold(Session& session) const;
    void tell_sealed(Session& session);
    // False: it cannot be lent now.
    [[nodiscard]] bool lend_sealed(Session& session, SealedBuffer const& sealed);

    std::shared_ptr<BufferTable> table_;
    ServeOptions const& options_;
    Reception& reception_;
    Sessions const& sessions_;
    std::shared_ptr<Wakeup const> wakeup_;
};

// A number that no other connection of this process has, to any store.
[[nodiscard]] HolderNumber new_holder();

}  // namespace carillon::detail
