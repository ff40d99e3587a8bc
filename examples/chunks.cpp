// SPDX-License-Identifier: Apache-2.0
// Chunks: a receiver puts packets together in place, in GPU memory, and a block of 128 threads
// detects their power. The packets of a chunk come in any order; a chunk that lacks one is dropped.
#include <carillon/carillon.hpp>
#include <cstdio>
#include <vector>

struct Header {  // a chunk's facts beside its data
    long timestamp;
};
struct Power {
    long timestamp, samples, power;
};

using PowersOut = carillon::Ring<Power, carillon::Direction::to_host>;
constexpr unsigned threads = 128;
constexpr std::uint64_t patience_ns = 10'000'000'000;  // after which a wait is given up
struct Partial {
    long power[threads];
};

struct Verdict {
    bool over;
};

struct Detect {
    carillon::ChunkRing<Header>::BlockEnd chunks;
    PowersOut::DeviceEnd powers;
    carillon::DeviceClock clock{};

    // Every thread of the block runs this, and counts the same polls.
    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t idle_since = clock.now_ns();
        for (unsigned polls = 0;;) {
            carillon::ChunkView<Header> chunk{};
            if (!chunks.try_take(chunk)) {
                clock.idle(++polls);
                if (polls % 64 == 0 && is_over(idle_since)) return;
                continue;
            }
            polls = 0;
            idle_since = clock.now_ns();
            if (chunk.size == 0) return;  // the end
            detect(chunk);
            chunks.release(chunk.sequence);  // the CPU may fill it again
        }
    }

    // Whether the wait is over: the first thread's clock decides for all, or some would leave the
    // others behind.
    CARILLON_HD bool is_over(std::uint64_t idle_since) const {
        namespace block = carillon::block;
        auto& verdict = block::shared<Verdict, struct Patience>();
        if (block::thread_rank() == 0) verdict.over = clock.now_ns() - idle_since > patience_ns;
        block::sync();
        bool const over = verdict.over;
        block::sync();  // every thread has read it before it is written again
        return over;
    }

    CARILLON_HD void detect(carillon::ChunkView<Header> const& chunk) {
        namespace block = carillon::block;
        auto& partial = block::shared<Partial, struct Powers>();
        long power = 0;
        for (std::size_t i = block::thread_rank(); i < chunk.size; i += block::size()) {
            long const sample = static_cast<signed char>(chunk.data[i]);
            power += sample * sample;
        }
        partial.power[block::thread_rank()] = power;
        block::sync();
        if (block::thread_rank() != 0) return;
        power = 0;
        for (unsigned i = 0; i < block::size(); ++i) power += partial.power[i];
        Power const result{chunk.meta.timestamp, static_cast<long>(chunk.size), power};
        std::uint64_t const full_since = clock.now_ns();
        for (unsigned polls = 0; !powers.try_push(result); clock.idle(++polls)) {
            if (clock.now_ns() - full_since > patience_ns) return;
        }
    }
};

void print(Power const& power) {
    std::printf("chunk %ld: %ld samples, power %ld\n", power.timestamp, power.samples, power.power);
}

int main() try {
    using namespace std::chrono_literals;
    constexpr std::size_t packet = 1024;
    constexpr std::size_t packets = 64;  // per chunk
    auto const device = carillon::Device::open();
    carillon::ChunkRing<Header> chunks(device, {.chunk_bytes = packets * packet, .chunks = 4});
    PowersOut powers(device);
    auto const kernel =
        carillon::launch(device, 1, Detect{chunks.block_handle(), powers.device_handle()}, threads);

    std::vector<std::byte> const received(packet, std::byte{3});
    int expected = 0;  // powers that have not come yet
    for (long timestamp = 0; timestamp < 16; ++timestamp) {
        auto chunk = chunks.claim(1s);  // waits while the kernel has not released any
        for (std::size_t i = 0; i < packets; ++i) chunk.fill(i * packet, received);  // in any order
        if (timestamp % 5 == 4) continue;  // as if a packet was lost: the kernel skips the chunk
        chunk.commit(packets * packet, {timestamp});
        ++expected;
        for (; auto const power = powers.try_pop(); --expected) print(*power);
    }
    for (; expected > 0; --expected) print(powers.pop(1s));
    chunks.claim(1s).commit(0, {-1});
    return kernel.wait(5s) ? 0 : 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "chunks: %s\n", error.what());
    return 1;
}
