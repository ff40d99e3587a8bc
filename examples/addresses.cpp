// SPDX-License-Identifier: Apache-2.0
// The two addresses of a Memory: the CPU writes at host_ptr(), and a kernel reads at device_ptr().
// Memory that the program has allocated itself gets both by register_host().
#include <carillon/carillon.hpp>
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

struct Lookup {
    double const* prices;   // GPU memory
    double const* volumes;  // the program's own memory, pinned

    CARILLON_HD double operator()(int const& index) const { return prices[index] * volumes[index]; }
};

int main() try {
    using namespace std::chrono_literals;
    constexpr std::size_t count = 1000;
    auto const device = carillon::Device::open();

    carillon::Memory const prices = device.allocate(count * sizeof(double));
    std::span<double> const written(static_cast<double*>(prices.host_ptr()), count);
    for (std::size_t i = 0; i < count; ++i) written[i] = 4810.0 + static_cast<double>(i);
    prices.flush(0, prices.size());  // before the kernel starts

    std::vector<double> own(count, 2);
    carillon::Memory const volumes = device.register_host(std::as_writable_bytes(std::span(own)));

    carillon::PersistentKernel kernel(device, {},
                                      Lookup{static_cast<double const*>(prices.device_ptr()),
                                             static_cast<double const*>(volumes.device_ptr())});
    std::printf("%.0f\n", kernel.channel().call(5, 10s));

    // While the kernel runs, the request says that memory was written for it.
    written[5] = 5000;
    prices.flush(5 * sizeof(double), sizeof(double));
    std::printf("%.0f\n", kernel.channel().call(5, 10s, carillon::OutOfLine::written));
    kernel.stop();  // before `own` goes: the kernel reads it
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "addresses: %s\n", error.what());
    return 1;
}
