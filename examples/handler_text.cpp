// SPDX-License-Identifier: Apache-2.0
// A kernel on a GPU whose handler is text, compiled while the program runs: no nvcc is needed.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>

namespace {

using namespace std::chrono_literals;

struct Tick {
    double bid, ask;
};
struct Quote {
    double price;
};

constexpr std::string_view reprice = R"(
struct Tick { double bid, ask; };
struct Quote { double price; };
struct Handler {
    Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2}; }
};
)";

void run(carillon::Device const& device) {
    carillon::BytesType const tick_type{sizeof(Tick), "Tick"};
    carillon::BytesType const quote_type{sizeof(Quote), "Quote"};
    auto const handler = carillon::compile_handler(device, reprice, tick_type, quote_type);
    carillon::BytesKernel kernel(device, handler);

    Tick const tick{4810.00, 4810.25};
    Quote quote{};
    kernel.client().call(std::as_bytes(std::span(&tick, 1)),
                         std::as_writable_bytes(std::span(&quote, 1)), 1s);
    std::printf("%.3f from text on %s\n", quote.price, device.info().name.c_str());
}

}  // namespace

int main() {
    try {
        run(carillon::Device::open("cuda:0"));
    } catch (carillon::DeviceNotFoundError const& error) {
        std::printf("not here: %s\n", error.what());
    } catch (carillon::UnsupportedError const& error) {
        std::printf("not here: %s\n", error.what());
    }
}
