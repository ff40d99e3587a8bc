// SPDX-License-Identifier: Apache-2.0
// Flags and doorbells between the CPU and a kernel of the user's own.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

using LevelIn = Flag<std::uint64_t, Direction::to_device>;
using LevelOut = Flag<std::uint64_t, Direction::to_host>;
using DoorbellIn = Doorbell<Direction::to_device>;
using DoorbellOut = Doorbell<Direction::to_host>;

// Answers each new level with the level and the data that it vouches for, doubled.
struct LevelBody {
    LevelIn::DeviceEnd in;
    LevelOut::DeviceEnd out;
    std::uint64_t const* data;
    std::uint64_t* answer;  // in host memory
    std::uint64_t last;

    CARILLON_HD void operator()(unsigned /*block*/) {
        BodyPatience body_patience;
        for (std::uint64_t seen = 0; seen != last && body_patience.more();) {
            std::uint64_t const level = in.get();
            if (level == seen) continue;
            seen = level;
            DeviceFar().store_word(answer, 2 * *static_cast<std::uint64_t const volatile*>(data));
            out.set(level, OutOfLine::written);
        }
    }
};

// Rings once for every ring it hears.
struct DoorbellBody {
    DoorbellIn::DeviceEnd in;
    DoorbellOut::DeviceEnd out;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        BodyPatience body_patience;
        for (std::uint64_t rung = 0; rung < count && body_patience.more();) {
            for (std::uint64_t news = in.heard(); news > 0; --news, ++rung) out.ring();
        }
    }
};

namespace {

class FlagTest : public KernelTest {
   protected:
    // Levels there and back, each with a word of data in memory of its own.
    void expect_levels(DeviceOptions const& options) {
        open(options);
        LevelIn in(device());
        LevelOut out(device());
        Memory const data = device().allocate(64);
        Memory const answer = device().allocate_host(64);
        constexpr std::uint64_t last = 100;
        auto const kernel =
            launch(device(), 1,
                   LevelBody{in.device_handle(), out.device_handle(),
                             static_cast<std::uint64_t const*>(data.device_ptr()),
                             static_cast<std::uint64_t*>(answer.device_ptr()), last});
        HostMapped const far = device().access(data);
        for (std::uint64_t level = 1; level <= last; ++level) {
            far.store_word(static_cast<std::uint64_t*>(data.host_ptr()), 3 * level);
            data.flush(0, 8);
            in.set(level, OutOfLine::written);
            ASSERT_TRUE(eventually([&] { return out.get() == level; })) << level;
            ASSERT_EQ(HostCached().load_word(static_cast<std::uint64_t const*>(answer.host_ptr())),
                      6 * level);
        }
        EXPECT_TRUE(kernel.wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(FlagTest);

// Catches a value that overtakes its data, in either direction.
TEST_P(FlagTest, whoeverSeesTheLevelSeesItsData) { expect_levels({}); }

TEST_P(FlagTest, readBackDeviceKeepsTheOrderToo) { expect_levels({.force_read_back = true}); }

TEST_P(FlagTest, readBackIsSaid) {
    bool const keeps_order = device().info().write_ordering.value_or(100) >= 100;  // 100: owner
    EXPECT_EQ(device().info().data_order, keeps_order ? DataOrder::fence : DataOrder::read_back);
    open({.force_read_back = true});
    EXPECT_EQ(device().info().data_order, DataOrder::read_back);
}

TEST_P(FlagTest, noRingIsLost) {
    DoorbellIn in(device());
    DoorbellOut out(device());
    constexpr std::uint64_t count = 1000;
    auto const kernel =
        launch(device(), 1, DoorbellBody{in.device_handle(), out.device_handle(), count});
    for (std::uint64_t i = 0; i < count; ++i) in.ring();
    std::uint64_t heard = 0;
    EXPECT_TRUE(eventually([&] { return (heard += out.heard()) >= count; })) << heard;
    EXPECT_EQ(heard, count);
    EXPECT_TRUE(kernel.wait(patience));
    EXPECT_EQ(out.heard(), 0U);
}

}  // namespace
}  // namespace carillon::test
