// SPDX-License-Identifier: Apache-2.0
// The alternatives through the driver: launches, graphs, stream writes.
#include <carillon/carillon.hpp>

#include "rtt/measure.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda.h>
#include <dlfcn.h>

#include "measure/driver_calls.hpp"

namespace carillon::tool {
namespace {

__global__ void nothing() {}
__global__ void answer(Flag flag, std::uint32_t value) { flag.write(value); }

class DriverMeasure : public Measure {
   public:
    explicit DriverMeasure(RttStage stage) : stage_(std::move(stage)) {}

   protected:
    RttStage stage_;
    Stream stream_;
};

class LaunchSync final : public DriverMeasure {
   public:
    using DriverMeasure::DriverMeasure;
    void run(std::uint32_t count, Samples& samples) override {
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t) {
            nothing<<<1, 1, 0, stream_.get()>>>();
            check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        });
    }
};

class LaunchSpin final : public DriverMeasure {
   public:
    using DriverMeasure::DriverMeasure;
    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        std::uint32_t const capacity = stage_.memory->capacity();
        Flags const near{stage_.host_view().replies.base, capacity};
        Flags const far{stage_.device_view().replies.base, capacity};
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            answer<<<1, 1, 0, stream_.get()>>>(far[i], i);
            await_flag(stage_.wait, near[i], i);
        });
        check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    }
};

class GraphSync final : public DriverMeasure {
   public:
    explicit GraphSync(RttStage stage) : DriverMeasure(std::move(stage)) {
        cudaGraph_t graph = nullptr;
        check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
        nothing<<<1, 1, 0, stream_.get()>>>();
        check(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
        check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
        check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    ~GraphSync() override { cudaGraphExecDestroy(executable_); }
    GraphSync(GraphSync const&) = delete;
    GraphSync& operator=(GraphSync const&) = delete;

    void run(std::uint32_t count, Samples& samples) override {
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t) {
            check(cudaGraphLaunch(executable_, stream_.get()), "cudaGraphLaunch");
            check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        });
    }

   private:
    cudaGraphExec_t executable_ = nullptr;
};

// A running kernel is commanded through a stream: cuStreamWriteValue32 writes the flag that it
// polls in device memory, and it answers in host memory as for raw-flag.
class StreamWrite final : public DriverMeasure {
   public:
    explicit StreamWrite(RttStage stage) : DriverMeasure(std::move(stage)) {
        void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (driver != nullptr) {
            write_ = reinterpret_cast<decltype(write_)>(::dlsym(driver, "cuStreamWriteValue32_v2"));
        }
        if (write_ == nullptr) {
            throw UnsupportedError("dlsym(cuStreamWriteValue32_v2)", "the driver lacks it");
        }
    }

    void run(std::uint32_t count, Samples& samples) override {
        stage_.memory->reset();
        std::uint32_t const capacity = stage_.memory->capacity();
        Flags const near{stage_.host_view().replies.base, capacity};
        Flags const far{stage_.device_view().requests.base, capacity};
        auto const kernel =
            launch(stage_.device, 1,
                   FlagEcho{far, Flags{stage_.device_view().replies.base, capacity},
                            stage_.device_view().status, stage_.warm_up + count, stage_.bound});
        auto* const first = static_cast<detail::Line*>(far.slots);
        time_trips(stage_.warm_up, count, samples, [&](std::uint32_t i) {
            auto const where = reinterpret_cast<CUdeviceptr>(first + (i & (capacity - 1)));
            CUresult const result = write_(stream_.get(), where, i, 0);
            if (result != CUDA_SUCCESS) {
                throw CudaError("cuStreamWriteValue32", static_cast<int>(result), "CUresult");
            }
            await_flag(stage_.wait, near[i], i);
        });
        if (!kernel.wait(std::chrono::seconds(5))) {
            throw TimeoutError("rtt", "the flag kernel did not end");
        }
    }

   private:
    decltype(&cuStreamWriteValue32) write_ = nullptr;
};

template <class M>
std::unique_ptr<Measure> make_with_cuda(RttStage const& stage) {
    if (!stage.device.traits().cuda) return nullptr;
    use_in_runtime(stage.device.info());
    return std::make_unique<M>(stage);
}

}  // namespace

std::unique_ptr<Measure> make_launch_sync(RttStage const& stage) {
    return make_with_cuda<LaunchSync>(stage);
}
std::unique_ptr<Measure> make_launch_spin(RttStage const& stage) {
    return make_with_cuda<LaunchSpin>(stage);
}
std::unique_ptr<Measure> make_graph_sync(RttStage const& stage) {
    return make_with_cuda<GraphSync>(stage);
}
std::unique_ptr<Measure> make_stream_write(RttStage const& stage) {
    return make_with_cuda<StreamWrite>(stage);
}

}  // namespace carillon::tool

#else

namespace carillon::tool {

std::unique_ptr<Measure> make_launch_sync(RttStage const& /*stage*/) { return nullptr; }
std::unique_ptr<Measure> make_launch_spin(RttStage const& /*stage*/) { return nullptr; }
std::unique_ptr<Measure> make_graph_sync(RttStage const& /*stage*/) { return nullptr; }
std::unique_ptr<Measure> make_stream_write(RttStage const& /*stage*/) { return nullptr; }

}  // namespace carillon::tool

#endif
