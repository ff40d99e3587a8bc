// SPDX-License-Identifier: Apache-2.0
// Handlers as text: the compiler's errors, the results that are kept, and on a GPU the kernels that
// they make. P is the owner, in this process; C is its client, in this process too, through the
// socket.
#include "carillon/handler_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/bytes_kernel.hpp"
#include "carillon/connection.hpp"
#include "carillon/copy.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "nvrtc/handler_code.hpp"
#include "nvrtc/nvrtc.hpp"
#include "support/environment_variable.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

struct TextTick {
    double bid;
    double ask;
};
struct TextQuote {
    double mid;
    std::uint64_t count;
};
constexpr std::string_view reprice_text = R"(
struct Tick { double bid, ask; };
struct Quote { double mid; std::uint64_t count; };
struct Handler {
    std::uint64_t count = 0;
    Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2, ++count}; }
};
)";
using BytesClient = Channel<Bytes, Bytes>;
BytesType const tick_type{sizeof(TextTick), "Tick"};
BytesType const quote_type{sizeof(TextQuote), "Quote"};

// Answers with the sum of the request's bytes, by `threads` threads together.
std::string sum_text(unsigned bytes, unsigned threads) {
    return "struct Bytes { unsigned char byte[" + std::to_string(bytes) +
           "]; };\n"
           "struct Handler {\n"
           "    static constexpr unsigned threads = " +
           std::to_string(threads) +
           ";\n"
           "    unsigned operator()(Bytes const& bytes) {\n"
           "        unsigned sum = 0;\n"
           "        for (unsigned char const each : bytes.byte) sum += each;\n"
           "        return sum;\n"
           "    }\n"
           "};\n";
}

// Compiles with NVRTC, in a cache of its own.
class HandlerTextTest : public testing::Test {
   protected:
    void SetUp() override {
#if CARILLON_ADDRESS_SANITIZER
        GTEST_SKIP() << "NVRTC leaks as far as the sanitizer can tell";
#endif
        if (CARILLON_THREAD_SANITIZER != 0) GTEST_SKIP() << "NVRTC was not built for the sanitizer";
        try {
            (void)detail::Nvrtc({});
        } catch (UnsupportedError const& error) {
            GTEST_SKIP() << error.what();
        }
        options_.cache = folder_.path() / "cache";
    }
    [[nodiscard]] CompiledHandler compiled(std::string_view text, std::uint32_t request,
                                           std::uint32_t reply) const {
        return compile_handler(90, text, {request}, {reply}, options_);
    }

    TemporaryDirectory folder_;
    HandlerOptions options_;
};

TEST_F(HandlerTextTest, textIsCompiledForTheGpuThatIsNamed) {
    for (int const capability : {75, 90}) {
        auto const handler =
            compile_handler(capability, reprice_text, tick_type, quote_type, options_);
        EXPECT_EQ(handler.compute_capability(), capability);
        EXPECT_EQ(handler.threads(), 1U);
        EXPECT_EQ(handler.request().name, "Tick");
        EXPECT_EQ(handler.log(), "");
        ASSERT_GT(handler.machine_code().size(), 4U);
        EXPECT_EQ(std::memcmp(handler.machine_code().data(), "\177ELF", 4), 0);
    }
}

TEST_F(HandlerTextTest, longMessagesAreServedByAWarpAndThreadsByAsMany) {
    EXPECT_EQ(compiled(sum_text(200, 1), 200, 4).threads(), 32U);
    EXPECT_EQ(compiled(sum_text(4, 128), 4, 4).threads(), 128U);
}

// Catches a standard library of the text's that takes a reference for a value.
TEST_F(HandlerTextTest, textHasAnIdleAndAStateOfItsBlock) {
    constexpr std::string_view source = R"(
struct Handler {
    static constexpr unsigned threads = 64;
    struct Shared { unsigned total = 1; };
    unsigned operator()(unsigned const& value, Shared& shared) {
        if (carillon::block::thread_rank() == 0) shared.total += value;
        carillon::block::sync();
        return shared.total;
    }
    void idle(Shared& shared) {
        if (carillon::block::thread_rank() == 0) ++shared.total;
    }
};
)";
    EXPECT_EQ(compiled(source, 4, 4).threads(), 64U);
}

TEST_F(HandlerTextTest, commandsArePackets) {
    constexpr std::string_view source = R"(
#include <carillon/commands.hpp>
struct Add { int by; };
struct Reset {};
struct Total { int value; };
struct Handler {
    using Commands = carillon::Commands<Add, Reset>;
    int total = 0;
    carillon::Outcome<Total> operator()(Add const& add) {
        if (add.by < 0) return carillon::Refusal{7};
        return Total{total += add.by};
    }
    void operator()(Reset const&) { total = 0; }
};
)";
    EXPECT_EQ(compiled(source, 8, 8).threads(), 1U);
}

TEST_F(HandlerTextTest, whatDoesNotCompileIsToldWithTheLinesOfTheText) {
    constexpr std::string_view source =
        "struct Handler {\n"
        "    int operator()(int const& value) { return valeu; }\n"
        "};\n";
    try {
        (void)compiled(source, 4, 4);
        ADD_FAILURE() << "it compiles";
    } catch (CompileError const& error) {
        EXPECT_NE(error.log().find("handler(2): error"), std::string::npos) << error.log();
        EXPECT_NE(error.log().find("valeu"), std::string::npos) << error.log();
        EXPECT_NE(std::string(error.what()).find(error.log()), std::string::npos);
        EXPECT_EQ(error.call(), "compile_handler");
    }
    options_.before = "struct Two\n{ int a; int b; };\n";
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "handler(2): error");
    options_.before = "struct Two {";
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "handler(2): error");
}

TEST_F(HandlerTextTest, textWithoutAHandlerIsACompileError) {
    CARILLON_EXPECT_ERROR(compiled("", 4, 4), CompileError, "Handler");
    CARILLON_EXPECT_ERROR(compiled("struct Handler { int a; };", 4, 4), CompileError, "operator()");
}

TEST_F(HandlerTextTest, otherSizesThanDeclaredAreToldWithBoth) {
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 24, 16), CompileError,
                          "the size of the handler's request differs");
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 24, 16), CompileError,
                          "bytes=16UL, declared=24UL");
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 16, 12), CompileError,
                          "the size of the handler's reply differs");
}

TEST_F(HandlerTextTest, whatWasCompiledIsFoundAgainWithItsWarnings) {
    constexpr std::string_view source =
        "struct Handler {\n"
        "    int operator()(int const& value) { int unused; return value; }\n"
        "};\n";
    auto const first = compiled(source, 4, 4);
    EXPECT_FALSE(first.was_cached());
    EXPECT_NE(first.log().find("handler(2): warning"), std::string::npos) << first.log();
    auto const second = compiled(source, 4, 4);
    EXPECT_TRUE(second.was_cached());
    EXPECT_EQ(second.log(), first.log());
    EXPECT_TRUE(std::ranges::equal(first.machine_code(), second.machine_code()));
    EXPECT_FALSE(std::filesystem::is_empty(options_.cache));
}

// The library does not know what such a folder holds: it keeps nothing of the result.
TEST_F(HandlerTextTest, textMayIncludeWhatIsInItsFolders) {
    std::ofstream(folder_.path() / "nine.hpp") << "constexpr int nine = 9;\n";
    constexpr std::string_view source =
        "#include \"nine.hpp\"\n"
        "struct Handler { int operator()(int value) { return value + nine; } };\n";
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "handler(1): ");
    options_.include_folders = {folder_.path()};
    EXPECT_EQ(compiled(source, 4, 4).log(), "");
    EXPECT_FALSE(std::filesystem::exists(options_.cache));
    std::ofstream(folder_.path() / "nine.hpp") << "#error \"it is another\"\n";
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "it is another");
}

TEST_F(HandlerTextTest, textMayIncludeStructsThatSayTheirMembers) {
    char const* const text = R"(
#include "carillon/members.hpp"
struct Tick { double bid, ask; CARILLON_MEMBERS(bid, ask) };
struct Handler { double operator()(Tick const& tick) { return tick.bid; } };)";
    EXPECT_EQ(compiled(text, 16, 8).log(), "");
}

// Another compiler may have made such code, of another language: it becomes a part of the kernel.
TEST_F(HandlerTextTest, functionsInLtoIrAreLinked) {
    std::string const add_five =
        detail::Nvrtc({})
            .compile(
                {"five", "extern \"C\" __device__ int add(int value) { return value + 5; }", {}},
                {"-arch=sm_90", "-dlto"})
            .cubin;
    constexpr std::string_view source =
        "extern \"C\" __device__ int add(int value);\n"
        "struct Handler { int operator()(int value) { return add(value); } };\n";
    options_.lto_ir = {add_five};
    try {
        EXPECT_FALSE(compiled(source, 4, 4).was_cached());
    } catch (UnsupportedError const& error) {
        GTEST_SKIP() << error.what();  // no nvJitLink
    }
    EXPECT_TRUE(compiled(source, 4, 4).was_cached());
    options_.lto_ir = {"no LTO-IR"};
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "nvJitLink");
    options_.lto_ir = {add_five, add_five};
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), CompileError, "add");
    options_.nvjitlink = "/nowhere/libnvJitLink.so";
    CARILLON_EXPECT_ERROR(compiled(source, 4, 4), UnsupportedError, "nvidia-nvjitlink");
}

TEST_F(HandlerTextTest, foldersWithoutHeadersAreRefused) {
    options_.headers = folder_.path();
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 16, 16), UnsupportedError, "has no carillon/");
    options_.headers.clear();
    Environment const variable("CARILLON_HEADERS", folder_.path().c_str());
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 16, 16), UnsupportedError,
                          folder_.path().string());
}

TEST_F(HandlerTextTest, gpusThatNvrtcDoesNotKnowAreRefused) {
    CARILLON_EXPECT_ERROR(compile_handler(20, reprice_text, tick_type, quote_type, options_),
                          UnsupportedError, "does not support compute capability 2.0");
}

TEST_F(HandlerTextTest, sizesThatNoMessageHasAreRefused) {
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 0, 16), UsageError, "a request of 0 bytes");
    CARILLON_EXPECT_ERROR(compiled(reprice_text, 16, 1025), UsageError, "a reply of 1025 bytes");
}

TEST_F(HandlerTextTest, typeNamesThatCannotBePrintedAreRefused) {
    CARILLON_EXPECT_ERROR(compile_handler(90, reprice_text, {16, "a\nb"}, quote_type, options_),
                          UsageError,
                          "compile_handler: the name of the request has a control character");
}

TEST_F(HandlerTextTest, emulatedDeviceTakesNoText) {
    Device const device = Device::open("emulated");
    CARILLON_EXPECT_ERROR(compile_handler(device, reprice_text, tick_type, quote_type, options_),
                          UnsupportedError, "the device is emulated");
    auto const handler = compiled(reprice_text, 16, 16);
    CARILLON_EXPECT_ERROR(BytesKernel(device, handler), UnsupportedError, "machine code");
}

TEST(NoHandlerTextTest, whereThereIsNoNvrtcTheErrorSaysWhatToInstall) {
    HandlerOptions options;
    options.nvrtc = "/nowhere/libnvrtc.so";
    CARILLON_EXPECT_ERROR(compile_handler(90, reprice_text, tick_type, quote_type, options),
                          UnsupportedError, "nvidia-cuda-nvrtc");
    Environment const variable("CARILLON_NVRTC", "/nowhere/else.so");
    options.nvrtc.clear();
    CARILLON_EXPECT_ERROR(compile_handler(90, reprice_text, tick_type, quote_type, options),
                          UnsupportedError, "/nowhere/else.so");
}

// Files of a cache, without a compiler.
class HandlerCacheTest : public testing::Test {
   protected:
    [[nodiscard]] bool found() const { return cache_.find_file(key_).has_value(); }
    // Overwrites the only file that there is.
    void rewrite(std::string const& bytes) const {
        std::ofstream(cache_.file_of(key_), std::ios::binary) << bytes;
    }
    [[nodiscard]] std::string file() const {
        std::ifstream file(cache_.file_of(key_), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TemporaryDirectory folder_;
    detail::HandlerCache cache_{folder_.path() / "cache" / "carillon"};
    std::string key_ = "the key of " + folder_.path().string();
};

TEST_F(HandlerCacheTest, fileHasWhatWasKept) {
    EXPECT_FALSE(found());
    cache_.keep(key_, {std::string("machine\0code", 12), "a warning"});
    auto const found = cache_.find_file(key_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cubin, std::string("machine\0code", 12));
    EXPECT_EQ(found->log, "a warning");
    EXPECT_FALSE(cache_.find_file(key_ + "s"));
    // Only the user may read the files, and nothing else lies there.
    namespace fs = std::filesystem;
    EXPECT_EQ(fs::status(cache_.file_of(key_).parent_path()).permissions(), fs::perms::owner_all);
    auto const parent = fs::directory_iterator(cache_.file_of(key_).parent_path());
    EXPECT_EQ(std::distance(begin(parent), end(parent)), 1);
}

TEST_F(HandlerCacheTest, fileThatIsNotWholeIsAsNone) {
    cache_.keep(key_, {"machine code", "a warning"});
    std::string const whole = file();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        rewrite(whole.substr(0, size));
        EXPECT_FALSE(found()) << size << " bytes";
        std::string turned = whole;
        turned[size] = static_cast<char>(turned[size] ^ 1);
        rewrite(turned);
        EXPECT_FALSE(found()) << "byte " << size;
    }
    rewrite(whole + "x");
    EXPECT_FALSE(found());
    rewrite(whole);
    EXPECT_TRUE(found());
}

TEST_F(HandlerCacheTest, folderThatCannotBeWrittenIsNoError) {
    detail::HandlerCache const cache("/proc/nowhere");
    cache.keep(key_, {"machine code", ""});
    EXPECT_FALSE(cache.find_file(key_));
    EXPECT_TRUE(cache.find(key_));  // in this process
}

TEST_F(HandlerCacheTest, itIsWhereTheUsersCachesAre) {
    Environment const chosen("XDG_CACHE_HOME", "/caches");
    EXPECT_EQ(detail::HandlerCache::own_folder(), "/caches/carillon");
    Environment const relative("XDG_CACHE_HOME", "caches");
    Environment const home("HOME", "/home/someone");
    EXPECT_EQ(detail::HandlerCache::own_folder(), "/home/someone/.cache/carillon");
    Environment const none("HOME", nullptr);
    EXPECT_EQ(detail::HandlerCache::own_folder(), "");
}

// On a GPU, with code that was compiled for it.
class TextKernelTest : public testing::TestWithParam<char const*> {
   protected:
    void SetUp() override {
        try {
            device_ = Device::open(GetParam());
            (void)detail::Nvrtc({});
        } catch (DeviceNotFoundError const& error) {
            GTEST_SKIP() << error.what();
        } catch (UnsupportedError const& error) {
            GTEST_SKIP() << error.what();
        }
        options_.cache = folder_.path() / "cache";
    }
    [[nodiscard]] Device const& device() const { return *device_; }
    [[nodiscard]] CompiledHandler compiled(std::string_view text, BytesType const& request,
                                           BytesType const& reply) const {
        return compile_handler(device(), text, request, reply, options_);
    }
    [[nodiscard]] CompiledHandler reprice() const {
        return compiled(reprice_text, tick_type, quote_type);
    }

    template <class Reply, class Request>
    [[nodiscard]] static Reply call(BytesClient& client, Request const& request) {
        Reply reply;
        client.call(std::as_bytes(std::span(&request, 1)),
                    std::as_writable_bytes(std::span(&reply, 1)), patience);
        return reply;
    }
    static void expect_quotes(BytesClient& client, std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            auto const quote = call<TextQuote>(
                client, TextTick{static_cast<double>(i), static_cast<double>(i) + 2});
            ASSERT_EQ(quote.mid, static_cast<double>(i) + 1);
            ASSERT_EQ(quote.count, first + i);
        }
    }

   private:
    std::optional<Device> device_;

   protected:
    TemporaryDirectory folder_;
    HandlerOptions options_;
};
INSTANTIATE_TEST_SUITE_P(On, TextKernelTest, testing::Values("cuda:0"),
                         [](auto const&) { return "cuda0"; });

TEST_P(TextKernelTest, tenThousandCallsAreAnswered) {
    BytesKernel kernel(device(), reprice());
    expect_quotes(kernel.client(), 1, 10'000);
    EXPECT_TRUE(kernel.running());
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
    EXPECT_EQ(kernel.state(), KernelState::stopped);
    CARILLON_EXPECT_ERROR(call<TextQuote>(kernel.client(), TextTick{}), StoppedError, "");
}

TEST_P(TextKernelTest, everyBlockHasAHandlerOfItsOwn) {
    constexpr unsigned blocks = 8;  // so that replies leave as one write each
    BytesKernel kernel(device(), reprice(), {.blocks = blocks});
    for (unsigned block = 0; block < blocks; ++block) {
        expect_quotes(kernel.client(block), 1, 100);
    }
}

TEST_P(TextKernelTest, rowsAreAnsweredInTheirOrder) {
    BytesKernel kernel(device(), reprice());
    BytesClient& client = kernel.client();
    std::vector<TextTick> ticks(200);
    for (std::size_t i = 0; i < ticks.size(); ++i) ticks[i].bid = static_cast<double>(2 * i);
    Tickets tickets;
    client.submit_n(std::as_bytes(std::span(ticks)), tickets, patience);
    std::vector<TextQuote> quotes(ticks.size());
    std::size_t taken = 0;
    EXPECT_TRUE(eventually([&] {
        taken +=
            client.try_take_n(tickets, std::as_writable_bytes(std::span(quotes).subspan(taken)));
        return taken == ticks.size();
    }));
    for (std::size_t i = 0; i < quotes.size(); ++i) {
        EXPECT_EQ(quotes[i].mid, static_cast<double>(i));
        EXPECT_EQ(quotes[i].count, i + 1);
    }
}

TEST_P(TextKernelTest, drainAnswersWhatWasAccepted) {
    BytesKernel kernel(device(), reprice());
    BytesClient& client = kernel.client();
    TextTick const tick{1, 3};
    std::vector<Ticket> tickets;
    for (int i = 0; i < 100; ++i) {
        tickets.push_back(client.submit(std::as_bytes(std::span(&tick, 1)), patience));
    }
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
    TextQuote quote{};
    for (Ticket const& ticket : tickets) {
        client.wait(ticket, std::as_writable_bytes(std::span(&quote, 1)), patience);
    }
    EXPECT_EQ(quote.count, 100U);
}

TEST_P(TextKernelTest, longMessagesAndManyThreads) {
    struct Case {
        std::uint32_t bytes;
        unsigned threads;
    };
    for (Case const& each :
         {Case{1, 1}, Case{48, 1}, Case{200, 1}, Case{1024, 1}, Case{16, 32}, Case{200, 128}}) {
        auto const handler =
            compiled(sum_text(each.bytes, each.threads), {each.bytes}, {sizeof(std::uint32_t)});
        BytesKernel kernel(device(), handler);
        std::vector<std::byte> const request(each.bytes, std::byte{3});
        std::uint32_t sum = 0;
        for (int i = 0; i < 300; ++i) {
            sum = 0;
            kernel.client().call(request, std::as_writable_bytes(std::span(&sum, 1)), patience);
            ASSERT_EQ(sum, 3 * each.bytes)
                << each.bytes << " bytes, " << each.threads << " threads";
        }
    }
}

// 1. P serves a kernel with a handler that is text. 2. C asks it. 3. C goes, and another comes: the
// handler's state stays with the block. 4. P drains.
TEST_P(TextKernelTest, clientsOfOtherProcessesAreServed) {
    BytesKernel kernel(device(), reprice(), {.blocks = 2}, BytesClients::of_others);
    Server const server = kernel.serve(folder_.path() / "socket");
    std::uint64_t answered = 0;
    for (int lap = 0; lap < 2; ++lap) {
        auto const connection = connect(server.path());
        auto client = connection.channel<Bytes, Bytes>("kernel", tick_type, quote_type);
        for (int i = 0; i < 5'000; ++i) {
            ASSERT_EQ(call<TextQuote>(client, TextTick{1.0 * i, 1.0 * i + 2}).mid, 1.0 * i + 1);
            ++answered;
        }
    }
    EXPECT_EQ(answered, 10'000U);
    kernel.drain(patience);
}

TEST_P(TextKernelTest, kernelsOfOneHandlerLiveBesideEachOther) {
    auto const handler = reprice();
    BytesKernel first(device(), handler);
    BytesKernel second(device(), handler);
    expect_quotes(first.client(), 1, 100);
    expect_quotes(second.client(), 1, 100);
}

// Catches a module that is unloaded while a kernel uses it, and an unloading that waits for a
// kernel.
TEST_P(TextKernelTest, handlerMayGoBeforeItsKernel) {
    std::optional<BytesKernel> kernel;
    {
        auto const handler = reprice();
        kernel.emplace(device(), handler);
    }
    expect_quotes(kernel->client(), 1, 1'000);
    kernel.reset();
    BytesKernel next(device(), reprice());
    expect_quotes(next.client(), 1, 100);
}

TEST_P(TextKernelTest, nothingIsLoadedBesideAKernel) {
    BytesKernel kernel(device(), reprice());
    CARILLON_EXPECT_ERROR(compiled(sum_text(4, 1), {4}, {4}), UsageError,
                          "compile handlers before you start the first kernel");
    expect_quotes(kernel.client(), 1, 100);
}

TEST_P(TextKernelTest, handlerOfAnotherGpuIsRefused) {
    int const other = device().info().compute_capability == 75 ? 80 : 75;
    auto const handler = compile_handler(other, reprice_text, tick_type, quote_type, options_);
    CARILLON_EXPECT_ERROR(BytesKernel(device(), handler), UsageError, "was compiled for");
}

TEST_P(TextKernelTest, handlerReadsMemoryThatTheRequestNames) {
    constexpr std::string_view source = R"(
struct Where { double const* prices; std::uint64_t count; };
struct Handler {
    double operator()(Where const& where) {
        double sum = 0;
        for (std::uint64_t i = 0; i < where.count; ++i) sum += where.prices[i];
        return sum;
    }
};
)";
    struct Where {
        void const* prices;
        std::uint64_t count;
    };
    auto const handler = compiled(source, {sizeof(Where)}, {sizeof(double)});
    std::vector<double> prices(512);
    std::iota(prices.begin(), prices.end(), 1.0);
    Memory const memory = device().allocate(prices.size() * sizeof(double));
    BytesKernel kernel(device(), handler);
    copy_to_device(memory, 0, std::as_bytes(std::span(prices)));
    Where const where{memory.device_ptr(), prices.size()};
    double sum = 0;
    kernel.client().call(std::as_bytes(std::span(&where, 1)),
                         std::as_writable_bytes(std::span(&sum, 1)), patience, OutOfLine::written);
    EXPECT_EQ(sum, 512.0 * 513 / 2);
}

// A fault breaks the context of the process, so another one has it.
TEST_P(TextKernelTest, trapIsADeviceFault) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto const fault = [this] {
        auto const handler = compiled(
            "struct Handler { int operator()(int value) { if (value == 7) __trap(); return value; "
            "} "
            "};",
            {4}, {4});
        BytesKernel kernel(device(), handler);
        if (call<int>(kernel.client(), 6) != 6) std::_Exit(2);
        try {
            (void)call<int>(kernel.client(), 7);
        } catch (DeviceFaultError const&) {
            std::_Exit(kernel.state() == KernelState::failed ? 0 : 3);
        } catch (Error const& error) {
            std::fputs(error.what(), stderr);
        }
        std::_Exit(1);
    };
    EXPECT_EXIT(fault(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace carillon::test
