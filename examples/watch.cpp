// SPDX-License-Identifier: Apache-2.0
// The life of a kernel: its state, an end that leaves no request unanswered, and the errors that
// callers get afterwards.
#include <carillon/carillon.hpp>
#include <cstdio>
#include <string>

struct Twice {
    CARILLON_HD long operator()(long const& value) const { return 2 * value; }
};

template <class Kernel>
void print_state(Kernel const& kernel) {
    std::string const state(to_string(kernel.state()));
    std::string const activity(to_string(kernel.activity()));
    std::printf("kernel %s, its block %s\n", state.c_str(), activity.c_str());
}

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    carillon::PersistentKernel<Twice> kernel(device);
    long const reply = kernel.channel().call(21, 1s);
    std::printf("reply %ld\n", reply);
    print_state(kernel);

    kernel.drain(5s);  // answers every accepted request, then ends the kernel
    print_state(kernel);
    try {
        (void)kernel.channel().call(1, 1s);
    } catch (carillon::StoppedError const& error) {
        std::printf("%s\n", error.what());
    }
    return 0;
} catch (carillon::DeviceFaultError const& error) {
    std::fprintf(stderr, "watch: %s\n", error.what());
    return 3;  // the parent process must start a new one
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "watch: %s\n", error.what());
    return 1;
}
