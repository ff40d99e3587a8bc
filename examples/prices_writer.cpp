// SPDX-License-Identifier: Apache-2.0
// Puts a table of prices into the store that prices_store.cpp has, in device memory, from a process
// of its own that needs no CUDA. Usage: prices_writer PATH
#include <carillon/carillon.hpp>
#include <cstdio>
#include <utility>
#include <vector>

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    std::vector<double> prices(1000);
    double price = 4810.0;
    for (double& each : prices) each = std::exchange(price, price + 0.25);

    carillon::Store const store(argv[1]);
    auto const bytes = std::as_bytes(std::span(prices));
    carillon::Buffer table = store.create("prices", bytes.size());
    table.write(bytes);
    table.seal();
    std::printf("buffer %llu is sealed\n", static_cast<unsigned long long>(table.id()));
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
