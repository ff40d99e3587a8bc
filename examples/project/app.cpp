// SPDX-License-Identifier: Apache-2.0
// The program of a project of your own, the smallest there is: a handler, a kernel, a call.
#include <carillon/carillon.hpp>
#include <cstdio>

struct Twice {
    CARILLON_HD long operator()(long const& value) const { return 2 * value; }
};

int main() {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    carillon::PersistentKernel<Twice> kernel(device);
    std::printf("%ld\n", kernel.channel().call(21, 1s));
}
