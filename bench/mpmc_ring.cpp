// SPDX-License-Identifier: Apache-2.0
// One question: how does the rate into one MPMC ring grow with the number of threads that push,
// by claims of 1 and of 16 lines? The rival is the same ring with one end behind a mutex.
// An iteration is a push; a kernel drains the ring. Device: CARILLON_DEVICE, default best.

#include <chrono>
#include <mutex>
#include <optional>

#include "on_device.hpp"
#include "rate/producers.hpp"

namespace {

using namespace carillon;
using namespace carillon::tool;

using LineRing = MpmcRing<Payload, Direction::to_device>;

// A ring and the kernel that drains it; what the threads of one benchmark push into.
class Drained {
   public:
    explicit Drained(Device const& device)
        : ring_(device, options()),
          kernel_(device, {1, device.traits().one_thread_a_block ? 1 : 8U * 32U}, longest_run) {
        auto const end = ring_.device_handle();
        kernel_.start(
            TakeMpmc<true>{{end, end, end, end, end, end, end, end}, 1, kernel_.ledger()});
        common_.emplace(ring_.producer());
    }
    ~Drained() {
        try {
            (void)kernel_.stop();
        } catch (std::exception const&) {  // the kernel's bound ends it
        }
    }
    Drained(Drained const&) = delete;
    Drained& operator=(Drained const&) = delete;

    [[nodiscard]] HostMpmcProducer<Payload> producer() const { return ring_.producer(); }
    std::size_t push_locked(std::span<Payload const> messages) {
        std::lock_guard const lock(mutex_);
        return common_->try_push_n(messages);
    }

   private:
    static constexpr std::chrono::minutes longest_run{10};  // of a benchmark, whatever it is told

    static MpmcRingOptions options() {
        MpmcRingOptions options;
        options.capacity = 16384;
        options.stripe = 64;
        return options;
    }

    LineRing ring_;
    RateKernel kernel_;
    std::optional<HostMpmcProducer<Payload>> common_;
    std::mutex mutex_;
};

// Pushes all of `messages` before it returns; false when there was no room for too long.
template <class Push>
bool push_all(std::span<Payload const> messages, bool oversubscribed, Push&& push) {
    auto const deadline = RateClock::now() + rate_limit;
    for (std::uint32_t misses = 0; !messages.empty();) {
        std::size_t const sent = push(messages);
        messages = messages.subspan(sent);
        if (sent != 0) continue;
        carillon::detail::cpu::pause_or_yield(++misses, oversubscribed);
        if (misses % 1024 == 0 && RateClock::now() >= deadline) return false;
    }
    return true;
}

void push(benchmark::State& state, Device const& device, std::unique_ptr<Drained>& drained,
          bool locked) {
    if (state.thread_index() == 0) drained = std::make_unique<Drained>(device);
    std::vector<Payload> const messages(static_cast<std::size_t>(state.range(0)));
    bool const oversubscribed = device.traits().shares_processors;
    std::optional<HostMpmcProducer<Payload>> own;
    bool pushed = true;
    for (auto _ : state) {  // the threads begin together, once thread 0 has made the ring
        if (!own && !locked) own.emplace(drained->producer());
        pushed = push_all(messages, oversubscribed, [&](std::span<Payload const> some) {
            return locked ? drained->push_locked(some) : own->try_push_n(some);
        });
        if (!pushed) {
            state.SkipWithError("the ring stayed full");
            break;
        }
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
    own.reset();
    if (state.thread_index() == 0) drained.reset();  // the threads have all ended their loops
}

}  // namespace

int main(int argc, char** argv) {
    return carillon::bench::on_device("bench_mpmc_ring", [&](carillon::Device const& device) {
        std::unique_ptr<Drained> drained;
        int const most = device.traits().shares_processors ? 2 : 8;
        for (bool const locked : {false, true}) {
            benchmark::RegisterBenchmark(
                locked ? "mutex" : "claims",
                [&, locked](auto& state) { push(state, device, drained, locked); })
                ->Arg(1)
                ->Arg(16)
                ->ThreadRange(1, most)
                ->UseRealTime();
        }
        carillon::bench::run_all(argc, argv);
    });
}
