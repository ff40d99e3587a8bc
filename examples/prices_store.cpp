// SPDX-License-Identifier: Apache-2.0
// Has a store of buffers in device memory, and reads the one that prices_writer.cpp puts there,
// which may have ended by then. Usage: prices_store PATH
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    auto const device = carillon::Device::open();
    // clang-format off: as docs/guide/store.md shows it
    carillon::Store store(device, {.bytes = 64 << 20});
    carillon::SealedEvents events = store.sealed_events();
    carillon::Server server = store.serve(argv[1]);
    // clang-format on
    std::printf("serving at %s\n", argv[1]);
    std::fflush(stdout);

    auto const event = events.next(std::chrono::seconds(10));
    if (!event) return 1;
    carillon::Buffer const table = store.get(event->id);
    // A kernel of this process would read it at table.device_ptr().
    carillon::HostMirror const mirror(table);
    auto const* const prices = reinterpret_cast<double const*>(mirror.data().data());
    std::size_t const count = table.size() / sizeof(double);
    std::printf("%s: %zu prices, the last %.2f%s\n", table.name().c_str(), count, prices[count - 1],
                table.is_cpu() ? ", in memory of the host's" : "");
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
