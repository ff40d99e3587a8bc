// SPDX-License-Identifier: Apache-2.0
// CUDA contexts, and how a scope makes one current.
#pragma once

#include <memory>

#include "cuda/driver.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// A CUDA context that the library works in: a device's primary one, or the caller's.
class CudaContext {
   public:
    // Retained and never released, as the CUDA runtime does: what a process opens once it opens
    // again. Each time anew, since a cudaDeviceReset ends it for all.
    static std::shared_ptr<CudaContext> primary(CUdevice device);
    static std::shared_ptr<CudaContext> current();
    // `is_primary`: the device's, which the library retains.
    CudaContext(CUdevice device, CUcontext context, bool is_primary = false);
    CudaContext(CudaContext const&) = delete;
    CudaContext& operator=(CudaContext const&) = delete;

    [[nodiscard]] CUdevice device() const { return device_; }
    [[nodiscard]] CUcontext get() const { return context_; }
    [[nodiscard]] bool is_primary() const { return is_primary_; }
    // No other context of this process has had it or will have it; before CUDA 12 its handle.
    [[nodiscard]] unsigned long long id() const { return id_; }
    // Whether it has been destroyed. The driver must not be called with it then: some calls crash.
    [[nodiscard]] bool destroyed() const noexcept;
    [[nodiscard]] int attribute(CUdevice_attribute attribute) const;
    [[nodiscard]] Uuid uuid() const;

   private:
    CUdevice device_;
    CUcontext context_;
    unsigned long long id_ = 0;
    bool is_primary_;
};

// Lets this thread ask the driver what a graph that another thread captures would forbid it: what
// the library asks has to do with no stream of the program's.
class RelaxedCapture {
   public:
    RelaxedCapture() noexcept : relaxed_(exchange()) {}
    ~RelaxedCapture() {
        if (relaxed_) (void)exchange();
    }
    RelaxedCapture(RelaxedCapture const&) = delete;
    RelaxedCapture& operator=(RelaxedCapture const&) = delete;

   private:
    bool exchange() noexcept {
        return CudaDriver::get().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
    }

    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed_;
};

// Makes a context current for a scope, whatever the caller's was. Throws CudaError where it has
// been destroyed.
class ContextScope {
   public:
    explicit ContextScope(CudaContext const& context);
    ~ContextScope();
    ContextScope(ContextScope const&) = delete;
    ContextScope& operator=(ContextScope const&) = delete;

   private:
    RelaxedCapture relaxed_;
};

// Calls `free()` in a context, for a destructor: where the context has gone, so has what it held,
// and false is returned.
template <class Free>
bool free_in(CudaContext const& context, Free&& free) noexcept {
    RelaxedCapture const relaxed;
    auto const& cuda = CudaDriver::get();
    if (context.destroyed() || cuda.cuCtxPushCurrent(context.get()) != CUDA_SUCCESS) return false;
    free();
    CUcontext popped = nullptr;
    cuda.cuCtxPopCurrent(&popped);
    return true;
}

[[nodiscard]] std::string uuid_text(Uuid const& uuid);

}  // namespace carillon::detail
