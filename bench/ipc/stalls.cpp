// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <carillon/carillon.hpp>
#include <carillon/detail/host/thread.hpp>
#include <exception>
#include <thread>

#include "ipc/checked_client.hpp"
#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "ipc/shared_kernel.hpp"
#include "measure/interrupt.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

enum class Phase : std::uint8_t { unwatched, alone, attach, exit };
constexpr std::size_t phases = 4;

// A thread that calls all the time, and sorts the times of its calls by what others did meanwhile.
class RestlessClient {
   public:
    RestlessClient(std::filesystem::path const& path, Blocks blocks)
        : blocks_(blocks),
          connection_(connect(path, {.timeout = patience})),
          channel_(connection_.channel<IpcRequest, IpcReply>()),
          thread_(detail::start_thread("carillon-ipc",
                                       [this](std::stop_token const& stop) { run(stop); })) {}

    // An outstanding call counts for the phase that begins, however soon it ends.
    void enter(Phase phase) {
        if (phase != Phase::unwatched) {
            watched_ = phase;
            ++entered_;
        }
        phase_ = phase;
    }
    // Throws the exception of a call.
    [[nodiscard]] std::array<Samples, phases>& end() {
        thread_.request_stop();
        thread_.join();
        if (failure_) std::rethrow_exception(failure_);
        return samples_;
    }

   private:
    void run(std::stop_token const& stop) {
        try {
            CheckedClient client(channel_, 1, blocks_);
            std::uint32_t seen = entered_;
            while (!stop.stop_requested()) {
                Phase const before = phase_;
                std::uint32_t const took = client.call();
                Phase const of = entered_ == seen ? before : watched_.load();
                seen = entered_;
                if (of != Phase::unwatched)
                    samples_.at(static_cast<std::size_t>(of)).push_back(took);
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
    }

    Blocks blocks_;
    std::atomic<Phase> phase_ = Phase::unwatched;
    std::atomic<Phase> watched_ = Phase::unwatched;  // the last one that was not unwatched
    std::atomic<std::uint32_t> entered_ = 0;         // how many such
    std::exception_ptr failure_;
    Connection connection_;
    Channel<IpcRequest, IpcReply> channel_;
    std::array<Samples, phases> samples_;
    detail::Thread thread_;
};

// A process attaches, calls once and ends; each step is watched separately.
void visit_once(RestlessClient& client, Peer const& visitor) {
    Child child = start_peer(visitor);
    child.expect("ready");
    client.enter(Phase::alone);
    std::this_thread::sleep_for(10ms);
    client.enter(Phase::attach);
    child.talk().say("attach");
    child.expect("attached");
    client.enter(Phase::unwatched);
    std::this_thread::sleep_for(5ms);
    client.enter(Phase::exit);
    child.talk().say("exit");
    child.await_end();
    client.enter(Phase::unwatched);
}

}  // namespace

IpcStall measure_ipc_stall(Device const& device, IpcOptions const& options, bool host_memory,
                           Progress const& progress) {
    SharedKernel const kernel(device, {}, options.blocks, 2);
    SocketFolder const folder;
    Server const server = kernel.serve(folder.socket());
    RestlessClient client(folder.socket(), options.blocks);
    for (std::uint32_t i = 0; i < options.visits && !interrupted(); ++i) {
        visit_once(client, {.role = "visit",
                            .path = folder.socket(),
                            .number = 2,
                            .host_memory = host_memory,
                            .blocks = options.blocks});
        progress(static_cast<double>(i + 1) / options.visits);
    }
    std::array<Samples, phases>& samples = client.end();
    auto const of = [&](char const* name, Phase phase) {
        return summarize(name, samples.at(static_cast<std::size_t>(phase)));
    };
    return {host_memory, of("alone", Phase::alone), of("attach", Phase::attach),
            of("exit", Phase::exit)};
}

}  // namespace carillon::tool
