// SPDX-License-Identifier: Apache-2.0
// How many lines of the CPU's own state a call looks at. A call after a pause may find none of them
// in the caches, and has to fetch them one by one.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "carillon/carillon.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "support/eventually.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using Echo = Channel<int, int>;

constexpr std::size_t line = 64;
constexpr std::size_t lines = 3;

static_assert(alignof(Echo) == line);
static_assert(alignof(detail::ForkCount) == line && sizeof(detail::ForkCount) == line);
static_assert(alignof(ChannelPeer) == line);

// A channel whose first lines are on one page, and the rest on another page that can be taken away.
class SplitChannel {
   public:
    SplitChannel(Device const& device, std::shared_ptr<ChannelMemory> memory)
        : pages_(static_cast<std::byte*>(::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
          channel_(new (pages_ + page_ - lines * line)
                       Echo(device, std::move(memory), 0, HostWait(HostWait::Style::yield))) {}
    SplitChannel(SplitChannel const&) = delete;
    SplitChannel& operator=(SplitChannel const&) = delete;
    ~SplitChannel() {
        channel_->~Echo();
        (void)::munmap(pages_, 2 * page_);
    }

    // Takes the state beyond the first lines away during the call: a look at it ends the program.
    template <class Call>
    auto with_its_first_lines(Call&& call) {
        (void)::mprotect(pages_ + page_, page_, PROT_NONE);
        auto const result = call(*channel_);
        (void)::mprotect(pages_ + page_, page_, PROT_READ | PROT_WRITE);
        return result;
    }

    [[nodiscard]] Echo& whole() { return *channel_; }

   private:
    std::size_t page_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* pages_;
    Echo* channel_;
};

// The fourth line is for the credit: four times a lap, and where a reply is long in coming. So here
// each reply is there before its request.
TEST(CallLinesTest, callLooksAtThreeLinesOfItsClient) {
    Device const device = Device::open("emulated");
    auto const memory = std::make_shared<ChannelMemory>(device, 1, 1024);
    SplitChannel channel(device, memory);
    ChannelView const view = memory->device_view().channel(0);
    DeviceChannel<int, int> kernel(view.requests, view.replies);
    int request = 0;
    EXPECT_FALSE(kernel.requests.try_pop(request));  // it has chosen its pages
    // The first call asks for the choice of pages.
    ASSERT_TRUE(kernel.replies.try_push(-1));
    EXPECT_EQ(channel.whole().call(0, patience), -1);
    for (int i = 1; i <= 100; ++i) {
        ASSERT_TRUE(kernel.replies.try_push(-i - 1));
        int const reply = channel.with_its_first_lines([&](Echo& client) {
            client.warm();
            return client.call(i, patience);
        });
        EXPECT_EQ(reply, -i - 1);
        ASSERT_TRUE(kernel.requests.try_pop(request));
        EXPECT_EQ(request, i - 1);
    }
}

}  // namespace
}  // namespace carillon::test
