// SPDX-License-Identifier: Apache-2.0
// Owns objects until its input ends; tests in C and Python are the clients. A thread stands in for
// a kernel: it adds up the bytes of each chunk, logs the sum, and sends the sum and the limits that
// it knows. A kernel beside it takes commands. Usage: carillon_objects_owner PATH
#include <carillon/carillon.hpp>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>

namespace {

struct Limits {
    std::uint32_t most;
    std::uint32_t least;
};
struct Heap {
    std::uint64_t number;
};
struct Status {
    std::uint64_t chunks;
    std::uint64_t sum;
    Limits limits;
};

// Refuses orders above its limit.
struct Order {
    std::uint64_t quantity;
};
struct Total {};
struct Desk {
    using Commands = carillon::Commands<Order, Total>;
    std::uint64_t total = 0;

    CARILLON_HD carillon::Outcome<> operator()(Order const& order) {
        if (order.quantity > 100) return carillon::Refusal{7};
        total += order.quantity;
        return carillon::Done{};
    }
    CARILLON_HD std::uint64_t operator()(Total const& /*command*/) const { return total; }
};

}  // namespace

int main(int argc, char** argv) try {
    using carillon::Direction;
    if (argc != 2) return 2;
    auto const device = carillon::Device::open("emulated");
    carillon::SharedMailbox<Limits> const limits(device);
    carillon::SharedMailbox<Status, Direction::to_host> const status(device, Status{});
    carillon::SharedChunkRing<Heap> const heaps(device, {.chunk_bytes = 4096, .chunks = 4});
    carillon::LogService const log(device, {.sink = [](carillon::LogRecord const&) {}});
    std::jthread const kernel([known = limits.device_handle(), told = status.device_handle(),
                               chunks = heaps.device_handle(),
                               says = log.device_handle()](std::stop_token const& stop) mutable {
        Status now{};
        carillon::ChunkView<Heap> heap{};
        while (!stop.stop_requested()) {
            bool news = known.refresh(now.limits);
            if (chunks.try_take(heap)) {
                news = true;
                ++now.chunks;
                now.sum = std::accumulate(
                    heap.data, heap.data + heap.size, std::uint64_t{0},
                    [](auto sum, auto byte) { return sum + std::to_integer<std::uint64_t>(byte); });
                carillon::log<"heap {} of {} bytes">(says, heap.meta.number, heap.size);
                (void)chunks.release(heap.sequence);
            }
            if (news) {
                told.set(now);
            } else {
                std::this_thread::yield();
            }
        }
    });
    carillon::PersistentKernel<Desk, carillon::SharedChannels> const desk(
        device, {.idle = carillon::IdlePolicy::park()});
    carillon::Server server(argv[1]);
    server.add("desk", desk);
    server.add("limits", limits);
    server.add("status", status);
    server.add("heaps", heaps);
    server.add("log", log);
    while (std::getchar() != EOF) {
    }
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
