// SPDX-License-Identifier: Apache-2.0
// Replaces cuda_backend.cpp in a build without cuda.h.
#include "carillon/error.hpp"
#include "cuda/cuda_backend.hpp"

namespace carillon::detail {
namespace {

[[noreturn]] void refuse() {
    throw DeviceNotFoundError(
        "this build of Carillon has no CUDA support: CARILLON_CUDA was off, or cuda.h was missing "
        "(scripts/setup --cuda fetches it); \"emulated\" needs no CUDA");
}

}  // namespace

int cuda_device_count() { refuse(); }
std::shared_ptr<Backend> open_cuda(int, DeviceOptions const&) { refuse(); }
std::shared_ptr<Backend> open_cuda_uuid(std::string_view, DeviceOptions const&) { refuse(); }
std::shared_ptr<Backend> open_cuda_current(DeviceOptions const&) { refuse(); }

}  // namespace carillon::detail
