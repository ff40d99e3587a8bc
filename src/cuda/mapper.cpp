// SPDX-License-Identifier: Apache-2.0
#include "cuda/mapper.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>

#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// The size of a ring and its words: allocating it shows whether a way works.
constexpr std::size_t trial_size = std::size_t{1} << 16U;

struct Way {
    std::string_view name;
    std::unique_ptr<Mapper> (*make)(ContextPtr const&, DeviceOptions const&);
};
constexpr std::array<Way, 3> ways{{{"Vulkan", &make_vulkan_mapper},
                                   {"dma-buf", &make_dma_buf_mapper},
                                   {"gdrcopy", &make_gdrcopy_mapper}}};

// The way that was found, or why there is none.
struct Choice {
    std::shared_ptr<Mapper const> mapper;
    std::string why_not;
};

// Returns what use(way) returns for the first way that works; or nothing, and the reasons.
template <class Use>
std::invoke_result_t<Use, Way const&> first_of(std::span<Way const> all, Use&& use,
                                               std::string& why_not) {
    for (Way const& way : all) {
        try {
            return use(way);
        } catch (DeviceFaultError const&) {  // this context is unusable
            throw;
        } catch (Error const& error) {
            why_not += fmt::format("{}{}: {}", why_not.empty() ? "" : "; ", way.name, error.what());
        }
    }
    return {};
}

Choice try_ways(ContextPtr const& context, DeviceOptions const& options, Residents& residents) {
    Choice choice;
    auto const works = [&](Way const& way) -> std::shared_ptr<Mapper const> {
        auto mapper = way.make(context, options);
        residents.retire(mapper->allocate(context, trial_size));
        return mapper;
    };
    choice.mapper = first_of(ways, works, choice.why_not);
    if (choice.mapper != nullptr) choice.why_not.clear();
    return choice;
}

// A found way holds for the process; after a failure a call without live kernels tries again.
Choice find_mapper(ContextPtr const& context, DeviceOptions const& options, Residents& residents) {
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
    static auto& found = *new std::map<std::tuple<Uuid, bool>, Choice>;
    std::lock_guard const lock(mutex);
    Choice& choice = found[{context->uuid(), options.require_coherent}];
    if (choice.mapper == nullptr && (choice.why_not.empty() || !residents.any())) {
        choice = try_ways(context, options, residents);
    }
    return choice;
}

Choice find_or_fall_back(ContextPtr const& context, DeviceOptions const& options,
                         Residents& residents) {
    if (options.force_non_coherent) return {make_vulkan_mapper(context, options), {}};
    if (options.memory == DeviceMemory::host) return {make_host_mapper(), "it was requested"};
    Choice choice = find_mapper(context, options, residents);
    if (choice.mapper != nullptr) return choice;
    if (options.memory == DeviceMemory::mapped) {
        throw UnsupportedError(choice.why_not);
    }
    // Once for each device that is opened, since the program will be slow.
    say_line(
        fmt::format("carillon: rings of {} are in pinned host memory, because no GPU memory could "
                    "be mapped ({}). Run `carillon doctor`",
                    uuid_text(context->uuid()), choice.why_not));
    choice.mapper = make_host_mapper();
    return choice;
}

void require_device_memory(CudaRange const& range) {
    auto const& cuda = CudaDriver::get();
    CUmemorytype type{};
    CUresult const result =
        cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range.address);
    if (result != CUDA_ERROR_INVALID_VALUE) cuda.check(result, "cuPointerGetAttribute");
    if (result != CUDA_SUCCESS || type != CU_MEMORYTYPE_DEVICE) {
        throw UsageError(fmt::format("{:#x} is not an address in GPU memory", range.address));
    }
}

}  // namespace

std::unique_ptr<Allocation> Mapper::import(ContextPtr const& /*context*/, FileDescriptor /*fd*/,
                                           std::size_t /*size*/) const {
    throw UnsupportedError("this GPU's memory cannot be imported from another process");
}

std::unique_ptr<Allocation> Mapper::map(CudaRange const& /*range*/) const {
    throw UnsupportedError("it cannot map the program's memory");
}

std::unique_ptr<Allocation> map_range(CudaRange const& range) {
    ContextScope const scope(*range.context);
    require_device_memory(range);
    if (range.address % gpu_page != 0) {
        throw UsageError(fmt::format("{:#x} is not a multiple of 64 KiB", range.address));
    }
    std::string why_not;
    auto const others = std::span(ways).subspan(1);  // Vulkan maps only its own memory
    auto mapped = first_of(
        others, [&](Way const& way) { return way.make(range.context, {})->map(range); }, why_not);
    if (mapped != nullptr) return mapped;
    throw UnsupportedError(why_not + "; use memory from Device::allocate instead");
}

std::shared_ptr<Mapper const> choose_mapper(ContextPtr const& context, DeviceOptions const& options,
                                            Residents& residents, DeviceInfo& info) {
    Choice choice = find_or_fall_back(context, options, residents);
    choice.mapper->describe(info);
    info.why_host_memory = std::move(choice.why_not);
    return std::move(choice.mapper);
}

}  // namespace carillon::detail
