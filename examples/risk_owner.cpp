// SPDX-License-Identifier: Apache-2.0
// Owns two kernels and five objects at one path, until SIGINT or SIGTERM: a pool that all clients
// ask for quotes, and a kernel that takes orders from a shared ring. Usage: risk_owner PATH
#include <carillon/carillon.hpp>
#include <csignal>
#include <cstdio>

#include "quotes.hpp"
#include "risk.hpp"

using carillon::Direction;

// Its requests ask for the position. Orders come through a ring, which idle() looks at.
struct Risk {
    carillon::SharedMailbox<Limits>::DeviceEnd limits_in;
    carillon::SharedRing<Order, Direction::to_device>::DeviceEnd orders;
    carillon::SharedRing<Fill, Direction::to_host>::DeviceEnd fills;
    carillon::SharedChunkRing<>::DeviceEnd books;
    carillon::SharedMailbox<Position, Direction::to_host>::DeviceEnd position_out;
    carillon::DeviceLog log;
    Limits limits{};
    Position position{};
    Fill fill{};
    bool has_fill = false;  // not sent yet: the ring is full, or nobody reads it

    CARILLON_HD Position operator()(int const& /*question*/) { return position; }

    CARILLON_HD void idle() {
        (void)limits_in.refresh(limits);
        carillon::ChunkView<carillon::NoMeta> book{};
        if (books.try_take(book)) (void)books.release(book.sequence);
        if (has_fill) {
            has_fill = !fills.try_push(fill);
            return;
        }
        Order order{};
        if (!orders.try_pop(order)) {
            (void)fills.look();  // lets the next client have the ring
        } else if (order.price > limits.highest) {
            carillon::log<"order {} over the limit", carillon::LogLevel::warning>(log,
                                                                                  order.number);
        } else {
            fill = {order.number, order.price};
            has_fill = true;
            ++position.fills;
            position.cost += order.price;
            position_out.set(position);
        }
    }
};

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    auto const device = carillon::Device::open();
    carillon::SharedMailbox<Limits> const limits(device);
    carillon::SharedRing<Order, Direction::to_device> const orders(device);
    carillon::SharedRing<Fill, Direction::to_host> const fills(device);
    carillon::SharedChunkRing<> const books(device, {.chunk_bytes = 65536});
    carillon::SharedMailbox<Position, Direction::to_host> const position(device, Position{});
    carillon::LogService const log(device);

    carillon::PersistentKernel<Reprice, carillon::SharedPool> quotes(
        device, {.blocks = 1, .shared_pool = {.clients = 64}});
    carillon::PersistentKernel<Risk, carillon::SharedChannels> risk(
        device, {},
        Risk{limits.device_handle(), orders.device_handle(), fills.device_handle(),
             books.device_handle(), position.device_handle(), log.device_handle()});

    carillon::Server server({.name = "desk"});
    server.add("quotes", quotes);
    server.add("risk", risk);
    server.add("limits", limits);
    server.add("orders", orders);
    server.add("fills", fills);
    server.add("books", books);
    server.add("position", position);
    server.add("log", log);
    server.open(argv[1]);  // from now on clients come in, and find all of them
    std::printf("serving at %s\n", argv[1]);
    std::fflush(stdout);  // at once, also where the output is a pipe

    int signal = 0;
    ::sigwait(&ends, &signal);
    risk.drain(std::chrono::seconds(5));
    quotes.drain(std::chrono::seconds(5));
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
