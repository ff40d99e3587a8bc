// SPDX-License-Identifier: Apache-2.0
// Which client gets a place of an object, and when it is another's; the watch over objects and
// their clients: states, counters, and clients of a draining kernel that do not answer.
#include "serving/object_service.hpp"

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "carillon/error.hpp"
#include "os/own_user.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

// A client that wants a channel waits so long for a block that is at the last request of a client
// that went: less than it waits for its answer by default (ConnectOptions::timeout).
constexpr std::chrono::seconds longest_end{4};

// If one of them is known only by its size, and perhaps its name, nothing else can be compared.
bool alike(MessageType const& ours, MessageType const& theirs) {
    if (ours.bytes != theirs.bytes) return false;
    if (ours.layout != 0 && theirs.layout != 0)
        return ours.alignment == theirs.alignment && ours.layout == theirs.layout;
    return sent_name(ours.name) == theirs.name || ours.name == name_of_bytes ||
           theirs.name == name_of_bytes;
}

// Why the client's type is not the object's; empty: it may be.
std::string difference(ObjectKind kind, MessageType const& ours, MessageType const& theirs) {
    std::string const our_name = sent_name(ours.name);
    // A chunk's meta begins behind 8 bytes of the line, or where its alignment says.
    if (kind_row(kind).chunks && theirs.layout == 0 && ours.alignment > 8) {
        return fmt::format(
            "is {} with an alignment of {} bytes, which a client by bytes cannot have", our_name,
            ours.alignment);
    }
    if (!alike(ours, theirs)) {
        return fmt::format("is {} of {} bytes, but the client's is {} of {}", our_name, ours.bytes,
                           theirs.name, theirs.bytes);
    }
    if (ours.slot_lines != theirs.slot_lines) {
        return fmt::format("takes {} lines, but the client's takes {}", ours.slot_lines,
                           theirs.slot_lines);
    }
    // If one of them does not say what its members are, they cannot be compared.
    if (ours.members != 0 && theirs.members != 0 && ours.members != theirs.members) {
        return fmt::format("is {}, and its members differ from the client's (CARILLON_MEMBERS)",
                           our_name);
    }
    return {};
}

// How often the thread looks at a kernel while a client has a block of it.
constexpr std::chrono::milliseconds look_period{5};
constexpr std::chrono::milliseconds end_period{1};  // while a block is about to be free
// How often the thread looks at clients' counters. Each look costs them a miss at their next store.
constexpr std::chrono::milliseconds counters_period{50};
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

}  // namespace

std::vector<std::unique_ptr<ServedItem>> ObjectService::add(std::unique_ptr<ServedItem> object) {
    require_name("object", object->name());
    auto const same = std::ranges::find_if(
        objects_, [&](auto const& each) { return each->name() == object->name(); });
    if (same == objects_.end()) {
        objects_.push_back(std::move(object));
        return std::exchange(unused_, {});
    }
    (void)(*same)->look(true);
    if (!(*same)->ended()) {
        throw UsageError(fmt::format(R"(there is already a {} named "{}")",
                                     to_string((**same)->kind()), (*same)->name()));
    }
    object->follow();
    former_.push_back(std::move(object));
    std::swap(former_.back(), *same);
    return std::exchange(unused_, {});
}

ServedItem& ObjectService::object_of(Attach const& attach) const {
    std::string names;
    for (auto const& object : objects_) {
        if (object->name() == attach.object) return *object;
        names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", object->name());
    }
    throw Refused{
        RefusalReason::unknown_object,
        names.empty()
            ? fmt::format(R"(there is no "{}"; the owner serves nothing yet)", attach.object)
            : fmt::format(R"(there is no "{}"; the owner serves {})", attach.object, names)};
}

void ObjectService::require_within_limits(Session const& session, ServedItem const& next) const {
    struct Limit {
        char const* field;
        std::size_t most;  // 0: there is none
        std::size_t wanted = 0;
    };
    auto const require = [&](char const* of, auto const& counts, std::array<Limit, 3> limits) {
        auto const add = [&](ServedItem const& object) {
            limits[0].wanted += 1;
            limits[1].wanted += object->bytes_of_place();
            limits[2].wanted += object->descriptors_of_place();
        };
        add(next);
        for (auto const& each : sessions_) {
            if (!counts(*each)) continue;
            for (auto const& [lease, held] : each->leases) add(*held.object);
            for (AwaitedPlace const& ask : each->asks) add(*ask.object);
        }
        for (auto const& [field, most, wanted] : limits) {
            if (wanted <= most || most == 0) continue;
            throw_refused(RefusalReason::too_many_of_client,
                          "the {} would have {} {}, but the owner's option {}_per_{} is {}", of,
                          wanted, field, field, of, most);
        }
    };
    require("connection", [&](Session const& each) { return &each == &session; },
            {{{"channels", options_.channels_per_connection},
              {"bytes", options_.bytes_per_connection},
              {"descriptors", options_.descriptors_per_connection}}});
    uid_t const user = session.peer.uid;
    if (is_kept_for(user)) return;
    require("user", [&](Session const& each) { return each.peer.uid == user; },
            {{{"channels", options_.channels_per_user},
              {"bytes", options_.bytes_per_user},
              {"descriptors", options_.descriptors_per_user}}});
}

void ObjectService::require_share(Session const& session, ServedItem const& object) const {
    if (is_kept_for(session.peer.uid)) return;
    std::size_t of_others = 0;
    for (auto const& each : sessions_) {
        if (is_kept_for(each->peer.uid)) continue;
        of_others += static_cast<std::size_t>(std::ranges::count_if(
            each->leases, [&](auto const& lease) { return lease.second.object == &object; }));
    }
    std::size_t const places = object->most_places();
    if (of_others < share_of(places, options_.channels_per_user).of_others) return;
    throw_refused(RefusalReason::full,
                  "other users have {} of {} places, and the rest is reserved for the owner's user "
                  "(the owner's option channels_per_user)",
                  of_others, places);
}

void ObjectService::answer(Session& session, std::uint32_t id, Attach const& attach) {
    if (!std::exchange(session.hears_states, true)) tell_states(session);
    ServedItem& object = object_of(attach);
    if (object->kind() != attach.kind) {
        throw_refused(RefusalReason::wrong_types, "\"{}\" is a {}, not a {}", attach.object,
                      to_string(object->kind()), to_string(attach.kind));
    }
    for (auto const& [what, ours, theirs] :
         {std::tuple("request", &object->types().request, &attach.request),
          std::tuple("reply", &object->types().reply, &attach.reply)}) {
        std::string const why = difference(object->kind(), *ours, *theirs);
        if (why.empty()) continue;
        throw_refused(RefusalReason::wrong_types, "the {}'s {} {}", to_string(object->kind()), what,
                      why);
    }
    require_within_limits(session, object);
    session.asks.push_back({id, &object, attach.host_memory, Clock::now()});
}

// Lends places of one object in the order of the questions; nobody waits for a place of another.
void ObjectService::lend_to(Session& session) {
    auto const waits_for = [&](auto before, ServedItem const* object) {
        return std::any_of(session.asks.begin(), before,
                           [&](AwaitedPlace const& each) { return each.object == object; });
    };
    for (auto ask = session.asks.begin(); ask != session.asks.end();) {
        bool answered = true;
        try {
            answered = !waits_for(ask, ask->object) && lend(session, *ask);
        } catch (Refused const& refusal) {
            reception_.refuse(session, ask->id, refusal);
        }
        ask = answered ? session.asks.erase(ask) : std::next(ask);
    }
}

bool ObjectService::lend(Session& session, AwaitedPlace const& ask) {
    ServedItem& object = *ask.object;
    if (auto const why = object.closed()) throw Refused{RefusalReason::stopping, *why};
    if (auto const refusal = reception_.require_read(session, object->descriptors_of_place())) {
        if (Clock::now() - ask.since < longest_end) return false;
        throw Refused(*refusal);
    }
    require_share(session, object);
    // This look comes first: a place that is free only after lend() has looked is lent in another
    // turn.
    bool const any_ends = object->any_ends();
    std::optional<Loan> loan;
    try {
        loan = object->lend(session.peer.uid, ask.host_memory);
        if (loan) session.leases[++last_lease_] = {&object, loan->place, Clock::now()};
    } catch (std::exception const& error) {
        if (loan) give_back({&object, loan->place, {}});
        throw refusal_of(error);
    }
    if (!loan) {
        if (auto const why = object.closed()) throw Refused{RefusalReason::stopping, *why};
        if (any_ends && Clock::now() - ask.since < longest_end) return false;
        throw Refused{RefusalReason::full, object->why_full()};
    }
    loan->attached.lease = last_lease_;
    std::vector<int> descriptors;
    for (FileDescriptor const& file : loan->files) descriptors.push_back(file.get());
    try {
        reception_.lend(session, ask.id, loan->attached, descriptors);
    } catch (...) {
        end_lease(session, loan->attached.lease);
        throw;
    }
    return true;
}

void ObjectService::answer(Session& session, std::uint32_t /*id*/, Mapped const& mapped) {
    auto const found = session.leases.find(mapped.lease);
    if (found == session.leases.end()) {
        // The client did not know the lease yet when Ended came, and passed it over.
        if (mapped.mapped) {
            reception_.send(session, 0, Ended{mapped.lease, "another object has its name"});
        }
        return;
    }
    if (mapped.mapped) return;
    reception_.log(session, fmt::format("could not map \"{}\": {}", found->second.object->name(),
                                        mapped.text));
    end_lease(session, mapped.lease);
}

void ObjectService::take_back_all(ServedItem const& object) {
    for (auto const& session : sessions_) {
        std::erase_if(session->asks, [&](AwaitedPlace const& ask) {
            if (ask.object != &object) return false;
            reception_.refuse(*session, ask.id, {RefusalReason::stopping, object.told_text()});
            return true;
        });
        for (auto each = session->leases.begin(); each != session->leases.end();) {
            auto const& [lease, held] = *each++;
            if (held.object != &object) continue;
            reception_.send(*session, 0, Ended{lease, object.told_text()});
            end_lease(*session, lease);
        }
    }
}

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

void ObjectService::look_at_counters() {
    auto const now = Clock::now();
    if (now - looked_at_counters_ < counters_period) return;
    looked_at_counters_ = now;
    for (auto const& session : sessions_) {
        for (auto each = session->leases.begin(); each != session->leases.end();) {
            auto const& [lease, held] = *each++;
            char const* const wrong = (*held.object)->look_at_counters(held.place);
            if (wrong == nullptr) continue;
            reception_.log(*session,
                           fmt::format("lost its place at \"{}\": {}", held.object->name(), wrong));
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
            throw_refused(RefusalReason::unknown_object,
                          "there is no object {}: the owner serves {} (from 0)", look.object,
                          objects_.size());
        }
        see(*objects_[look.object], look.place, seen);
    }
    return seen;
}

void ObjectService::see(ServedItem const& object, unsigned place, Seen& seen) const {
    if (place >= object->places()) {
        throw_refused(RefusalReason::unknown_object,
                      "there is no block {} of \"{}\": it has {} (from 0)", place, object.name(),
                      object->places());
    }
    seen.object = object.name();
    seen.kind = object->kind();
    seen.state = object->state(true);
    seen.places = object->places();
    seen.emulated = object->device().info().emulated;
    ServedBlock& block = seen.block;
    block.activity = object->activity(place);
    auto const [now, gone] = object->counters(place);
    block.counters = now;
    block.gone = gone;
    block.beats = object->beats(place);
    for (auto const& each : sessions_) {
        for (auto const& [lease, held] : each->leases) {
            if (held.object != &object || held.place != place) continue;
            block.client = each->name;
            block.process = each->peer.pid;
            block.user = each->peer.uid;
            block.held =
                std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - held.since);
        }
    }
}

}  // namespace carillon::detail
