// SPDX-License-Identifier: Apache-2.0
#include "cuda/program_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr std::chrono::seconds longest_turn{10};

CUmodule module_of(CUfunction function) {
    auto const& cuda = CudaDriver::get();
    CUmodule module = nullptr;
    cuda.check(cuda.cuFuncGetModule(&module, function), "cuFuncGetModule");
    return module;
}

constexpr char const* stack_variable = "CARILLON_STACK_BYTES";

std::string gigabytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

CUresult set_stack(std::size_t bytes) {
    return CudaDriver::get().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, bytes);
}

void say_what_it_takes(CudaContext const& context, StackUse const& use) {
    say_line(
        fmt::format("carillon: {} bytes of stack are reserved for each of {} threads of {} instead "
                    "of {}, {} of its memory: the need of this program's largest kernel, unless "
                    "DeviceOptions::stack_bytes or {} is set",
                    use.needed, use.threads, uuid_text(context.uuid()), use.limit,
                    gigabytes(use.bytes()), stack_variable));
}

// Device memory with code: kept, like other memory, until no kernel lives.
class ModuleMemory final : public Allocation {
   public:
    ModuleMemory(std::shared_ptr<CudaContext> context, void const* image)
        : context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        cuda.check(cuda.cuModuleLoadData(&module_, image), "cuModuleLoadData");
    }
    ~ModuleMemory() override {
        free_in(*context_, [this] { CudaDriver::get().cuModuleUnload(module_); });
    }
    ModuleMemory& operator=(ModuleMemory&&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("device code has no file descriptor");
    }
    [[nodiscard]] CUmodule module() const { return module_; }

   private:
    std::shared_ptr<CudaContext> context_;
    CUmodule module_ = nullptr;
};

class LoadedModule final : public LoadedCode {
   public:
    LoadedModule(std::shared_ptr<Backend> backend, std::shared_ptr<CudaContext> context,
                 void const* image)
        : backend_(std::move(backend)),
          context_(std::move(context)),
          memory_(std::make_unique<ModuleMemory>(context_, image)) {
        std::size_t const stack = load_whole_module(memory_->module());
        reserve_stack(*context_, {}, stack, stack);
    }
    ~LoadedModule() override {
        if (backend_->mark().inherited()) {
            (void)memory_.release();  // the parent frees it
        } else {
            backend_->residents().retire(std::move(memory_));
        }
    }
    LoadedModule& operator=(LoadedModule&&) = delete;

    void* kernel(char const* name) const override {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        CUfunction function = nullptr;
        cuda.check(cuda.cuModuleGetFunction(&function, memory_->module(), name),
                   "cuModuleGetFunction");
        return function;
    }

   private:
    std::shared_ptr<Backend> backend_;
    std::shared_ptr<CudaContext> context_;
    std::unique_ptr<ModuleMemory> memory_;
};

// The state of a context. It is never destroyed.
ProgramCode& code_of(CudaContext const& context) {
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
    static auto& all = *new std::map<unsigned long long, ProgramCode>;
    std::lock_guard const lock(mutex);
    return all[context.id()];
}

}  // namespace

ProgramCode::Turn::Turn(CudaContext const& context) : scope_(context), code_(code_of(context)) {
    if (code_.free_.try_acquire_for(longest_turn)) return;
    throw TimeoutError("the driver has not returned from the start of another kernel within ",
                       longest_turn, ": it may wait for running kernels");
}

void ProgramCode::load() {
    std::uint64_t const last = KnownKernel::last_number();
    if (loaded_ == last) return;
    std::set<CUmodule> modules;
    for (KnownKernel::Function const each : KnownKernel::all()) {
        try {
            auto* const function = static_cast<CUfunction>(each());
            needed_ = std::max(needed_, stack_of(function));
            modules.insert(module_of(function));
        } catch (DeviceFaultError const&) {
            throw;
        } catch (CudaError const&) {  // the program has no device code for this GPU
        }
    }
    for (CUmodule each : modules) needed_ = std::max(needed_, load_whole_module(each));
    loaded_ = last;
}

std::size_t stack_of(CUfunction function) {
    auto const& cuda = CudaDriver::get();
    int bytes = 0;
    cuda.check(cuda.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
               "cuFuncGetAttribute");
    return static_cast<std::size_t>(bytes);
}

StackUse stack_of(CudaContext const& context, std::size_t needed) {
    auto const& cuda = CudaDriver::get();
    StackUse use;
    use.needed = needed;
    cuda.check(cuda.cuCtxGetLimit(&use.limit, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
    use.threads =
        static_cast<std::uint64_t>(context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) *
        static_cast<unsigned>(
            context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
    return use;
}

void reserve_stack(CudaContext const& context, std::optional<std::size_t> asked_for,
                   std::size_t used, std::size_t least) {
    std::size_t const wanted = asked_for.value_or(used);
    auto const& cuda = CudaDriver::get();
    StackUse use = stack_of(context, std::max(wanted, least));
    if (use.needed <= use.limit) return;
    // The program has not asked for so much.
    if (!asked_for || least > *asked_for) say_what_it_takes(context, use);
    CUresult result = set_stack(use.needed);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && least < use.needed) {
        use.needed = least;
        result = least <= use.limit ? CUDA_SUCCESS : set_stack(least);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        throw OutOfMemoryError(
            fmt::format("a kernel needs {} bytes of stack for each of {} threads, {}: "
                        "cuCtxSetLimit returned CUDA_ERROR_OUT_OF_MEMORY",
                        use.needed, use.threads, gigabytes(use.bytes())));
    }
    cuda.check(result, "cuCtxSetLimit");
}

void require_stack(CudaContext const& context, std::size_t needed) {
    StackUse const use = stack_of(context, needed);
    if (use.needed <= use.limit) return;
    throw UsageError(
        fmt::format("the kernel needs {} bytes of stack, but the threads of this GPU have {}, and "
                    "CUDA reserves more only while no kernel runs: reserve {} bytes before the "
                    "first kernel starts (DeviceOptions::stack_bytes, or {} in the environment; {} "
                    "of the GPU's memory), or start this kernel first",
                    use.needed, use.limit, use.needed, stack_variable, gigabytes(use.bytes())));
}

std::size_t load_whole_module(CUmodule module) {
    auto const& cuda = CudaDriver::get();
    if (cuda.cuFuncLoad == nullptr || cuda.cuModuleEnumerateFunctions == nullptr ||
        cuda.cuModuleGetFunctionCount == nullptr) {
        return 0;  // before 12.4; DeviceInfo::module_loading says whether that matters
    }
    unsigned count = 0;
    cuda.check(cuda.cuModuleGetFunctionCount(&count, module), "cuModuleGetFunctionCount");
    std::vector<CUfunction> functions(count);
    cuda.check(cuda.cuModuleEnumerateFunctions(functions.data(), count, module),
               "cuModuleEnumerateFunctions");
    std::size_t stack = 0;
    for (CUfunction each : functions) {
        cuda.check(cuda.cuFuncLoad(each), "cuFuncLoad");
        stack = std::max(stack, stack_of(each));
    }
    return stack;
}

std::shared_ptr<LoadedCode> load_module(std::shared_ptr<Backend> backend,
                                        std::shared_ptr<CudaContext> const& context,
                                        std::span<std::byte const> image) {
    backend->mark().require_own();
    if (backend->residents().any()) {
        throw UsageError(
            "a kernel runs on this GPU, and CUDA loads code only while none runs: compile handlers "
            "before you start the first kernel");
    }
    ProgramCode::Turn const turn(*context);
    return std::make_shared<LoadedModule>(std::move(backend), context, image.data());
}

}  // namespace carillon::detail
