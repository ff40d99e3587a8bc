// SPDX-License-Identifier: Apache-2.0
// The guard's knowledge of calls and kernels. The calls are made up, without CUDA.
#include "guard/guard_reporter.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "carillon/error.hpp"
#include "support/captured_stderr.hpp"
#include "support/environment_variable.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using detail::GuardAction;
using detail::GuardReporter;
using detail::LiveKernels;
using detail::WatchedCall;

int one_context = 0;
int other_context = 0;

TEST(GuardRulesTest, versionsAreTakenOffNames) {
    EXPECT_EQ(detail::without_version("cuMemFree"), "cuMemFree");
    EXPECT_EQ(detail::without_version("cuMemFree_v2"), "cuMemFree");
    EXPECT_EQ(detail::without_version("cuLaunchKernel_ptsz"), "cuLaunchKernel");
    EXPECT_EQ(detail::without_version("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
    EXPECT_EQ(detail::without_version("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
    EXPECT_EQ(detail::without_version("cudaFree_v3020"), "cudaFree");
    EXPECT_EQ(detail::without_version("cuStreamWaitValue32"), "cuStreamWaitValue32");
    EXPECT_EQ(detail::without_version("cuMemcpy2D_v2"), "cuMemcpy2D");
    EXPECT_EQ(detail::without_version("7"), "7");
    EXPECT_EQ(detail::without_version(""), "");
}

TEST(GuardRulesTest, callsThatBlockHaveARule) {
    for (char const* call : {"cuMemFree_v2",
                             "cuMemFreeHost",
                             "cuMemHostUnregister",
                             "cuArrayDestroy",
                             "cuMipmappedArrayDestroy",
                             "cuDestroyExternalMemory",
                             "cuCtxSynchronize",
                             "cuCtxSynchronize_v2",
                             "cuCtxDestroy_v2",
                             "cuDevicePrimaryCtxReset",
                             "cuDevicePrimaryCtxReset_v2",
                             "cuCtxSetLimit",
                             "cuModuleLoad",
                             "cuModuleLoadData",
                             "cuModuleLoadDataEx",
                             "cuModuleLoadFatBinary",
                             "cuModuleUnload",
                             "cuLibraryLoadData",
                             "cuLibraryLoadFromFile",
                             "cuLibraryUnload",
                             "cuLaunchKernel",
                             "cuLaunchKernel_ptsz",
                             "cuLaunchKernelEx_ptsz",
                             "cuLaunchCooperativeKernel"}) {
        EXPECT_NE(detail::guard_rule(call), nullptr) << call;
    }
}

TEST(GuardRulesTest, callsThatDoNotBlockHaveNone) {
    for (char const* call :
         {"cuMemAlloc_v2", "cuMemFreeAsync", "cuMemFreeAsync_ptsz", "cuMemcpyHtoDAsync_v2",
          "cuMemcpyHtoD_v2", "cuStreamSynchronize", "cuStreamQuery", "cuStreamDestroy_v2",
          "cuEventSynchronize", "cuFuncIsLoaded", "cuModuleGetFunction", "cuMemFre", "cu", ""}) {
        EXPECT_EQ(detail::guard_rule(call), nullptr) << call;
    }
}

TEST(LiveKernelsTest, countsKernelsByTheirContexts) {
    LiveKernels kernels;
    EXPECT_FALSE(kernels.any());
    EXPECT_FALSE(kernels.in(nullptr));
    kernels.started(&one_context);
    kernels.started(&one_context);
    EXPECT_TRUE(kernels.any());
    EXPECT_TRUE(kernels.in(&one_context));
    EXPECT_TRUE(kernels.in(nullptr)) << "a context that is not known may be any";
    EXPECT_FALSE(kernels.in(&other_context));
    kernels.ended(&one_context);
    EXPECT_TRUE(kernels.in(&one_context));
    kernels.ended(&one_context);
    EXPECT_FALSE(kernels.in(&one_context));
    EXPECT_FALSE(kernels.any());
}

TEST(LiveKernelsTest, moreKernelsThanThereIsRoomForMayBeAnywhere) {
    LiveKernels kernels;
    constexpr int many = 100;
    for (int i = 0; i < many; ++i) kernels.started(&one_context);
    EXPECT_TRUE(kernels.in(&other_context));
    for (int i = 0; i < many - 1; ++i) kernels.ended(&one_context);
    EXPECT_TRUE(kernels.any());
    kernels.ended(&one_context);
    EXPECT_FALSE(kernels.any());
    kernels.started(&other_context);
    EXPECT_FALSE(kernels.in(&one_context)) << "nothing is left of the crowd";
}

TEST(LiveKernelsTest, threadsMayStartAndEndKernelsAtOnce) {
    LiveKernels kernels;
    auto const churn = [&kernels](void* context) {
        for (int i = 0; i < 10'000; ++i) {
            kernels.started(context);
            EXPECT_TRUE(kernels.in(context));
            kernels.ended(context);
        }
    };
    std::thread other(churn, &other_context);
    churn(&one_context);
    other.join();
    EXPECT_FALSE(kernels.any());
}

class GuardReporterTest : public testing::Test {
   protected:
    static WatchedCall free_call() {
        WatchedCall call;
        call.name = "cuMemFree_v2";
        call.runtime = "cudaFree_v3020";
        call.context = &one_context;
        return call;
    }
    // The report of a call, if there is one.
    std::optional<GuardReport> report_of(WatchedCall const& call) {
        std::optional<GuardReport> got;
        GuardReporter reporter(kernels, [&got](GuardReport const& report) { got = report; });
        reporter.saw(call);
        EXPECT_EQ(reporter.reports(), got ? 1U : 0U);
        return got;
    }

    LiveKernels kernels;
};

TEST_F(GuardReporterTest, nothingIsReportedUnlessAKernelLivesInTheContext) {
    EXPECT_FALSE(report_of(free_call()));
    kernels.started(&other_context);
    EXPECT_FALSE(report_of(free_call()));
    kernels.started(&one_context);
    EXPECT_TRUE(report_of(free_call()));
    kernels.ended(&one_context);
    EXPECT_FALSE(report_of(free_call()));
}

TEST_F(GuardReporterTest, reportNamesTheCallAndWhyAndHasAStack) {
    kernels.started(&one_context);
    std::optional<GuardReport> const report = report_of(free_call());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->call, "cudaFree (cuMemFree_v2)");
    EXPECT_EQ(report->why, "it frees memory only after every kernel of the context has ended");
    EXPECT_EQ(report->kernel, "");
    EXPECT_FALSE(report->stack.empty());
}

TEST_F(GuardReporterTest, callOfTheDriverItselfIsNamedAlone) {
    kernels.started(&one_context);
    WatchedCall call = free_call();
    call.runtime = nullptr;
    EXPECT_EQ(report_of(call).value().call, "cuMemFree_v2");
}

TEST_F(GuardReporterTest, freeingNothingIsNotReported) {
    kernels.started(&one_context);
    WatchedCall call = free_call();
    call.null_argument = true;
    EXPECT_FALSE(report_of(call));
    call.name = "cuCtxSynchronize";  // has no argument, and waits all the same
    EXPECT_TRUE(report_of(call));
}

TEST_F(GuardReporterTest, onlyALaunchOfAKernelThatIsNotLoadedIsReported) {
    kernels.started(&one_context);
    WatchedCall call;
    call.name = "cuLaunchKernel_ptsz";
    call.context = &one_context;
    call.kernel = "_Z5checki";
    EXPECT_FALSE(report_of(call));
    call.loaded = false;
    std::optional<GuardReport> const report = report_of(call);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->kernel, "check(int)");
    EXPECT_NE(report->why.find("lazy loading"), std::string::npos);
}

TEST_F(GuardReporterTest, callWithoutARuleIsNotReported) {
    kernels.started(&one_context);
    WatchedCall call = free_call();
    call.name = "cuMemFreeAsync";
    EXPECT_FALSE(report_of(call));
}

TEST_F(GuardReporterTest, whatAHandlerThrowsIsDropped) {
    kernels.started(&one_context);
    GuardReporter reporter(kernels, [](GuardReport const&) { throw std::runtime_error("no"); });
    reporter.saw(free_call());
    reporter.saw(free_call());
    EXPECT_EQ(reporter.reports(), 2U);
}

TEST(GuardTextTest, isALineAndTheStackUnderIt) {
    GuardReport report{"cuLaunchKernel", "it is not loaded", "check(int)", {"main", "_start"}};
    EXPECT_EQ(detail::guard_text(report),
              "carillon: guard: cuLaunchKernel of check(int) may block until a running kernel has "
              "ended: it is not loaded\n    main\n    _start\n");
    report.kernel.clear();
    report.stack.clear();
    EXPECT_EQ(detail::guard_text(report),
              "carillon: guard: cuLaunchKernel may block until a running kernel has ended: it is "
              "not loaded\n");
}

TEST(GuardStackTest, namesThatAreNotMangledStayAsTheyAre) {
    LiveKernels kernels;
    kernels.started(&one_context);
    std::vector<std::string> names;
    GuardReporter reporter(kernels,
                           [&](GuardReport const& report) { names.push_back(report.kernel); });
    WatchedCall launch;
    launch.name = "cuLaunchKernel";
    launch.loaded = false;
    for (char const* const kernel : {"_ZN8carillon5Guard4stopEv", "main"}) {
        launch.kernel = kernel;
        reporter.saw(launch);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"carillon::Guard::stop()", "main"}));
}

TEST(GuardEnvironmentTest, valuesAreReportAndAbort) {
    EXPECT_EQ(detail::guard_action(nullptr), GuardAction::none);
    EXPECT_EQ(detail::guard_action(""), GuardAction::none);
    EXPECT_EQ(detail::guard_action("report"), GuardAction::report);
    EXPECT_EQ(detail::guard_action("abort"), GuardAction::abort);
    CARILLON_EXPECT_ERROR(detail::guard_action("Report"), UsageError,
                          "CARILLON_GUARD: \"Report\" is neither \"report\" nor \"abort\"");
    Environment const variable("CARILLON_GUARD", "1");
    CARILLON_EXPECT_ERROR(detail::start_guard_from_environment(), UsageError, "CARILLON_GUARD");
}

class NoGuardTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) {
            GTEST_SKIP() << "this machine has a CUDA driver: a guard can watch it";
        }
    }
};

TEST_F(NoGuardTest, guardIsUnsupportedEveryTime) {
    // Catches a first that is taken for one that lives, too.
    for (int i = 0; i < 3; ++i) {
        CARILLON_EXPECT_ERROR(Guard(), UnsupportedError, "Guard: ");
    }
}

TEST_F(NoGuardTest, environmentSaysWhyAndTheProgramGoesOn) {
    Environment const variable("CARILLON_GUARD", "abort");
    testing::internal::CaptureStderr();
    detail::start_guard_from_environment();
    detail::start_guard_from_environment();
    std::string const text = captured_stderr();
    EXPECT_EQ(text.find("carillon: CARILLON_GUARD cannot start a guard: Guard: "), 0U) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line, once: " << text;
}

}  // namespace
}  // namespace carillon::test
