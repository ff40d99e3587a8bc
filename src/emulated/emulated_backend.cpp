// SPDX-License-Identifier: Apache-2.0
#include "emulated/emulated_backend.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "cpu/cpu.hpp"
#include "error/sizes.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {
namespace {

// One list for each process: a child may register its copies of the bytes. Never deleted, since
// memory may be freed at any time.
struct RegisteredRanges {
    std::mutex mutex;
    std::map<std::byte*, std::byte*> begins;  // by end
};

class RegisteredRange final : public Allocation {
   public:
    explicit RegisteredRange(std::span<std::byte> bytes) {
        auto& [mutex, begins] = PerProcess<RegisteredRanges>::get();
        std::lock_guard const lock(mutex);
        std::byte* const end = bytes.data() + bytes.size();
        auto const after = begins.upper_bound(bytes.data());  // ends behind the begin
        if (after != begins.end() && after->second < end) {
            throw UsageError(fmt::format("some of the {} bytes at {} are registered already",
                                         bytes.size(), static_cast<void*>(bytes.data())));
        }
        begins.emplace_hint(after, end, bytes.data());
        host = device = bytes.data();
        size = bytes.size();
    }
    ~RegisteredRange() override {
        auto& [mutex, begins] = PerProcess<RegisteredRanges>::get();
        std::lock_guard const lock(mutex);
        begins.erase(static_cast<std::byte*>(host) + size);
    }
    RegisteredRange& operator=(RegisteredRange&&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("registered host memory has no file descriptor");
    }
};

// Shared memory, zeroed, mapped once for the host and once for the device, like on a GPU: so an
// address used on the wrong side is found. The thread sanitizer follows addresses: it needs one
// mapping to see both sides of a ring.
class MemfdAllocation final : public Allocation {
   public:
    explicit MemfdAllocation(std::size_t bytes) : of_host_(bytes) {
        size = bytes;
        host = of_host_.bytes().data();
        if (CARILLON_THREAD_SANITIZER == 0) of_device_.emplace(of_host_.descriptor(), bytes);
        device = of_device_ ? of_device_->get() : host;
    }

    FileDescriptor export_fd() const override { return of_host_.duplicate(); }

   private:
    SharedMemory of_host_;
    std::optional<SharedMapping> of_device_;
};

// Device memory from Vulkan's CPU driver. The device has a second mapping, imported from the
// exported descriptor like CUDA would, but for the thread sanitizer.
std::unique_ptr<Allocation> allocate_vulkan(VulkanDevice const& vulkan, std::size_t size) {
    auto block = vulkan.allocate(size);
    auto imported = vulkan.import(block->export_fd(), size);
    block->device = CARILLON_THREAD_SANITIZER == 0 ? imported->host : block->host;
    block->imported = std::move(imported);
    std::memset(block->host, 0, size);
    return block;
}

thread_local bool runs_a_block = false;

// If nvcc compiles a program, it silently gives each __device__ function a host body that calls
// exit().
void tell_that_a_block_exits() noexcept {
    if (!runs_a_block) return;
    say_line(
        "carillon: a kernel's block on the emulated device has ended the program by exit(). nvcc "
        "makes the call of a __device__ function do that: write CARILLON_HD");
}

// The state that the threads of one kernel share with its waiters, which outlives both.
struct KernelThreads : std::enable_shared_from_this<KernelThreads> {
    enum class Gate : std::uint8_t { closed, open, never };

    std::shared_ptr<Backend> backend;
    std::function<void(unsigned)> run_block;
    unsigned blocks = 0;
    std::atomic<unsigned> running = 0;
    std::atomic<bool> ended = false;  // and the backend knows it
    std::atomic<bool> failed = false;
    std::mutex mutex;
    std::exception_ptr failure;
    std::atomic<Gate> gate = Gate::closed;

    // All threads or none: no block runs before every one has its thread. Throws SystemError.
    void start() {
        static bool const told = std::atexit(tell_that_a_block_exits) == 0;
        (void)told;
        std::vector<Thread> threads;  // joined if some cannot be started
        threads.reserve(blocks);
        try {
            for (unsigned block = 0; block < blocks; ++block) {
                threads.push_back(
                    start_thread("carillon-block", [kernel = shared_from_this(), block] {
                        kernel->gate.wait(Gate::closed);
                        if (kernel->gate == Gate::open) kernel->run(block);
                    }));
            }
        } catch (...) {
            set_gate(Gate::never);
            throw;
        }
        running = blocks;
        set_gate(Gate::open);
        for (Thread& each : threads) each.detach();
    }

    void set_gate(Gate to) {
        gate = to;
        gate.notify_all();
    }

    void run(unsigned block) {
        leave_pinned_cores();
        runs_a_block = true;
        try {
            run_block(block);
        } catch (...) {
            std::lock_guard const lock(mutex);
            failure = kept_exception();
            failed = true;
        }
        runs_a_block = false;
        if (running.fetch_sub(1) != 1) return;
        // Before `ended`: a device that its owner has closed must not close on this thread later.
        std::exchange(backend, nullptr)->residents().kernel_ended(blocks);
        ended = true;
    }
};

class ThreadExecution final : public Execution {
   public:
    explicit ThreadExecution(std::shared_ptr<KernelThreads> kernel) : kernel_(std::move(kernel)) {}

    // A block that throws fails the kernel at once, like a fault on a GPU; its other blocks must
    // still get the order to end.
    bool finished() override {
        if (!kernel_->failed) return kernel_->ended;
        std::lock_guard const lock(kernel_->mutex);
        std::rethrow_exception(kernel_->failure);
    }
    bool gone() noexcept override { return kernel_->ended; }

   private:
    std::shared_ptr<KernelThreads> kernel_;
};

// Traits of CPU threads on memory of the CPU.
constexpr DeviceTraits emulated_traits{.cuda = false,
                                       .shares_processors = true,
                                       .one_thread_a_block = true,
                                       .loads_whole_quads = false,
                                       .kernels_end_with_process = true,
                                       .write_combining = false,
                                       .frees_beside_kernels = true};

class EmulatedBackend final : public Backend {
   public:
    EmulatedBackend(EmulatedMemory memory, DeviceOptions const& options)
        : Backend(std::make_shared<Residents>(), emulated_traits) {  // each is a device of its own
        info_.name = fmt::format("emulated device ({} processors of this machine)",
                                 cpu::available_processors());
        info_.emulated = true;
        info_.memory_source = MemorySource::memfd;
        set_own_stores();
        if (memory == EmulatedMemory::vulkan) {
            vulkan_ =
                on_own_thread("carillon-open", [&] { return VulkanDevice::open({}, options); });
            vulkan_->describe(info_);
        } else if (options.force_non_coherent) {
            throw UnsupportedError("memfd memory cannot be non-coherent");
        }
    }

    std::unique_ptr<Allocation> allocate(std::size_t size) override {
        if (vulkan_ == nullptr) return allocate_host(size);
        return allocate_vulkan(*vulkan_, size);
    }

    std::unique_ptr<Allocation> allocate_host(std::size_t size) override {
        require_machine_memory(size);
        return std::make_unique<MemfdAllocation>(size);
    }

    std::unique_ptr<Allocation> allocate_shared_host(std::size_t size) override {
        return allocate_host(size);
    }

    std::unique_ptr<Allocation> register_host(std::span<std::byte> bytes,
                                              std::shared_ptr<void const> owner) override {
        auto allocation = register_range(bytes);
        allocation->owner = std::move(owner);
        return allocation;
    }

    std::unique_ptr<Execution> start(Program const& program, unsigned blocks) override {
        auto kernel = std::make_shared<KernelThreads>();
        kernel->backend = shared_from_this();
        kernel->run_block = block_of(program);
        kernel->blocks = blocks;
        auto execution = std::make_unique<ThreadExecution>(kernel);
        residents().kernel_started(blocks, emulated_resident_blocks);
        try {
            kernel->start();
        } catch (...) {
            residents().kernel_ended(blocks);
            throw;
        }
        return execution;
    }

   private:
    std::shared_ptr<VulkanDevice> vulkan_;
};

BlockRunner& the_runner() {
    static auto& runner = *new BlockRunner;  // never destroyed: static kernels start later
    return runner;
}

}  // namespace

std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes) {
    return std::make_unique<RegisteredRange>(bytes);
}

std::shared_ptr<Backend> open_emulated(EmulatedMemory memory, DeviceOptions const& options) {
    return std::make_shared<EmulatedBackend>(memory, options);
}

void set_block_runner(BlockRunner runner) {
    std::lock_guard const lock(ForkMutex<BlockRunner>::get());
    the_runner().swap(runner);  // the former one goes without the lock
}

std::function<void(unsigned)> block_of(Program const& program) {
    std::lock_guard const lock(ForkMutex<BlockRunner>::get());
    if (the_runner() == nullptr) return program.run_block;
    return [runner = the_runner(), threads = program.threads,
            run_block = program.run_block](unsigned block) { runner(threads, block, run_block); };
}

}  // namespace carillon::detail
