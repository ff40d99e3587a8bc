// SPDX-License-Identifier: Apache-2.0
// The CPU's end of a ring of chunks whose kernel releases anything.
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"

#include "fuzz/fuzz.hpp"
#include "support/ring_memory.hpp"

CARILLON_FUZZ_TARGET(chunk, input) {
    constexpr std::uint32_t chunks = 4;
    constexpr std::uint32_t bytes = 64;
    test::RingMemory ring(chunks);
    std::vector<std::byte> data(std::size_t{chunks} * bytes);
    ChunkProducer<HostMapped, SeenNear> producer({ring.view(), data.data(), bytes}, seen_far);
    Sequence released = 0;
    while (!input.empty()) {
        std::size_t const what = input.below(4);
        if (what == 0) ring.credit() = input.take<std::uint64_t>();
        if (what == 1) ring.credit() = ++released;
        if (what == 2 || what == 3) {
            Sequence const claimed = producer.try_claim();
            if (claimed == 0) continue;
            std::byte* const chunk = producer.data(claimed);
            require(chunk >= data.data() && chunk + bytes <= data.data() + data.size(),
                    "a chunk lies in the ring");
            std::memset(chunk, 1, bytes);
            what == 2 ? producer.commit(claimed, bytes, NoMeta()) : producer.drop(claimed);
        }
    }
}
