// SPDX-License-Identifier: Apache-2.0
// The table by threads: each with a channel and a block of its own, or all with one pool; and each
// with flags and a block of its own.
#include <carillon/carillon.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "measure/socket_folder.hpp"
#include "measure/together.hpp"
#include "rtt/users/calls.hpp"

namespace carillon::tool {
namespace {

using ChannelHandler = Summing<48, 48>;
using PoolHandler = Summing<16, 8>;

// Times the trips that `trips_of(t)` makes, by each thread t, all at the same time.
template <class TripsOf>
void time_together(UsersStage const& stage, unsigned threads, std::uint32_t count,
                   UsersFigures& figures, TripsOf&& trips_of) {
    std::vector<Samples> samples(threads);
    std::vector<std::optional<std::invoke_result_t<TripsOf, unsigned>>> trips(threads);
    auto const prepare = [&](unsigned t) {
        samples[t].reserve(count);
        trips[t].emplace(trips_of(t));
        for (std::uint32_t i = 1; i <= stage.warm_up; ++i) (*trips[t])(i);
    };
    double const seconds = run_together(threads, prepare, [&](unsigned t) {
        time_trips_from(stage.warm_up + 1, count, samples[t], *trips[t]);
        trips[t].reset();  // a pool's client leaves with its thread
    });
    for (Samples const& each : samples) {
        figures.latencies.insert(figures.latencies.end(), each.begin(), each.end());
    }
    figures.per_second.push_back(static_cast<double>(threads) * count / seconds);
}

class ThreadsMeasure : public UsersMeasure {
   public:
    ThreadsMeasure(UsersStage stage, unsigned threads)
        : stage_(std::move(stage)), threads_(threads) {}

   protected:
    UsersStage stage_;
    unsigned threads_;
};

class OwnChannels final : public ThreadsMeasure {
   public:
    using ThreadsMeasure::ThreadsMeasure;
    void run(std::uint32_t count, UsersFigures& figures) override {
        KernelOptions options;
        options.blocks = threads_;
        PersistentKernel<ChannelHandler> kernel(stage_.device, options);
        time_together(stage_, threads_, count, figures, [&](unsigned t) {
            return [channel = &kernel.channel(t)](std::uint32_t i) {
                call_once<ChannelHandler>(*channel, i);
            };
        });
        kernel.stop();
    }
};

class OwnFlags final : public ThreadsMeasure {
   public:
    OwnFlags(UsersStage const& stage, unsigned threads)
        : ThreadsMeasure(stage, threads), rig_(stage.device, {.blocks = threads}) {}
    void run(std::uint32_t count, UsersFigures& figures) override {
        rig_.start(stage_.warm_up + count);
        time_together(stage_, threads_, count, figures, [&](unsigned t) { return rig_.trips(t); });
        rig_.await_end();
    }

   private:
    FlagRig rig_;
};

// A thread's client, which cannot be moved if it is that of a channel.
template <class Way>
struct OwnClient {
    template <class Connect>
    explicit OwnClient(Connect const& connect) : client(connect()) {}
    ClientOf<PoolHandler, std::conditional_t<std::is_same_v<Way, Pool>, Pool, Channels>> client;
};

// All threads share the blocks: a Pool's, or as clients of the served SharedPool do.
template <class Way>
class OnePool final : public ThreadsMeasure {
   public:
    OnePool(UsersStage stage, unsigned threads, unsigned blocks)
        : ThreadsMeasure(std::move(stage), threads), blocks_(blocks) {}
    void run(std::uint32_t count, UsersFigures& figures) override {
        PersistentKernel<PoolHandler, Way> kernel(stage_.device, {.blocks = blocks_});
        auto const time_clients = [&](auto const& connect) {
            time_together(stage_, threads_, count, figures, [&](unsigned) {
                return [own = std::make_shared<OwnClient<Way>>(connect)](std::uint32_t i) {
                    call_once<PoolHandler>(own->client, i);
                };
            });
        };
        if constexpr (std::is_same_v<Way, SharedPool>) {
            SocketFolder const folder;
            Server const server = kernel.serve(folder.socket());
            time_clients([&] { return Connection(folder.socket()).channel<PoolHandler>(); });
        } else {
            time_clients([&] { return kernel.client(); });
        }
        kernel.stop();
    }

   private:
    unsigned blocks_;
};

// Adds the row that `make()` makes, if the CPU has a processor for each thread.
template <class Make>
void add(UsersStage const& stage, UsersRows& rows, std::string const& name, unsigned threads,
         nlohmann::json fields, Make&& make) {
    fields["threads"] = threads;
    std::string const suffix = std::string("-")
                                   .append(std::to_string(threads))
                                   .append(threads == 1 ? "-thread" : "-threads");
    UsersRow row{"threads", name + suffix, fields, nullptr};
    if (threads <= stage.processors) {
        row.measure = make();
    } else {
        row.why_not = std::string("more threads than processors: there are ")
                          .append(std::to_string(stage.processors));
    }
    rows.push_back(std::move(row));
}

}  // namespace

void add_thread_rows(UsersStage const& stage, UsersRows& rows) {
    // Blocks that are threads would only take the processors from each other.
    unsigned const blocks = stage.device.traits().shares_processors ? 2 : 32;
    for (unsigned const threads : {1U, 2U, 4U, 8U, 12U}) {
        add(stage, rows, "call", threads, {{"blocks", threads}},
            [&] { return std::make_unique<OwnChannels>(stage, threads); });
        add(stage, rows, "raw-flag", threads, {{"blocks", threads}},
            [&] { return std::make_unique<OwnFlags>(stage, threads); });
    }
    for (unsigned const threads : {1U, 8U, 12U}) {
        add(stage, rows, "pool", threads, {{"blocks", blocks}},
            [&] { return std::make_unique<OnePool<Pool>>(stage, threads, blocks); });
        add(stage, rows, "shared-pool", threads, {{"blocks", blocks}},
            [&] { return std::make_unique<OnePool<SharedPool>>(stage, threads, blocks); });
    }
}

}  // namespace carillon::tool
