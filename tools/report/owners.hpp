// SPDX-License-Identifier: Apache-2.0
// The repeated reports of owners about the objects that they serve, and their traffic.
#pragma once

#include <carillon/connection.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace carillon::tool {

// A block of a kernel that is served, or the end of an object.
struct WatchedBlock {
    std::string object;  // that clients ask for
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    bool emulated = false;
    std::size_t index = 0;
    ServedBlock served{};
};

// The report of the owner at a path, or the reason why there is none.
struct OwnerReport {
    std::string path;
    std::string error{};  // empty if it was asked
    ConnectedOwner owner{};
    std::vector<WatchedBlock> blocks{};
    std::optional<StoreStatus> store{};
    std::chrono::steady_clock::time_point when{};
};

// The results of `ask` for each of `all`. Asks all at once: one that does not answer delays no
// other.
template <class Each, class Ask>
[[nodiscard]] auto ask_each(std::vector<Each>& all, Ask const& ask) {
    using Answer = decltype(ask(all.front()));
    std::vector<std::future<Answer>> asked;
    asked.reserve(all.size());
    for (Each& each : all) {
        asked.push_back(std::async(std::launch::async, [&ask, &each] { return ask(each); }));
    }
    std::vector<Answer> answers;
    answers.reserve(all.size());
    for (auto& each : asked) answers.push_back(each.get());
    return answers;
}

// Stays connected between two questions, and connects anew where an owner has been started again.
class WatchedOwners {
   public:
    // `name`: how its connections are called. `timeout`: for reaching an owner, and for its report.
    // `user`: as ConnectOptions::owner_user.
    WatchedOwners(std::vector<std::string> const& paths, std::string name,
                  std::chrono::nanoseconds timeout, std::optional<std::uint32_t> user = {});
    // One report for each path, in order. An owner that has gone has a report too.
    [[nodiscard]] std::vector<OwnerReport> ask();

   private:
    struct Watched {
        std::string path;
        std::optional<Connection> connection{};
    };
    [[nodiscard]] OwnerReport ask(Watched& watched) const;

    std::vector<Watched> watched_;
    ConnectOptions options_;
};

[[nodiscard]] nlohmann::json to_json(ChannelCounters const& counters);
[[nodiscard]] nlohmann::json to_json(StoreStatus const& store);
// A line.
[[nodiscard]] std::string to_text(StoreStatus const& store);

}  // namespace carillon::tool
