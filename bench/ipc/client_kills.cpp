// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>
#include <random>
#include <thread>
#include <utility>

#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "ipc/shared_kernel.hpp"
#include "measure/interrupt.hpp"

namespace carillon::tool {
namespace {

constexpr unsigned processes = 8;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds longest_delay{15'000};
// One kill in so many hits the newest client, which may be anywhere between connecting and its
// first calls.
constexpr unsigned early_of = 4;

// The owner, and its clients in other processes, which check each reply and report errors.
class Clients {
   public:
    Clients(Device const& device, Blocks blocks)
        : blocks_(blocks),
          kernel_(device, options(), blocks, processes),
          server_(kernel_.serve(folder_.socket())) {}

    void start_all() {
        while (clients_.size() < processes) {
            clients_.push_back(start());
            attach(clients_.back());
            await_attached(clients_.back());
        }
        prepare();
    }
    // Throws the error that a client reports. All clients have gone when this returns.
    std::uint64_t end_all() {
        std::uint64_t commands = 0;
        for (Client& each : clients_) await_attached(each);
        for (Client& each : clients_) each.child.talk().say("end");
        for (Client& each : clients_) {
            commands += answered(each);
            each.child.await_end();
        }
        clients_.clear();
        waiting_.clear();
        require(HostWait(HostWait::Style::yield)
                    .until([&] { return server_.clients().empty(); }, patience),
                "the owner has clients that have gone");
        return commands;
    }
    // Waits `share` of the longest delay, kills one client and starts another in its place. Throws
    // the first error found. If `next_is_new`, the next kill hits the new client: this does not
    // wait until it is attached.
    void kill(unsigned which, double share, bool next_is_new) {
        // A client that was not awaited is killed within the time that others need to attach.
        auto const longest = clients_[which].attached ? longest_delay : attaching_ + attaching_ / 2;
        std::this_thread::sleep_for(share * longest);
        require_well();
        clients_[which].child.kill();
        clients_[which] = std::move(waiting_.back());
        waiting_.pop_back();
        attach(clients_[which]);
        if (next_is_new) return;
        await_attached(clients_[which]);
        require_progress();
        prepare();
    }
    // Starts all clients anew after an error.
    void replace_all() {
        clients_.clear();
        start_all();
    }

   private:
    struct Client {
        Child child;
        Clock::time_point told{};  // to attach
        bool attached = false;
        std::uint64_t answered = 0;
    };

    static KernelOptions options() {
        KernelOptions options;
        options.idle = IdlePolicy::park();
        return options;
    }
    static void require(bool condition, char const* otherwise) {
        if (!condition) throw Error("ipc", otherwise);
    }
    // Starts a client, which attaches on an order.
    [[nodiscard]] Client start() {
        Client client{start_peer({.role = "client",
                                  .path = folder_.socket(),
                                  .number = ++started_ & 0xffffU,
                                  .blocks = blocks_})};
        client.child.expect("ready");
        return client;
    }
    // For two kills in a row, so that a client that was not awaited does not get further meanwhile.
    void prepare() {
        while (waiting_.size() < 2) waiting_.push_back(start());
    }
    static void attach(Client& client) {
        client.told = Clock::now();
        client.child.talk().say("attach");
    }
    void await_attached(Client& client) {
        if (client.attached) return;
        client.child.expect("attached");
        client.attached = true;
        attaching_ = std::chrono::ceil<std::chrono::microseconds>(Clock::now() - client.told);
    }
    // Throws the error of a client: one that makes calls says nothing else by itself.
    void require_well() {
        for (Client& each : clients_) {
            while (each.child.talk().heard()) {
                if (each.attached) throw Error("ipc", each.child.talk().line());
                await_attached(each);
            }
        }
    }
    // Returns the count that the client sends when it is asked.
    static std::uint64_t answered(Client& client) {
        std::string const said = client.child.talk().line();
        if (said.find_first_not_of("0123456789") != std::string::npos) throw Error("ipc", said);
        return std::stoull(said);
    }
    // Throws Error unless every attached client was answered since the last look.
    void require_progress() {
        for (Client& each : clients_) {
            if (each.attached) each.child.talk().say("report");
        }
        for (Client& each : clients_) {
            if (!each.attached) continue;
            std::uint64_t const before = std::exchange(each.answered, answered(each));
            require(each.answered > before, "a client is not answered any more");
        }
    }

    SocketFolder folder_;
    Blocks blocks_;
    SharedKernel kernel_;
    Server server_;
    std::vector<Client> clients_;
    std::vector<Client> waiting_;
    std::uint64_t started_ = 0;
    std::chrono::microseconds attaching_{0};  // of the latest client
};

// Runs `step`, and returns the text of its error, or "".
template <class Step>
std::string wrong_with(Step&& step) {
    try {
        step();
    } catch (Error const& error) {
        return error.what();
    }
    return "";
}

// Chooses the client to kill next, and the share of the longest delay to wait before.
class Fate {
   public:
    explicit Fate(std::uint64_t seed) : random_(seed) { choose(); }

    void choose() {
        bool const newest = next_is_newest_;
        next_is_newest_ = !newest && random_() % early_of == 0;
        if (!newest) victim_ = static_cast<unsigned>(random_() % processes);
        share_ = std::uniform_real_distribution<>()(random_);
    }
    [[nodiscard]] unsigned victim() const { return victim_; }
    [[nodiscard]] double share() const { return share_; }
    // Whether the next kill hits the newest client.
    [[nodiscard]] bool next_is_newest() const { return next_is_newest_; }

   private:
    std::mt19937_64 random_;
    unsigned victim_ = 0;
    bool next_is_newest_ = false;
    double share_ = 0;
};

void kill_one(Clients& clients, Fate& fate, ClientKills& result) {
    ++result.kills;
    std::string const wrong =
        wrong_with([&] { clients.kill(fate.victim(), fate.share(), fate.next_is_newest()); });
    fate.choose();
    if (wrong.empty()) {
        ++result.ok;
        return;
    }
    if (result.failure.empty()) result.failure = wrong;
    clients.replace_all();
}

}  // namespace

ClientKills kill_clients(Device const& device, IpcOptions const& options,
                         Progress const& progress) {
    Clients clients(device, options.blocks);
    clients.start_all();
    (void)clients.end_all();
    ClientKills result;
    result.before = read_ipc_held();
    Fate fate(options.seed);
    std::string const wrong = wrong_with([&] {
        clients.start_all();
        while (result.kills < options.client_kills && !interrupted()) {
            kill_one(clients, fate, result);
            progress(static_cast<double>(result.kills) / options.client_kills);
        }
        result.commands = clients.end_all();
    });
    if (result.failure.empty()) result.failure = wrong;
    if (!interrupted()) result.kills = options.client_kills;  // kills that were not tried failed
    result.after = read_ipc_held();
    return result;
}

}  // namespace carillon::tool
