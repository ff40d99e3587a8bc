// SPDX-License-Identifier: Apache-2.0
#include "report/owners.hpp"

#include <fmt/format.h>

#include <carillon/error.hpp>
#include <utility>

namespace carillon::tool {
namespace {

std::vector<WatchedBlock> blocks_of(OwnerStatus const& status) {
    std::vector<WatchedBlock> all;
    for (ServedObject const& object : status.objects) {
        std::size_t index = 0;
        for (ServedBlock const& block : object.blocks) {
            all.push_back(
                {object.name, object.kind, object.state, object.emulated, index++, block});
        }
    }
    return all;
}

}  // namespace

WatchedOwners::WatchedOwners(std::vector<std::string> const& paths, std::string name,
                             std::chrono::nanoseconds timeout, std::optional<std::uint32_t> user)
    : options_{.name = std::move(name), .timeout = timeout, .owner_user = user} {
    for (std::string const& path : paths) watched_.push_back({path});
}

std::vector<OwnerReport> WatchedOwners::ask() {
    return ask_each(watched_, [this](Watched& each) { return ask(each); });
}

OwnerReport WatchedOwners::ask(Watched& watched) const {
    OwnerReport report{watched.path};
    // The second time by another connection: there may be another owner at the path.
    for (int i = 0; i < 2; ++i) {
        bool const is_new = !watched.connection.has_value();
        try {
            if (is_new) watched.connection.emplace(watched.path, options_);
            report.owner = watched.connection->owner();
            OwnerStatus const status = watched.connection->status();
            report.blocks = blocks_of(status);
            report.store = status.store;
            report.when = std::chrono::steady_clock::now();
            report.error.clear();
            return report;
        } catch (Error const& error) {
            watched.connection.reset();
            report.error = error.what();
            bool const is_slow = dynamic_cast<TimeoutError const*>(&error) != nullptr;
            if (is_new || is_slow) return report;
        }
    }
    return report;
}

nlohmann::json to_json(ChannelCounters const& counters) {
    return {{"submitted", counters.submitted}, {"answered", counters.answered},
            {"taken", counters.taken},         {"dropped", counters.dropped},
            {"stalls", counters.stalls},       {"depth", counters.depth}};
}

nlohmann::json to_json(StoreStatus const& store) {
    return {{"buffers", store.buffers},
            {"sealed", store.sealed},
            {"bytes", store.bytes},
            {"most_bytes", store.most_bytes}};
}

std::string to_text(StoreStatus const& store) {
    return fmt::format("  store: {} buffers, {} sealed, in {} of {} bytes of memory\n",
                       store.buffers, store.sealed, store.bytes, store.most_bytes);
}

}  // namespace carillon::tool
