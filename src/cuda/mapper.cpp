// SPDX-License-Identifier: Apache-2.0
#include "cuda/mapper.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// A ring and its words: whether it can be had shows when it is asked for.
constexpr std::size_t trial_size = std::size_t{1} << 16U;

struct Way {
    std::string_view name;
    std::unique_ptr<Mapper> (*make)(SharedContext const&, DeviceOptions const&);
};
constexpr std::array<Way, 3> ways{{{"Vulkan", &make_vulkan_mapper},
                                   {"dma-buf", &make_dma_buf_mapper},
                                   {"gdrcopy", &make_gdrcopy_mapper}}};

std::unique_ptr<Mapper> try_way(Way const& way, SharedContext const& context,
                                DeviceOptions const& options, std::string& why_not) {
    try {
        auto mapper = way.make(context, options);
        (void)mapper->allocate(trial_size);
        return mapper;
    } catch (DeviceFaultError const&) {  // nothing of this context works any more
        throw;
    } catch (Error const& error) {
        why_not += fmt::format("{}{}: {}", why_not.empty() ? "" : "; ", way.name, error.what());
        return nullptr;
    }
}

std::unique_ptr<Mapper> find_mapper(SharedContext const& context, DeviceOptions const& options,
                                    std::string& why_not) {
    if (options.force_non_coherent) return make_vulkan_mapper(context, options);
    if (options.memory == DeviceMemory::host) {
        why_not = "it was asked for";
        return nullptr;
    }
    for (Way const& way : ways) {
        if (auto mapper = try_way(way, context, options, why_not)) {
            why_not.clear();
            return mapper;
        }
    }
    if (options.memory == DeviceMemory::mapped) throw UnsupportedError("Device::open", why_not);
    // Once for each device that is opened: a program that was to be fast will not be.
    std::fputs(fmt::format("carillon: rings of {} are in page-locked host memory, since none of "
                           "its own can be mapped ({}); carillon doctor says more\n",
                           uuid_text(context->uuid()), why_not)
                   .c_str(),
               stderr);
    return nullptr;
}

}  // namespace

std::unique_ptr<Mapper> choose_mapper(SharedContext const& context, DeviceOptions const& options,
                                      DeviceInfo& info) {
    std::string why_not;
    auto mapper = find_mapper(context, options, why_not);
    if (mapper == nullptr) {
        mapper = make_host_mapper(context);
        info.why_host_memory = why_not;
    }
    mapper->describe(info);
    return mapper;
}

}  // namespace carillon::detail
