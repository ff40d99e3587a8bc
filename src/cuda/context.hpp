// SPDX-License-Identifier: Apache-2.0
// CUDA contexts, and a scope that makes one current.
#pragma once

#include <memory>

#include "cuda/cuda_driver.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {

// A CUDA context that the library works in: a device's primary one, or the caller's.
class CudaContext {
   public:
    // Retained and never released, like the CUDA runtime does: a process that opens it once opens
    // it again. Retained anew in each call, since a cudaDeviceReset ends it for all.
    static std::shared_ptr<CudaContext> primary(CUdevice device);
    static std::shared_ptr<CudaContext> current();
    // `is_primary`: the device's primary context, which the library retains.
    CudaContext(CUdevice device, CUcontext context, bool is_primary = false);
    CudaContext& operator=(CudaContext&&) = delete;

    [[nodiscard]] CUdevice device() const { return device_; }
    [[nodiscard]] CUcontext get() const { return context_; }
    [[nodiscard]] bool is_primary() const { return is_primary_; }
    // A number that no other context of this process ever has; before CUDA 12 the handle.
    [[nodiscard]] unsigned long long id() const { return id_; }
    // Whether it was destroyed. Then the driver must not be called with it: some calls crash.
    [[nodiscard]] bool destroyed() const noexcept;
    [[nodiscard]] int attribute(CUdevice_attribute attribute) const;
    [[nodiscard]] static Uuid uuid_of(CUdevice device);
    [[nodiscard]] Uuid uuid() const { return uuid_of(device_); }

   private:
    CUdevice device_;
    CUcontext context_;
    unsigned long long id_ = 0;
    bool is_primary_;
};

// Lets this thread make driver calls that a graph capture in another thread would forbid: the
// library's calls concern no stream of the program.
class RelaxedCapture {
   public:
    RelaxedCapture() noexcept : relaxed_(exchange()) {}
    ~RelaxedCapture() {
        if (relaxed_) (void)exchange();
    }
    RelaxedCapture& operator=(RelaxedCapture&&) = delete;

   private:
    bool exchange() noexcept {
        return CudaDriver::get().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
    }

    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool relaxed_;
};

// Makes a context current for a scope, whatever the caller's was. Throws CudaError if the context
// was destroyed.
class ContextScope {
   public:
    explicit ContextScope(CudaContext const& context);
    ~ContextScope();
    ContextScope& operator=(ContextScope&&) = delete;

   private:
    RelaxedCapture relaxed_;
};

// Calls `free()` in a context, for a destructor. Returns false if the context has gone, and its
// objects with it.
template <class Free>
bool free_in(CudaContext const& context, Free&& free) noexcept {
    try {
        ContextScope const scope(context);
        free();
        return true;
    } catch (...) {
        return false;
    }
}

[[nodiscard]] std::string uuid_text(Uuid const& uuid);

}  // namespace carillon::detail
