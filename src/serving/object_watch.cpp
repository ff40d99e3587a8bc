// SPDX-License-Identifier: Apache-2.0
// The watch over objects and their clients: states, reports, counters, and clients of a draining
// kernel that do not answer.
#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include "serving/object_service.hpp"

namespace carillon::detail {
namespace {

// How often the thread looks at a kernel while a client has a block of it.
constexpr std::chrono::milliseconds look_period{5};
constexpr std::chrono::milliseconds end_period{1};  // while a block is about to be free
// How often the thread looks at clients' counters. Each look costs them a miss at their next store.
constexpr std::chrono::milliseconds counters_period{50};
// The thread asks the driver once in so many turns whether a kernel has ended: that may take a
// lock.
constexpr unsigned turns_before_asking = 10;
// A client that runs has heard by then that the kernel drains, and sends no more.
constexpr std::chrono::seconds longest_hearing{1};

// Whether a signal or a debugger has stopped it: it sends nothing then. False if that is unknown.
bool is_stopped(pid_t process) {
    if (process <= 0) return false;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string const line{std::istreambuf_iterator<char>(file), {}};
    std::size_t const name_end = line.rfind(") ");
    if (name_end == std::string::npos) return false;
    char const state = line[name_end + 2];
    return state == 'T' || state == 't';
}

std::uint64_t in_milliseconds(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::chrono::milliseconds ObjectService::period() const {
    auto period = std::chrono::milliseconds::max();
    for (auto const& object : objects_) {
        if (object->ended()) continue;  // no client of it leaves anything any more
        if ((*object)->any_ends()) return end_period;
        if ((*object)->count() != 0) period = look_period;
    }
    // No event says that a client has read what it was sent.
    bool const any_asks =
        std::ranges::any_of(sessions_, [](auto const& session) { return !session->asks.empty(); });
    return any_asks ? look_period : period;
}

void ObjectService::watch(unsigned turn) {
    tell_news(turn % turns_before_asking == 0);
    count_as_drained();
    look_at_counters();
}

void ObjectService::tell_news(bool ask_device) {
    for (auto const& object : objects_) {
        if (!object->look(ask_device)) continue;
        Notice const notice{object->name(), object->told(), object->told_text()};
        for (auto const& session : sessions_) {
            if (session->hears_states) reception_.send(*session, 0, notice);
        }
        object->all_heard();
    }
}

void ObjectService::tell_states(Session& session) {
    for (auto const& object : objects_) {
        if (object->told() == KernelState::running) continue;
        reception_.send(session, 0, Notice{object->name(), object->told(), object->told_text()});
    }
}

void ObjectService::count_as_drained() const {
    for (auto const& session : sessions_) {
        for (auto const& [lease, held] : session->leases) {
            ServedItem& object = *held.object;
            if (object.told() != KernelState::draining || object->outstanding(held.place)) continue;
            bool const heard = Clock::now() - object.told_at() > longest_hearing;
            if (heard || is_stopped(session->peer.pid)) object->drained(held.place);
        }
    }
}

void ObjectService::answer(Session& session, std::uint32_t /*id*/, Drained const& drained) {
    auto const found = session.leases.find(drained.lease);
    if (found != session.leases.end()) (*found->second.object)->drained(found->second.place);
}

void ObjectService::look_at_counters() {
    auto const now = Clock::now();
    if (now - looked_at_counters_ < counters_period) return;
    looked_at_counters_ = now;
    for (auto const& session : sessions_) {
        for (auto each = session->leases.begin(); each != session->leases.end();) {
            auto const& [lease, held] = *each++;
            char const* const wrong = (*held.object)->look_at_counters(held.place);
            if (wrong == nullptr) continue;
            reception_.log(*session, fmt::format("has lost its place at \"{}\": {}",
                                                 held.object->name(), wrong));
            reception_.send(*session, 0, Ended{lease, wrong});
            end_lease(*session, lease);
        }
    }
}

Seen ObjectService::look(Look const& look) const {
    Seen seen;
    seen.objects = static_cast<std::uint32_t>(objects_.size());
    if (!objects_.empty()) {
        if (look.object >= objects_.size()) {
            throw_refused(RefusalReason::unknown_object, "there is no object {}: there are {}",
                          look.object, objects_.size());
        }
        see(*objects_[look.object], look.place, seen);
    }
    return seen;
}

void ObjectService::see(ServedItem const& object, unsigned place, Seen& seen) const {
    if (place >= object->places()) {
        throw_refused(RefusalReason::unknown_object, "there is no block {} of \"{}\": there are {}",
                      place, object.name(), object->places());
    }
    seen.object = object.name();
    seen.kind = object->kind();
    seen.state = object->state(true);
    seen.places = object->places();
    seen.activity = object->activity(place);
    seen.emulated = object->device().info().emulated;
    LeasedCounters const counters = object->counters(place);
    seen.counters = counters.now;
    seen.gone = counters.gone;
    BlockBeats const beats = object->beats(place);
    seen.beats = beats.seen;
    seen.beat_age_ms = in_milliseconds(beats.age);
    for (auto const& each : sessions_) {
        for (auto const& [lease, held] : each->leases) {
            if (held.object != &object || held.place != place) continue;
            seen.client = each->name;
            seen.process = static_cast<std::uint32_t>(each->peer.pid);
            seen.user = each->peer.uid;
            seen.held_ms = in_milliseconds(Clock::now() - held.since);
        }
    }
}

}  // namespace carillon::detail
