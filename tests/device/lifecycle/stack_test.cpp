// SPDX-License-Identifier: Apache-2.0
// Stacks of a GPU's threads, for which CUDA would wait at a launch, and of the program's threads.
#include <pthread.h>

#include <functional>

#include "carillon/detail/wire/config.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

struct SumOf {
    unsigned factor, count;
};

// A handler with a table in the stack of each thread.
template <unsigned words>
struct TableHandler {
    CARILLON_HD double operator()(SumOf const& in) const {
        double table[words];
        for (unsigned i = 0; i < words; ++i) table[i] = i * in.factor;
        double sum = 0;
        for (unsigned i = 0; i < in.count; ++i) sum += table[(i * in.factor * 31) % words];
        return sum;
    }
};

namespace {

KernelOptions const short_lived{.lifetime = 20s};

class StackTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(StackTest);

template <unsigned words>
bool answers(PersistentKernel<TableHandler<words>>& kernel) {
    return kernel.channel().call({1, 2}, patience) == 31 % words;
}

// Catches a launch that waits until no other kernel runs.
TEST_P(StackTest, kernelsWithLargerStacksStartBesideOthers) {
    PersistentKernel<TableHandler<1>> small(device(), short_lived);
    PersistentKernel<TableHandler<768>> large(device(), short_lived);
    PersistentKernel<TableHandler<1024>> larger(device(), short_lived);
    EXPECT_TRUE(answers(small));
    EXPECT_TRUE(answers(large));
    EXPECT_TRUE(answers(larger));
}

TEST_P(StackTest, whatTheLargestKernelUsesIsReservedAtTheOpening) {
    StackUse const use = device().stack();
    EXPECT_GE(use.limit, use.needed);
    if (!on_gpu()) return;
    EXPECT_GE(use.needed, 1024 * sizeof(double));
    EXPECT_GT(use.threads, 1024U);
    EXPECT_EQ(use.bytes(), use.limit * use.threads);
}

#if CARILLON_THREAD_SANITIZER || CARILLON_ADDRESS_SANITIZER
constexpr std::size_t small_stack = std::size_t{1} << 20;
#else
constexpr std::size_t small_stack = std::size_t{1} << 16;
#endif

// Whether `body` is true on a thread with little stack.
bool on_small_stack(std::function<bool()> body) {
    struct Work {
        std::function<bool()> body;
        bool right = false;
    } work{std::move(body)};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, small_stack);
    pthread_t thread{};
    auto const run = [](void* given) -> void* {
        auto* const own = static_cast<Work*>(given);
        own->right = own->body();
        return nullptr;
    };
    bool const started = pthread_create(&thread, &attributes, run, &work) == 0;
    pthread_attr_destroy(&attributes);
    if (started) pthread_join(thread, nullptr);
    return started && work.right;
}

TEST_P(StackTest, threadWithALittleStackOpensStartsAndCalls) {
    EXPECT_TRUE(on_small_stack([&] {
        Device const own = Device::open(GetParam());
        PersistentKernel<TableHandler<1>> kernel(own, short_lived);
        PersistentKernel<TableHandler<1>, Pool> pool(own, short_lived);
        auto client = pool.client();
        return answers(kernel) && client.call({1, 2}, patience) == 0;
    }));
}

}  // namespace
}  // namespace carillon::test
