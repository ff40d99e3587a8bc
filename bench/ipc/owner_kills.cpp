// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <carillon/error.hpp>
#include <chrono>
#include <optional>
#include <random>
#include <sstream>
#include <thread>

#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "measure/interrupt.hpp"

namespace carillon::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned ledger_clients = 4;
constexpr std::uint64_t longest_delay_us = 20'000;

// A client's report about an owner that is gone.
struct ClientAccount {
    std::int64_t time_ns = 0;
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t unknown = 0;

    [[nodiscard]] bool balanced() const { return answered > 0 && sent == answered + unknown; }
};

ClientAccount account_of(std::string const& said) {
    std::istringstream words(said);
    std::string what;
    ClientAccount account;
    words >> what >> account.time_ns >> account.sent >> account.answered >> account.unknown;
    if (!words || what != "gone") throw Error("ipc", said);
    if (!account.balanced()) throw Error("ipc", "a ledger that does not balance: " + said);
    return account;
}

// Owners, one after the other, and clients that stay.
class Owners {
   public:
    explicit Owners(IpcOptions const& options) : options_(options) {}

    // An owner serves, all clients attach, and the owner is killed after `delay`. Throws the first
    // error.
    void kill_one(std::chrono::microseconds delay, OwnerKills& result) {
        Child owner = start_peer({.role = "owner",
                                  .path = folder_.socket(),
                                  .number = ledger_clients,
                                  .blocks = options_.blocks,
                                  .device = options_.device});
        owner.expect("serving");
        while (clients_.size() < ledger_clients) clients_.push_back(start_client());
        for (Child& each : clients_) each.expect("attached");
        std::this_thread::sleep_for(delay);
        auto const killed = Clock::now();
        owner.kill();
        auto const since = [&](Clock::time_point then) {
            return std::chrono::duration<double, std::micro>(then - killed).count();
        };
        result.longest_end_us = std::max(result.longest_end_us, since(Clock::now()));
        double longest_us = 0;
        for (Child& each : clients_) {
            ClientAccount const account = account_of(each.talk().line());
            longest_us = std::max(
                longest_us, since(Clock::time_point(std::chrono::nanoseconds(account.time_ns))));
            result.sent += account.sent;
            result.answered += account.answered;
            result.unknown += account.unknown;
        }
        result.longest_us = std::max(result.longest_us, longest_us);
        ++(longest_us <= owner_gone_us ? result.ok : result.late);
    }
    void replace_clients() { clients_.clear(); }

   private:
    [[nodiscard]] Child start_client() {
        return start_peer({.role = "ledger",
                           .path = folder_.socket(),
                           .number = ++started_ & 0xffffU,
                           .blocks = options_.blocks});
    }

    IpcOptions const& options_;
    SocketFolder folder_;
    std::vector<Child> clients_;
    std::uint64_t started_ = 0;
};

}  // namespace

OwnerKills kill_owners(IpcOptions const& options, Progress const& progress) {
    Owners owners(options);
    OwnerKills result;
    std::mt19937_64 random(options.seed);
    while (result.kills < options.owner_kills && !interrupted()) {
        ++result.kills;
        try {
            owners.kill_one(std::chrono::microseconds(random() % longest_delay_us), result);
        } catch (Error const& error) {
            if (result.failure.empty()) result.failure = error.what();
            owners.replace_clients();
        }
        progress(static_cast<double>(result.kills) / options.owner_kills);
    }
    return result;
}

}  // namespace carillon::tool
