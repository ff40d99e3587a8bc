// SPDX-License-Identifier: Apache-2.0
// The part of a server's thread that lends places of kernels and objects to clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "carillon/server.hpp"
#include "serving/client_messages.hpp"
#include "serving/reception.hpp"
#include "serving/session.hpp"

namespace carillon::detail {

// All calls are made with the server's lock.
class ObjectService {
   public:
    ObjectService(ServeOptions const& options, Reception& reception, Sessions const& sessions)
        : options_(options), reception_(reception), sessions_(sessions) {}

    [[nodiscard]] bool empty() const { return objects_.empty(); }
    // Returns objects that the caller destroys without the lock. Throws UsageError for the name,
    // and if another object has it that has not ended.
    [[nodiscard]] std::vector<std::unique_ptr<ServedItem>> add(std::unique_ptr<ServedItem> object);

    // Answers a client's messages. Each throws Refused.
    void answer(Session& session, std::uint32_t id, Attach const& attach);
    void answer(Session& session, std::uint32_t id, Mapped const& mapped);
    void answer(Session& session, std::uint32_t /*id*/, Detach const& detach) {
        end_lease(session, detach.lease);
    }
    void answer(Session& session, std::uint32_t /*id*/, Drained const& drained) {
        auto const found = session.leases.find(drained.lease);
        if (found != session.leases.end()) (*found->second.object)->drained(found->second.place);
    }
    // Tells a client that has come now of objects that do not run.
    void tell_states(Session& session) {
        for (auto const& object : objects_) {
            if (object->told() == KernelState::running) continue;
            reception_.send(session, 0,
                            Notice{object->name(), object->told(), object->told_text()});
        }
    }
    void leave(Session& session) noexcept {
        while (!session.leases.empty()) end_lease(session, session.leases.begin()->first);
    }

    // The steps of a turn, in this order.
    // Ends the leases of objects whose names other objects have now, before clients are told of
    // those and lent them.
    void take_back_former() {
        while (!former_.empty()) {
            take_back_all(*former_.back());
            unused_.push_back(std::move(former_.back()));
            former_.pop_back();
        }
    }
    // Throws Refused.
    [[nodiscard]] Seen look(Look const& look) const;
    // Looks at the state of each object, and at what clients count.
    void watch(unsigned turn) {
        tell_news(turn % turns_before_asking == 0);
        count_as_drained();
        look_at_counters();
    }
    // Lends what clients wait for.
    void lend() {
        for (auto const& session : sessions_) lend_to(*session);
    }
    // How soon the next turn has to come.
    [[nodiscard]] std::chrono::milliseconds period() const;

   private:
    using Clock = std::chrono::steady_clock;
    // The thread asks the driver once in so many turns whether a kernel has ended: that may take a
    // lock.
    static constexpr unsigned turns_before_asking = 10;

    // These throw Refused. The first checks the sums of what a connection and a user have and ask
    // for, with the next.
    void require_within_limits(Session const& session, ServedItem const& next) const;
    void require_share(Session const& session, ServedItem const& object) const;
    [[nodiscard]] ServedItem& object_of(Attach const& attach) const;

    void lend_to(Session& session);
    // False while the client has to wait. Throws Refused.
    [[nodiscard]] bool lend(Session& session, AwaitedPlace const& ask);
    void take_back_all(ServedItem const& object);
    void end_lease(Session& session, std::uint32_t lease) noexcept {
        auto const found = session.leases.find(lease);
        if (found == session.leases.end()) return;
        HeldPlace const held = found->second;
        session.leases.erase(found);
        give_back(held);
    }
    static void give_back(HeldPlace const& held) noexcept {
        try {
            (*held.object)->end(held.place);
        } catch (Error const&) {  // a flush has failed: the place stays lent
        }
    }

    void see(ServedItem const& object, unsigned place, Seen& seen) const;
    void tell_news(bool ask_device) {
        for (auto const& object : objects_) {
            if (!object->look(ask_device)) continue;
            Notice const notice{object->name(), object->told(), object->told_text()};
            for (auto const& session : sessions_) {
                if (session->hears_states) reception_.send(*session, 0, notice);
            }
            object->all_heard();
        }
    }
    // Counts clients of a draining kernel as drained that have all answers, and do not say so.
    void count_as_drained() const;
    // A client whose words no client of the library's writes loses its lease.
    void look_at_counters();

    ServeOptions const& options_;
    Reception& reception_;
    Sessions const& sessions_;
    std::vector<std::unique_ptr<ServedItem>> objects_;  // none is ever removed: Look has its index
    // Objects whose names others have now: former_ may have leases, unused_ have none. The thread
    // destroys neither: the driver may wait for a kernel then.
    std::vector<std::unique_ptr<ServedItem>> former_;
    std::vector<std::unique_ptr<ServedItem>> unused_;
    std::uint32_t last_lease_ = 0;
    Clock::time_point looked_at_counters_{};
};

}  // namespace carillon::detail
