// SPDX-License-Identifier: Apache-2.0
// Uses all that risk_owner.cpp serves, from a process of its own that needs no CUDA.
// Usage: risk_client PATH
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "quotes.hpp"
#include "risk.hpp"

using namespace std::chrono_literals;
using carillon::Direction;

void watch(carillon::Connection const& owner) {
    for (carillon::ServedObject const& object : owner.status().objects) {
        for (carillon::ServedBlock const& block : object.blocks) {
            if (block.client.empty()) continue;
            std::printf("%s: %s, sent %llu\n", object.name.c_str(), block.client.c_str(),
                        static_cast<unsigned long long>(block.all().submitted));
        }
    }
}

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    auto const owner = carillon::connect(argv[1], {.name = "risk client", .wait_for_owner = 10s});
    auto quotes = owner.channel<Tick, Quote>("quotes");
    auto risk = owner.channel<int, Position>("risk");
    auto limits = owner.mailbox<Limits>("limits");
    auto orders = owner.ring<Order, Direction::to_device>("orders");
    auto fills = owner.ring<Fill, Direction::to_host>("fills");
    auto books = owner.chunk_ring<>("books");
    auto position = owner.mailbox<Position, Direction::to_host>("position");
    carillon::LogReader log = owner.log("log");

    std::printf("quote %.2f\n", quotes.call({4810.0, 4810.5}, 10s).price);
    limits.set({4811});
    carillon::Chunk<carillon::NoMeta> book = books.claim(10s);
    book.fill(0, std::vector<std::byte>(4096));
    book.commit(4096);
    orders.push({1, 4900}, 10s);
    if (auto const record = log.next(10s)) std::puts(record->text.c_str());
    orders.push({2, 4810.25}, 10s);
    Fill const fill = fills.pop(10s);
    std::printf("order %ld filled at %.2f\n", fill.number, fill.price);

    Position now{};
    if (position.refresh(now)) std::printf("fills %ld, cost %.2f\n", now.fills, now.cost);
    std::printf("the kernel says %ld\n", risk.call(0, 10s).fills);
    watch(owner);
    return 0;
} catch (carillon::OwnerGoneError const& error) {
    std::fprintf(stderr, "%s; what was not answered may have been served\n", error.what());
    return 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
