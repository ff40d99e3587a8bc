// SPDX-License-Identifier: Apache-2.0
// Kernels that end beside their last replies.
#include <array>
#include <memory>
#include <vector>

#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Echo = Channel<int, int>;

// A kernel that answers all that was asked of it, and then has ended: between a poll of the
// channel that finds nothing and the look whether the kernel is there.
class AnswersAndEnds final : public ChannelPeer {
   public:
    explicit AnswersAndEnds(ChannelView const& view) : ends_(view.requests, view.replies) {}

    void require_open() const override {}
    void require_alive() override {
        int request = 0;
        while (ends_.requests.try_pop(request)) (void)ends_.replies.try_push(-request);
        throw StoppedError("the kernel has ended");
    }

   private:
    DeviceChannel<int, int> ends_;
};

class EndedKernelTest : public testing::Test {
   protected:
    Device device_ = Device::open("emulated");
    std::shared_ptr<ChannelMemory> memory_ = std::make_shared<ChannelMemory>(device_, 1, 8);
    Echo channel_{device_, memory_, 0, HostWait::for_kernel({.shares_processors = true}, 1),
                  std::make_shared<AnswersAndEnds>(memory_->device_view().channel(0))};
};

TEST_F(EndedKernelTest, replyThatComesBesideTheEndIsTaken) {
    EXPECT_EQ(channel_.call(7, patience), -7);
}

TEST_F(EndedKernelTest, replyBehindOthersIsTakenToo) {
    std::vector<Ticket> tickets;
    for (int i = 0; i < 4; ++i) tickets.push_back(channel_.submit(i, patience));
    channel_.abandon(tickets[1]);
    EXPECT_EQ(channel_.wait(tickets[3], patience), -3);
    EXPECT_EQ(channel_.try_take(tickets[0]), 0);
    EXPECT_EQ(channel_.wait(tickets[2], patience), -2);
}

TEST_F(EndedKernelTest, replyThatIsThereWhenTheTimeIsOverIsTaken) {
    EXPECT_EQ(channel_.call(7, 0ns), -7);
}

}  // namespace
}  // namespace carillon::test
