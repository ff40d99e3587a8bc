// SPDX-License-Identifier: Apache-2.0
// A user's program: one call to a kernel on the emulated device.
#ifdef CONSUMER_OF_ONE_HEADER  // one whose classes come from no device
#include <carillon/cores.hpp>

int main() { return carillon::allowed_cores().empty() ? 1 : 0; }
#else
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

#ifdef CONSUMER_HOST_HANDLER  // it lacks CARILLON_HD, and nvcc is to refuse it
#define CONSUMER_HD
#else
#define CONSUMER_HD CARILLON_HD
#endif

struct Double {
    CONSUMER_HD int operator()(int const& request) const { return 2 * request; }
};

#ifdef __CUDACC__
constexpr char const* compiler = "nvcc";
#else
constexpr char const* compiler = "the C++ compiler";
#endif

int main() try {
    auto device = carillon::Device::open("emulated");
    carillon::PersistentKernel<Double> kernel(device);
    int const reply = kernel.channel().call(21, std::chrono::seconds(10));
    std::printf("%d, %s, compiled by %s\n", reply, device.emulated() ? "emulated" : "a GPU",
                compiler);
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
    return 1;
}
#endif
