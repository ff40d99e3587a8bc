// SPDX-License-Identifier: Apache-2.0
// Sees the CUDA calls of this process through CUPTI, which is found at run time like the driver.
#include <cupti.h>  // and generated_cuda_meta.h: the parameters of every call

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>

#include "carillon/error.hpp"
#include "cuda/cuda_driver.hpp"
#include "guard/guard_reporter.hpp"

namespace carillon::detail {
namespace {

#ifndef CARILLON_CUPTI_FOLDER
#define CARILLON_CUPTI_FOLDER ""
#endif

#define CARILLON_CUPTI_FUNCTIONS(X) \
    X(cuptiSubscribe)               \
    X(cuptiUnsubscribe)             \
    X(cuptiEnableCallback)          \
    X(cuptiEnableDomain)            \
    X(cuptiGetCallbackName)         \
    X(cuptiGetResultString)

// dlopen seldom looks in CUPTI's folders.
void* open_cupti() {
    for (char const* const folder : {"", CARILLON_CUPTI_FOLDER, "/usr/local/cuda/lib64/",
                                     "/usr/local/cuda/extras/CUPTI/lib64/"}) {
        for (char const* const name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
            std::string const path = std::string(folder) + name;
            if (void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        }
    }
    throw UnsupportedError(
        "dlopen(libcupti.so)",
        "CUPTI, a part of the CUDA toolkit, is not installed, or LD_LIBRARY_PATH lacks its folder");
}

struct Cupti {
#define CARILLON_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
    CARILLON_CUPTI_FUNCTIONS(CARILLON_CUPTI_MEMBER)
#undef CARILLON_CUPTI_MEMBER
    bool lazy = false;  // modules are loaded on first use

    Cupti() {
        try {
            lazy = CudaDriver::get().loads_lazily();
        } catch (DeviceNotFoundError const& error) {
            throw UnsupportedError(error.what());
        }
        void* const library = open_cupti();
#define CARILLON_CUPTI_LOAD(name) \
    find_function(library, #name, name, "this CUPTI lacks this function");
        CARILLON_CUPTI_FUNCTIONS(CARILLON_CUPTI_LOAD)
#undef CARILLON_CUPTI_LOAD
    }

    static Cupti const& get() {
        static Cupti const cupti;
        return cupti;
    }
    void check(CUptiResult result, std::string_view call) const {
        if (result == CUPTI_SUCCESS) return;
        if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
            throw UnsupportedError(call, "a profiler or another tool uses CUPTI in this process");
        }
        char const* name = nullptr;
        if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) {
            name = "unknown CUPTI error";
        }
        throw CudaError(call, static_cast<int>(result), name);
    }
};

// Data of callbacks is never destroyed: some may be in progress when a watch ends.
std::atomic<void (*)(WatchedCall const&)> cupti_seen{nullptr};
std::atomic<unsigned> cupti_watches{0};  // so far

// The runtime call that this thread is in.
struct RuntimeCall {
    char const* name = nullptr;
    unsigned watch = 0;  // the watch that has seen it; its end may have been missed
};
thread_local RuntimeCall runtime_call;

constexpr std::string_view call_without_arguments = "cuCtxSynchronize";  // _v2 has a context

// Every launch has the function first, except one.
CUfunction function_of(GuardRule const& rule, void const* parameters) {
    if (parameters == nullptr) return nullptr;
    if (rule.call == "cuLaunchKernelEx") {
        return static_cast<cuLaunchKernelEx_params const*>(parameters)->f;
    }
    static_assert(offsetof(cuLaunchKernel_params, f) == 0);
    static_assert(offsetof(cuLaunchCooperativeKernel_params, f) == 0);
    static_assert(offsetof(cuFuncLoad_params, function) == 0);
    return *static_cast<CUfunction const*>(parameters);
}

// The handles that launched functions had.
struct LaunchedKernels {
    std::mutex mutex;
    std::set<CUfunction> all;

    static LaunchedKernels& get() {
        static auto& kernels = *new LaunchedKernels;  // NOLINT: for callbacks, as above
        return kernels;
    }
};

// The driver knows the answer for a CUfunction. The runtime launches a CUkernel by the same call,
// about which the driver knows nothing: it counts as loaded if this watch saw its launch.
bool is_loaded(CUfunction function) {
    if (!Cupti::get().lazy || function == nullptr) return true;
    auto* const ask = CudaDriver::get().cuFuncIsLoaded;  // nullptr before 12.4
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_LOADED;
    if (ask != nullptr && ask(&state, function) == CUDA_SUCCESS) {
        return state != CU_FUNCTION_LOADING_STATE_UNLOADED;
    }
    auto& [mutex, launched] = LaunchedKernels::get();
    std::lock_guard const lock(mutex);
    return launched.contains(function);
}

WatchedCall watched(GuardRule const& rule, CUpti_CallbackData const& data) {
    WatchedCall call;
    call.name = data.functionName;
    if (runtime_call.watch == cupti_watches.load()) call.runtime = runtime_call.name;
    if (rule.when == GuardWhen::unloaded) {
        call.kernel = data.symbolName;
        call.loaded = is_loaded(function_of(rule, data.functionParams));
    }
    // If a rule asks for the first argument, it is as large as a pointer. One call has none.
    void* first = nullptr;
    bool const asked = rule.when == GuardWhen::given || rule.names_context;
    if (asked && data.functionParams != nullptr && data.functionName != call_without_arguments) {
        first = *static_cast<void* const*>(data.functionParams);
    }
    call.null_argument = first == nullptr;
    if (!rule.of_device)
        call.context = rule.names_context && first != nullptr ? first : data.context;
    return call;
}

void CUPTIAPI on_cuda_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId /*id*/,
                           void const* what) {
    auto const& data = *static_cast<CUpti_CallbackData const*>(what);
    bool const enters = data.callbackSite == CUPTI_API_ENTER;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        runtime_call = {enters ? data.functionName : nullptr, cupti_watches.load()};
        return;
    }
    if (!enters) return;
    auto* const seen = cupti_seen.load();
    GuardRule const* const rule = guard_rule(data.functionName);
    if (seen == nullptr || rule == nullptr) return;
    if (live_kernels().any()) seen(watched(*rule, data));
    if (rule->when == GuardWhen::unloaded && Cupti::get().lazy) {
        auto& [mutex, launched] = LaunchedKernels::get();
        std::lock_guard const lock(mutex);
        launched.insert(function_of(*rule, data.functionParams));
    }
}

class CuptiWatch {
   public:
    explicit CuptiWatch(void (*seen)(WatchedCall const&)) : cupti_(Cupti::get()) {
        ++cupti_watches;
        cupti_seen = seen;
        cupti_.check(cupti_.cuptiSubscribe(&subscriber_, &on_cuda_call, nullptr), "cuptiSubscribe");
        try {
            enable();
        } catch (...) {
            cupti_.cuptiUnsubscribe(subscriber_);
            throw;
        }
    }
    ~CuptiWatch() {
        cupti_seen = nullptr;
        cupti_.cuptiUnsubscribe(subscriber_);
    }

   private:
    // Enables only driver calls with a rule, so that others cost nothing more; and all runtime
    // calls.
    void enable() const {
        constexpr std::uint32_t end =
            CUPTI_DRIVER_TRACE_CBID_SIZE + 1000;  // a newer CUPTI knows more
        for (std::uint32_t id = 1; id < end; ++id) {
            char const* name = nullptr;
            if (cupti_.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) !=
                    CUPTI_SUCCESS ||
                name == nullptr || guard_rule(name) == nullptr) {
                continue;
            }
            cupti_.check(cupti_.cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id),
                         fmt::format("cuptiEnableCallback ({})", name));
        }
        cupti_.check(cupti_.cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API),
                     "cuptiEnableDomain");
    }

    Cupti const& cupti_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace

std::shared_ptr<void> watch_cuda_calls(void (*seen)(WatchedCall const&)) {
    return std::make_shared<CuptiWatch>(seen);
}

}  // namespace carillon::detail
