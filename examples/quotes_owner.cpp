// SPDX-License-Identifier: Apache-2.0
// Owns a kernel that other processes command, at a path, until SIGINT or SIGTERM.
// Usage: quotes_owner PATH
#include <carillon/carillon.hpp>
#include <csignal>
#include <cstdio>

#include "quotes.hpp"

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    // Blocked before the first thread starts: a signal that ends this process then reaches sigwait,
    // and the clients hear at once.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    auto const device = carillon::Device::open();
    // clang-format off: as docs/guide/processes.md shows it
    carillon::PersistentKernel<Reprice, carillon::SharedChannels> kernel(device, {.blocks = 2});
    carillon::Server server = kernel.serve(argv[1]);
    // clang-format on
    std::printf("serving at %s\n", argv[1]);
    std::fflush(stdout);  // at once, also where the output is a pipe

    int signal = 0;
    ::sigwait(&ends, &signal);
    std::printf("ended by signal %d\n", signal);
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
