// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_backend.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cctype>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "carillon/detail/host/thread.hpp"
#include "carillon/error.hpp"
#include "cuda/context.hpp"
#include "cuda/cuda_driver.hpp"
#include "cuda/mapper.hpp"
#include "cuda/pending_start.hpp"
#include "cuda/program_code.hpp"
#include "guard/guard_reporter.hpp"
#include "os/exit_hook.hpp"

namespace carillon::detail {
namespace {

// A kernel on a stream of its own.
class StreamExecution final : public Execution {
   public:
    StreamExecution(std::shared_ptr<Backend> backend, std::shared_ptr<CudaContext> context)
        : backend_(std::move(backend)), context_(std::move(context)) {
        auto const& cuda = CudaDriver::get();
        cuda.check(cuda.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }

    ~StreamExecution() override {
        if (ended_) {
            free_in(*context_, [this] { CudaDriver::get().cuStreamDestroy(stream_); });
        } else {
            // Destroying the stream or closing the device now would wait for the kernel.
            keep_forever(backend_);
            keep_forever(context_);
            keep_forever(code_);
        }
    }
    StreamExecution& operator=(StreamExecution&&) = delete;

    // Nothing that may fail comes after it. `fit` is the number of blocks with room. It may take
    // until other kernels have ended. Returns false without a start if the waiter has given up; if
    // the waiter gives up later, memory that the kernel may use is not freed.
    [[nodiscard]] bool launch(CUfunction function, Program const& program, unsigned blocks,
                              unsigned fit, PendingStart const& pending) {
        blocks_ = program.lasting != 0 ? program.lasting : blocks;
        code_ = program.code;
        backend_->residents().kernel_started(blocks_, fit);
        if (pending.given_up()) {
            backend_->residents().kernel_ended(blocks_);
            return false;
        }
        auto const& cuda = CudaDriver::get();
        std::array<void*, 1> parameters{program.argument.get()};
        CUresult const result = cuda.cuLaunchKernel(function, blocks, 1, 1, program.threads, 1, 1,
                                                    0, stream_, parameters.data(), nullptr);
        if (result != CUDA_SUCCESS) {
            backend_->residents().kernel_ended(blocks_);
            cuda.check(result, "cuLaunchKernel");
        }
        ended_ = false;
        live_kernels().started(context_->get());
        return true;
    }

    bool finished() override {
        if (!ended_ && !ask()) return false;
        CudaDriver::get().check(result_, "cuStreamQuery (the kernel died)");
        return true;
    }
    bool gone() noexcept override {
        try {
            return finished();
        } catch (...) {  // a fault ends all of it
            return ended_;
        }
    }

   private:
    // Whether it has ended, as far as is known. Another thread may be asking just now, and may wait
    // within the driver: this one does not wait for it.
    bool ask() {
        std::unique_lock const lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock() || ended_) return ended_;
        auto const& cuda = CudaDriver::get();
        RelaxedCapture const relaxed;
        // The driver crashes if the stream's context was destroyed.
        result_ =
            context_->destroyed() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : cuda.cuStreamQuery(stream_);
        if (result_ == CUDA_ERROR_NOT_READY ||
            result_ == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {  // then it was not asked
            return false;
        }
        // If the end is unknown, memory that it may still use is not freed.
        if (!CudaDriver::says_ended(result_)) cuda.check(result_, "cuStreamQuery");
        live_kernels().ended(context_->get());
        backend_->residents().kernel_ended(blocks_);
        ended_ = true;
        return true;
    }

    std::shared_ptr<Backend> backend_;
    std::shared_ptr<CudaContext> context_;
    std::shared_ptr<void> code_;  // the code that it runs
    CUstream stream_ = nullptr;
    unsigned blocks_ = 0;
    std::mutex mutex_;
    std::atomic<bool> ended_ = true;  // until it is launched
    CUresult result_ = CUDA_SUCCESS;
};

std::string kernel_module_version() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string word;
    while (file >> word) {
        if (!word.empty() && word.front() >= '0' && word.front() <= '9' &&
            word.find('.') != std::string::npos) {
            return word;
        }
    }
    return {};
}

// Bytes of the PCI resource that maps the GPU's memory (BAR1), from sysfs.
std::optional<std::uint64_t> bar_size(std::string const& bus_id) {
    std::string lower = bus_id;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::ifstream file("/sys/bus/pci/devices/" + lower + "/resource");
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');  // BAR0
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (!(file >> std::hex >> first >> last) || last <= first) return {};
    return last - first + 1;
}

// The residents of a GPU, for all who have it open: one kernel fills it, and holds up every free.
std::shared_ptr<Residents> residents_of(Uuid const& uuid) {
    static std::mutex mutex;
    // Never destroyed: static devices may be opened later.
    static auto& all = *new std::map<Uuid, std::weak_ptr<Residents>>;
    std::lock_guard const lock(mutex);
    std::shared_ptr<Residents> residents = all[uuid].lock();
    if (residents == nullptr) all[uuid] = residents = std::make_shared<Residents>();
    return residents;
}

class CudaBackend final : public Backend {
   public:
    CudaBackend(std::shared_ptr<CudaContext> context, std::string selector,
                DeviceOptions const& options)
        : Backend(residents_of(context->uuid()), DeviceTraits{}),
          context_(std::move(context)),
          stack_bytes_(options.stack_bytes) {
        static std::once_flag once;
        std::call_once(once, run_exit_hooks_before_drivers);
        start_guard_from_environment();
        info_.selector = std::move(selector);
        describe();
        memory_ = choose_mapper(context_, options, residents(), info_);
        traits_.write_combining = info_.memory_source != MemorySource::host;
        set_own_stores();
        prepare_program();
    }

    std::unique_ptr<Allocation> allocate(std::size_t size) override {
        return memory_->allocate(context_, size);
    }
    std::unique_ptr<Allocation> allocate_host(std::size_t size) override {
        return make_host_mapper()->allocate(context_, size);
    }
    std::unique_ptr<Allocation> allocate_shared_host(std::size_t size) override {
        return allocate_shared_page_locked(context_, residents(), size);
    }
    std::unique_ptr<Allocation> register_host(std::span<std::byte> bytes,
                                              std::shared_ptr<void const> owner) override {
        return register_page_locked(context_, residents(), bytes, std::move(owner));
    }
    std::unique_ptr<Allocation> import(FileDescriptor fd, std::size_t size) override {
        return memory_->import(context_, std::move(fd), size);
    }
    std::unique_ptr<Allocation> map(void* device_address, std::size_t size) override {
        return map_range({context_, reinterpret_cast<CUdeviceptr>(device_address), size});
    }
    std::shared_ptr<LoadedCode> load(std::span<std::byte const> image) override {
        return load_module(shared_from_this(), context_, image);
    }
    std::unique_ptr<Execution> start(Program const& program, unsigned blocks) override;
    StackUse stack() override;

   private:
    void describe();
    // Whether kernels of the library live in the context.
    [[nodiscard]] bool beside_others() {
        residents().look_after_orphans();
        return live_kernels().in(context_->get());
    }
    // Loads the program's code, and reserves its stack, before any kernel may run.
    void prepare_program();
    // Does so with `code`'s turn, in the context, in which no kernel of the library lives.
    void prepare_program(ProgramCode& code, std::size_t least);
    // With `code`'s turn, in the context: loads all that the kernel's launch would wait for.
    [[nodiscard]] CUfunction prepare(Program const& program, ProgramCode& code);
    // Runs on a thread of the library.
    [[nodiscard]] std::unique_ptr<Execution> start_now(Program const& program, unsigned blocks,
                                                       PendingStart const& pending);

    std::shared_ptr<CudaContext> context_;
    std::optional<std::size_t> stack_bytes_;
    std::shared_ptr<Mapper const> memory_;
};

void CudaBackend::describe() {
    auto const& cuda = CudaDriver::get();
    std::array<char, 256> text{};
    cuda.check(cuda.cuDeviceGetName(text.data(), text.size(), context_->device()),
               "cuDeviceGetName");
    info_.name = text.data();
    info_.uuid = uuid_text(context_->uuid());
    cuda.check(cuda.cuDeviceGetPCIBusId(text.data(), text.size(), context_->device()),
               "cuDeviceGetPCIBusId");
    info_.pci_bus_id = text.data();
    info_.bar_size = bar_size(info_.pci_bus_id);
    info_.write_ordering = context_->attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
    if (*info_.write_ordering < CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER) {
        info_.data_order = DataOrder::read_back;
    }
    info_.compute_capability =
        10 * context_->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        context_->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    if (*info_.compute_capability < 70) {
        throw UnsupportedError(fmt::format(
            "{} has compute capability {}.{}: below 7.0, a GPU may tear 16-byte accesses",
            info_.name, *info_.compute_capability / 10, *info_.compute_capability % 10));
    }
    info_.sm_count = context_->attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    int version = 0;
    cuda.check(cuda.cuDriverGetVersion(&version), "cuDriverGetVersion");
    info_.cuda_driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    info_.kernel_driver = kernel_module_version();
    info_.module_loading = cuda.loads_lazily() ? "lazy" : "eager";
}

StackUse CudaBackend::stack() {
    ProgramCode::Turn const turn(*context_);
    if (!beside_others()) turn.code().load();
    return stack_of(*context_, turn.code().needed());
}

void CudaBackend::prepare_program() {
    ProgramCode::Turn const turn(*context_);
    if (!beside_others()) prepare_program(turn.code(), 0);
}

void CudaBackend::prepare_program(ProgramCode& code, std::size_t least) {
    code.load();
    reserve_stack(*context_, stack_bytes_, code.needed(), least);
}

// Returns the kernel's function, and loads its code if necessary.
CUfunction function_of(Program const& program) {
    if (program.loaded != nullptr) return static_cast<CUfunction>(program.loaded);
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): start() has seen that one is there
    return static_cast<CUfunction>(program.kernel->function()());
}

CUfunction CudaBackend::prepare(Program const& program, ProgramCode& code) {
    if (!beside_others()) {
        auto* const own = function_of(program);
        prepare_program(code, stack_of(own));
        return own;
    }
    if (program.kernel != nullptr && !code.has(*program.kernel)) {
        throw UsageError(
            "the kernel's library was loaded while another kernel ran on this GPU, and CUDA loads "
            "code only while none runs: load the library before you start the first kernel");
    }
    auto* const own = function_of(program);
    require_stack(*context_, stack_of(own));
    return own;
}

std::unique_ptr<Execution> CudaBackend::start_now(Program const& program, unsigned blocks,
                                                  PendingStart const& pending) {
    auto const& cuda = CudaDriver::get();
    ProgramCode::Turn const turn(*context_);
    auto* const function = prepare(program, turn.code());
    int per_sm = 0;
    cuda.check(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                   &per_sm, function, static_cast<int>(program.threads), 0),
               "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    auto const limit = static_cast<unsigned>(per_sm * *info_.sm_count);
    auto execution = std::make_unique<StreamExecution>(shared_from_this(), context_);
    if (!execution->launch(function, program, blocks, limit, pending)) return {};
    return execution;
}

std::unique_ptr<Execution> CudaBackend::start(Program const& program, unsigned blocks) {
    if (program.loaded == nullptr && program.kernel == nullptr) {
        throw UsageError(
            fmt::format("{} needs device code, but this translation unit was not compiled by nvcc: "
                        "compile it as CUDA, or open \"emulated\"",
                        info_.name));
    }
    auto const pending = std::make_shared<PendingStart>();
    auto self = std::static_pointer_cast<CudaBackend>(shared_from_this());
    auto thread = start_thread("carillon-start", [pending, self, program, blocks] {
        pending->run(self->residents(), [&] { return self->start_now(program, blocks, *pending); });
    });
    if (pending->wait(program.start_timeout)) return pending->take();
    thread.detach();
    throw TimeoutError(
        "the driver has not returned from the launch within start_timeout: it may wait for running "
        "kernels, of this program or of another library, to load this kernel's code or reserve its "
        "stack");
}

CUdevice device_of(int ordinal) {
    auto const& cuda = CudaDriver::get();
    int const count = cuda_device_count();
    if (ordinal < 0 || ordinal >= count) {
        throw DeviceNotFoundError(
            fmt::format("there is no GPU {}: this machine has {} (from 0)", ordinal, count));
    }
    CUdevice device = 0;
    cuda.check(cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet");
    return device;
}

// A thread of the program may have less stack than CUDA and Vulkan need to open a GPU.
template <class Context>
std::shared_ptr<Backend> open_in(Context const& context, std::string const& selector,
                                 DeviceOptions const& options) {
    return on_own_thread("carillon-open", [&]() -> std::shared_ptr<Backend> {
        return std::make_shared<CudaBackend>(context(), selector, options);
    });
}

}  // namespace

int cuda_device_count() {
    auto const& cuda = CudaDriver::get();
    cuda.mark.require_own();
    int count = 0;
    cuda.check(cuda.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (count == 0) throw DeviceNotFoundError("cuDeviceGetCount", "the CUDA driver sees no GPU");
    return count;
}

std::shared_ptr<Backend> open_cuda(int ordinal, DeviceOptions const& options) {
    std::string_view const suffix = options.memory == DeviceMemory::host ? ":host" : "";
    return open_in([ordinal] { return CudaContext::primary(device_of(ordinal)); },
                   fmt::format("cuda:{}{}", ordinal, suffix), options);
}

std::shared_ptr<Backend> open_cuda_uuid(std::string_view uuid, DeviceOptions const& options) {
    for (int ordinal = 0; ordinal < cuda_device_count(); ++ordinal) {
        if (uuid_text(CudaContext::uuid_of(device_of(ordinal))) == uuid)
            return open_cuda(ordinal, options);
    }
    throw DeviceNotFoundError(fmt::format("no GPU has the UUID {}", uuid));
}

std::shared_ptr<Backend> open_cuda_current(DeviceOptions const& options) {
    CudaDriver::get().mark.require_own();
    return open_in([context = CudaContext::current()] { return context; }, "current", options);
}

}  // namespace carillon::detail
