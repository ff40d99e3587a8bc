// SPDX-License-Identifier: Apache-2.0
// A recorded fast radio burst through a ring of chunks: dedispersed by a kernel as it comes, it is
// where others have found it (askap_frb_beam28.fil; CARILLON_DATA says where recordings are).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "carillon/block.hpp"
#include "carillon/copy.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

namespace burst {

constexpr std::uint32_t channels = 336;
constexpr std::uint32_t spectra = 5120;
constexpr std::uint32_t largest_delay = 494;
constexpr std::uint32_t points = spectra - largest_delay;
constexpr std::uint32_t spectra_per_chunk = 64;
constexpr std::size_t header = 327;  // bytes

}  // namespace burst

struct SpectraMeta {
    std::uint64_t first;  // the number of the first spectrum of the chunk
};

// Adds every sample to the point of the series that it belongs to, by its channel's delay.
struct DedisperseBody {
    BlockChunkReader<SpectraMeta> chunks;
    std::uint32_t const* delays;  // of each channel, in spectra
    std::uint32_t* series;

    CARILLON_HD void operator()(unsigned /*block*/) {
        DeviceClock const clock;
        std::uint32_t seen = 0;
        for (std::uint32_t polls = 0; seen < burst::spectra && polls < 1U << 26;) {
            ChunkView<SpectraMeta> chunk{};
            if (!chunks.try_take(chunk)) {
                clock.idle(++polls);
                continue;
            }
            polls = 0;
            auto const here = static_cast<std::uint32_t>(chunk.size / burst::channels);
            add(chunk, here);
            chunks.release(chunk.sequence);
            seen += here;
        }
    }

   private:
    // Each thread has points of its own.
    CARILLON_HD void add(ChunkView<SpectraMeta> const& chunk, std::uint32_t here) const {
        auto const first = static_cast<std::uint32_t>(chunk.meta.first);
        std::uint32_t const from = first < burst::largest_delay ? 0 : first - burst::largest_delay;
        std::uint32_t const until = first + here < burst::points ? first + here : burst::points;
        for (std::uint32_t i = from + block::thread_rank(); i < until; i += block::size()) {
            std::uint32_t sum = 0;
            for (std::uint32_t channel = 0; channel < burst::channels; ++channel) {
                std::uint32_t const spectrum = i + delays[channel] - first;
                if (spectrum >= here) continue;  // in another chunk
                sum += static_cast<std::uint32_t>(
                    chunk.data[spectrum * std::size_t{burst::channels} + channel]);
            }
            series[i] += sum;
        }
    }
};

namespace {

class BurstTest : public KernelTest {
   protected:
    void SetUp() override {
        char const* const given = std::getenv("CARILLON_DATA");
        std::filesystem::path const path =
            std::filesystem::path(given != nullptr ? given : CARILLON_DEFAULT_DATA) /
            "askap_frb_beam28.fil";
        std::ifstream file(path, std::ios::binary);
        if (!file) {
            GTEST_SKIP() << path << " is not there; CARILLON_DATA names the directory it is in";
        }
        file.seekg(burst::header);
        file.read(reinterpret_cast<char*>(samples_.data()),
                  static_cast<std::streamsize>(samples_.size()));
        ASSERT_EQ(file.gcount(), static_cast<std::streamsize>(samples_.size())) << path;
        KernelTest::SetUp();
    }

    [[nodiscard]] std::span<std::byte const> samples() const { return samples_; }

    // Each channel's delay against the first, at the burst's dispersion measure.
    [[nodiscard]] static std::vector<std::uint32_t> channel_delays() {
        std::vector<std::uint32_t> delays(burst::channels);
        for (std::uint32_t i = 0; i < burst::channels; ++i) {
            double const frequency = 1465.0 - i;  // MHz
            double const seconds =
                4148.808 * 475.284 * (1 / (frequency * frequency) - 1 / (1465.0 * 1465.0));
            delays[i] = static_cast<std::uint32_t>(std::lround(seconds / 1.26646875e-3));
        }
        return delays;
    }

   private:
    std::vector<std::byte> samples_ =
        std::vector<std::byte>(std::size_t{burst::spectra} * burst::channels);
};
CARILLON_ON_EVERY_DEVICE(BurstTest);

TEST_P(BurstTest, chunkWiseDedispersedItIsWhereOthersFoundIt) {
    constexpr std::size_t chunk_bytes = burst::spectra_per_chunk * std::size_t{burst::channels};
    Memory const delay_memory = device().allocate(burst::channels * sizeof(std::uint32_t));
    Memory const series_memory = device().allocate(burst::points * sizeof(std::uint32_t));
    std::vector<std::uint32_t> const delays = channel_delays();
    copy_to_device(delay_memory, 0, std::as_bytes(std::span(delays)));
    ChunkRing<SpectraMeta> chunks(device(), {.chunk_bytes = chunk_bytes, .chunks = 4});
    auto const kernel =
        launch(device(), 1,
               DedisperseBody{chunks.block_handle(),
                              static_cast<std::uint32_t const*>(delay_memory.device_ptr()),
                              static_cast<std::uint32_t*>(series_memory.device_ptr())},
               256);
    for (std::size_t done = 0; done < samples().size(); done += chunk_bytes) {
        Chunk<SpectraMeta> chunk = chunks.claim(patience);
        chunk.fill(0, samples().subspan(done, chunk_bytes));
        chunk.commit(chunk_bytes, {done / burst::channels});
    }
    ASSERT_TRUE(kernel.wait(patience));

    std::vector<std::uint32_t> series(burst::points);
    copy_from_device(std::as_writable_bytes(std::span(series)), series_memory, 0);
    auto const peak = std::max_element(series.begin(), series.end());
    EXPECT_EQ(peak - series.begin(), 1602);
    EXPECT_EQ(*peak, 47527U);
    EXPECT_EQ(std::accumulate(series.begin(), series.end(), std::uint64_t{0}), 198'015'159U);
}

}  // namespace
}  // namespace carillon::test
