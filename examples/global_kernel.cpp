// SPDX-License-Identifier: Apache-2.0
// A __global__ function that the program launches itself, with <<<>>>. nvcc compiles it, and it
// needs a GPU: only launch() (own_kernel.cpp) runs on the emulated device.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

struct Order {
    long quantity;
};
struct Total {
    long orders, quantity;
};

using OrdersIn = carillon::Ring<Order, carillon::Direction::to_device>;
using TotalsOut = carillon::Ring<Total, carillon::Direction::to_host>;
using StopIn = carillon::Flag<bool, carillon::Direction::to_device>;
using BeatIn = carillon::Flag<unsigned, carillon::Direction::to_device>;

// One block of one thread. It ends when `stop` is set, or when `beat` has not changed for a while.
__global__ void accumulate(OrdersIn::DeviceEnd orders, TotalsOut::DeviceEnd totals,
                           StopIn::DeviceEnd stop, BeatIn::DeviceEnd beat) {
    constexpr std::uint64_t patience_ns = 5'000'000'000;
    carillon::DeviceClock const clock;
    Total total{0, 0};
    unsigned last_beat = beat.get();
    std::uint64_t heard_ns = clock.now_ns();
    bool has_total = false;
    while (!stop.get()) {
        if (unsigned const now = beat.get(); now != last_beat) {
            last_beat = now;
            heard_ns = clock.now_ns();
        }
        if (clock.now_ns() - heard_ns > patience_ns) return;
        Order order{};
        if (has_total) {
            has_total = !totals.try_push(total);
        } else if (orders.try_pop(order, 64)) {  // looks 64 times
            total.orders += 1;
            total.quantity += order.quantity;
            has_total = total.orders % 10 == 0;
        }
    }
}

void check(cudaError_t result) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(result));
    std::exit(1);
}

// Polls: cudaStreamSynchronize has no timeout.
bool ends_within(cudaStream_t stream, std::chrono::seconds timeout) {
    auto const until = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < until) {
        cudaError_t const state = cudaStreamQuery(stream);
        if (state != cudaErrorNotReady) {
            check(state);
            return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// Stops the kernel and waits for its end, also when an error unwinds main(): the rings that it
// polls are freed afterwards.
class Stopping {
   public:
    Stopping(StopIn& stop, cudaStream_t stream) : stop_(stop), stream_(stream) {}
    Stopping(Stopping const&) = delete;
    Stopping& operator=(Stopping const&) = delete;
    ~Stopping() {
        if (!is_done_) (void)end();
    }
    // Returns whether it has ended.
    bool end() {
        is_done_ = true;
        stop_.set(true);
        return ends_within(stream_, std::chrono::seconds(10));
    }

   private:
    StopIn& stop_;
    cudaStream_t stream_;
    bool is_done_ = false;
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open("cuda:0");
    OrdersIn orders(device);
    TotalsOut totals(device);
    StopIn stop(device);
    BeatIn beat(device);

    check(cudaSetDevice(0));
    cudaStream_t stream{};
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    accumulate<<<1, 1, 0, stream>>>(orders.device_handle(), totals.device_handle(),
                                    stop.device_handle(), beat.device_handle());
    check(cudaGetLastError());
    Stopping stopping(stop, stream);

    for (long i = 1; i <= 100; ++i) {
        orders.push({i}, 1s);
        beat.set(static_cast<unsigned>(i));  // a program beats whenever its loop comes round
        if (i % 10 != 0) continue;
        Total const total = totals.pop(1s);
        std::printf("%ld orders, %ld contracts\n", total.orders, total.quantity);
    }
    return stopping.end() ? 0 : 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "global_kernel: %s\n", error.what());
    return 1;
}
