// SPDX-License-Identifier: Apache-2.0
// Which client gets a block, and when it is another's.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "carillon/error.hpp"
#include "ipc/attached.hpp"
#include "ipc/server_thread.hpp"

namespace carillon::detail {
namespace {

// Who wants a channel waits so long for a block that is at the last request of a client that went:
// not as long as a client waits for its answer (ConnectOptions::timeout), unless that is said.
constexpr std::chrono::seconds longest_end{4};

}  // namespace

void ServerThread::ask(Session& session, std::uint32_t id, Attach const& attach) const {
    require_types(attach);
    std::size_t const channels = session.leases.size() + session.asks.size();
    if (channels >= options_.channels_per_connection) {
        throw Refusal{RefusalReason::too_many_of_client,
                      fmt::format("it has {} channels already", channels)};
    }
    session.asks.push_back({id, attach, Clock::now()});
}

void ServerThread::lend_to(Session& session) {
    while (!session.asks.empty()) {
        Ask const& ask = session.asks.front();
        try {
            if (!lend(session, ask)) return;
        } catch (Refusal const& refusal) {
            refuse(session, ask.id, refusal.reason, refusal.text);
        }
        session.asks.pop_front();
    }
}

bool ServerThread::lend(Session& session, Ask const& ask) {
    require_open();
    SharedFiles files;
    Attached attached;
    std::optional<Leases::Lent> lent;
    try {
        lent = leases_->begin(session.peer.uid, ask.attach.host_memory
                                                    ? ChannelSharing::exported_from_host
                                                    : Leases::sharing_for(leases_->device()));
        if (lent) attached = describe(*leases_, *lent->memory, files);
        if (lent) session.leases[++last_lease_] = {lent->block, Clock::now()};
    } catch (std::exception const& error) {
        if (lent) give_back(lent->block);
        throw Refusal{RefusalReason::other, error.what()};
    }
    if (!lent) {
        if (leases_->any_ends() && Clock::now() - ask.since < longest_end) return false;
        throw Refusal{RefusalReason::full,
                      fmt::format("all {} blocks of the kernel have clients, or are at the last "
                                  "requests of those that went, or others' "
                                  "users have had all the memory there may be",
                                  leases_->blocks()->channels())};
    }
    attached.lease = last_lease_;
    send(session, ask.id, attached, {files.device.get(), files.host.get()});
    return true;
}

void ServerThread::require_open() const {
    if (told_ != KernelState::running) throw Refusal{RefusalReason::stopping, told_text_};
    KernelState const state = leases_->kernel()->state_word();
    if (state != KernelState::running) throw Refusal{RefusalReason::stopping, why_closed(state)};
}

void ServerThread::require_types(Attach const& attach) const {
    if (attach.object != options_.name) {
        throw Refusal{
            RefusalReason::unknown_object,
            fmt::format(R"(there is no "{}" here, but "{}")", attach.object, options_.name)};
    }
    auto const check = [](char const* what, MessageType const& ours, WireType const& theirs) {
        if (ours.bytes == theirs.bytes && ours.alignment == theirs.alignment &&
            ours.layout == theirs.layout)
            return;
        throw Refusal{RefusalReason::wrong_types,
                      fmt::format("the kernel's {} is {} of {} bytes, the client's {} of {}", what,
                                  ours.name, ours.bytes, theirs.name, theirs.bytes)};
    };
    check("request", leases_->types().request, attach.request);
    check("reply", leases_->types().reply, attach.reply);
}

void ServerThread::end_lease(Session& session, std::uint32_t lease) {
    auto const found = session.leases.find(lease);
    if (found == session.leases.end()) return;
    unsigned const block = found->second.block;
    session.leases.erase(found);
    give_back(block);
}

void ServerThread::give_back(unsigned block) noexcept {
    try {
        leases_->end(block);
    } catch (Error const&) {  // memory that could not be flushed: the block stays lent
    }
}

}  // namespace carillon::detail
