// SPDX-License-Identifier: Apache-2.0
#include "cuda/loaded_module.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "carillon/error.hpp"
#include "cuda/program_code.hpp"
#include "cuda/thread_stack.hpp"

namespace carillon::detail {
namespace {

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
    ModuleMemory(ModuleMemory const&) = delete;
    ModuleMemory& operator=(ModuleMemory const&) = delete;

    FileDescriptor export_fd() const override { throw UnsupportedError("this is device code"); }
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
        reserve_stack(*context_, stack, stack);
    }
    ~LoadedModule() override {
        if (backend_->mark().inherited()) {
            (void)memory_.release();  // the parent frees it
        } else {
            backend_->residents().retire(std::move(memory_));
        }
    }
    LoadedModule(LoadedModule const&) = delete;
    LoadedModule& operator=(LoadedModule const&) = delete;

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

}  // namespace

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
            "a kernel lives on this GPU, and CUDA loads code only while none does: "
            "compile handlers before the first kernel is started");
    }
    ContextScope const scope(*context);
    ProgramCode::Turn const turn(ProgramCode::of(*context));
    return std::make_shared<LoadedModule>(std::move(backend), context, image.data());
}

}  // namespace carillon::detail
