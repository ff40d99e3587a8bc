// SPDX-License-Identifier: Apache-2.0
#include "cuda/program_code.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include "carillon/error.hpp"
#include "cuda/loaded_module.hpp"
#include "cuda/thread_stack.hpp"

namespace carillon::detail {
namespace {

constexpr std::chrono::seconds longest_turn{10};

CUmodule module_of(CUfunction function) {
    auto const& cuda = CudaDriver::get();
    CUmodule module = nullptr;
    cuda.check(cuda.cuFuncGetModule(&module, function), "cuFuncGetModule");
    return module;
}

}  // namespace

ProgramCode& ProgramCode::of(CudaContext const& context) {
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
    static auto& all = *new std::map<unsigned long long, ProgramCode>;
    std::lock_guard const lock(mutex);
    return all[context.id()];
}

ProgramCode::Turn::Turn(ProgramCode& code) : code_(code) {
    if (code.free_.try_acquire_for(longest_turn)) return;
    throw TimeoutError("the driver has not come back from the start of another kernel");
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

}  // namespace carillon::detail
