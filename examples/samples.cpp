// SPDX-License-Identifier: Apache-2.0
// A stream by commands: each command names a piece of samples in GPU memory, and the reply is the
// result. Four blocks work at the same time, each with a channel and a buffer of its own.
#include <array>
#include <carillon/carillon.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

struct Piece {
    signed char const* samples;  // in GPU memory: the device's address
    std::uint32_t count;
};

struct Detect {
    static constexpr unsigned threads = 128;
    struct Shared {
        long of_thread[threads];
    };

    // All threads of the block run this on the same piece. The first one's result is the reply.
    CARILLON_HD long operator()(Piece const& piece, Shared& shared) const {
        namespace block = carillon::block;
        long power = 0;
        for (std::uint32_t i = block::thread_rank(); i < piece.count; i += block::size()) {
            power += long{piece.samples[i]} * piece.samples[i];
        }
        shared.of_thread[block::thread_rank()] = power;
        block::sync();
        power = 0;
        for (unsigned i = 0; i < block::size(); ++i) power += shared.of_thread[i];
        block::sync();  // every thread has read the sums before the next piece overwrites them
        return power;
    }
};

// Stands for a receiver: a socket, or a card.
void receive(std::span<signed char> samples, long number) {
    for (auto& sample : samples) sample = static_cast<signed char>(number % 8);
}

int main() try {
    using namespace std::chrono_literals;
    constexpr unsigned lanes = 4;
    constexpr std::size_t count = 65536;
    constexpr long pieces = 16;
    auto const device = carillon::Device::open();
    carillon::Memory const memory = device.allocate(lanes * count);
    auto const* const on_device = static_cast<signed char const*>(memory.device_ptr());
    carillon::PersistentKernel<Detect> kernel(device, {.blocks = lanes});

    std::vector<signed char> samples(count);
    std::array<carillon::Ticket, lanes> tickets;
    for (long i = 0; i < pieces + lanes; ++i) {
        auto const lane = static_cast<unsigned>(i % lanes);
        auto& channel = kernel.channel(lane);
        if (i >= lanes) {  // the reply says that the block has read its buffer
            long const power = channel.wait(tickets[lane], 10s);
            std::printf("piece %ld: power %ld\n", i - lanes, power);
        }
        if (i >= pieces) continue;
        receive(samples, i);
        std::size_t const offset = lane * count;
        carillon::copy_to_device(memory, offset, std::as_bytes(std::span(samples)));
        tickets[lane] = channel.submit({on_device + offset, static_cast<std::uint32_t>(count)}, 10s,
                                       carillon::OutOfLine::written);
    }
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "samples: %s\n", error.what());
    return 1;
}
