// SPDX-License-Identifier: Apache-2.0
// Finds the device that a selector names: the one place that knows every backend.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "cpu/cpu.hpp"
#include "cuda/cuda_backend.hpp"
#include "device/backend.hpp"
#include "emulated/emulated_backend.hpp"

namespace carillon {
namespace {

using detail::Backend;
using detail::EmulatedMemory;

// The devices other than CUDA's GPUs; a machine without a GPU gets the first. To add one: implement
// Backend, and name it here.
struct OtherDevice {
    std::string_view selector;
    bool emulated;  // it only stands in for a GPU
    std::shared_ptr<Backend> (*open)(DeviceOptions const&);
};
constexpr std::array other_devices{
    OtherDevice{"emulated", true,
                [](DeviceOptions const& options) {
                    return detail::open_emulated(EmulatedMemory::memfd, options);
                }},
    OtherDevice{"emulated:vulkan", true,
                [](DeviceOptions const& options) {
                    return detail::open_emulated(EmulatedMemory::vulkan, options);
                }},
};

OtherDevice const* other_device(std::string_view selector) {
    auto const* const found =
        std::find_if(other_devices.begin(), other_devices.end(),
                     [&](OtherDevice const& each) { return each.selector == selector; });
    return found == other_devices.end() ? nullptr : found;
}

std::shared_ptr<Backend> open_other(OtherDevice const& device, DeviceOptions const& options) {
    auto backend = device.open(options);
    backend->set_selector(device.selector);
    return backend;
}

// Once in a process, since the program will be slow.
void tell_that_it_is_emulated(std::string const& why) {
    static std::atomic_flag told;
    if (told.test_and_set()) return;
    detail::say_line(
        fmt::format("carillon: no usable GPU ({}): using the emulated device. Run `carillon "
                    "doctor`; open \"emulated\" to silence this",
                    why));
}

std::shared_ptr<Backend> open_best(DeviceOptions const& options, std::string& why_emulated) {
    try {
        (void)detail::cuda_device_count();
    } catch (DeviceNotFoundError const& error) {
        why_emulated = error.what();
        tell_that_it_is_emulated(why_emulated);
        return open_other(other_devices.front(), options);
    }
    return detail::open_cuda(0, options);  // a GPU that cannot be used is an error
}

std::shared_ptr<Backend> open_ordinal(std::string_view selector, std::string_view digits,
                                      DeviceOptions const& options) {
    int ordinal = 0;
    auto const [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        throw UsageError(fmt::format("\"{}\" does not name a device: use one of {}", selector,
                                     Device::selectors()));
    }
    return detail::open_cuda(ordinal, options);
}

std::shared_ptr<Backend> open_backend(std::string_view selector, DeviceOptions const& options,
                                      std::string& why_emulated) {
    if (selector == "best") return open_best(options, why_emulated);
    if (auto const* const other = other_device(selector)) return open_other(*other, options);
    if (selector == "current") return detail::open_cuda_current(options);
    if (selector == "cuda") return detail::open_cuda(0, options);
    if (selector.starts_with("GPU-")) return detail::open_cuda_uuid(selector, options);
    bool const prefixed = selector.starts_with("cuda:");
    std::string_view digits = prefixed ? selector.substr(5) : selector;
    constexpr std::string_view in_host_memory = ":host";
    if (!prefixed || !digits.ends_with(in_host_memory)) {
        return open_ordinal(selector, digits, options);
    }
    if (options.memory == DeviceMemory::mapped) {
        throw UsageError(fmt::format(
            "{} asks for host memory, but the option memory is mapped: leave one out", selector));
    }
    digits.remove_suffix(in_host_memory.size());
    DeviceOptions on_host = options;
    on_host.memory = DeviceMemory::host;
    return open_ordinal(selector, digits, on_host);
}

// The device as open() finds it, or the error of open().
DeviceInfo try_describe(std::string_view selector, bool emulated) {
    try {
        return Device::open(selector, {.stack_bytes = 0}).info();  // reserves no stack
    } catch (Error const& error) {
        DeviceInfo info;
        info.selector = selector;
        info.name = fmt::format("not available ({})", error.cause());
        info.emulated = emulated;
        return info;
    }
}

// DeviceOptions::stack_bytes, or the environment's value instead. It is parsed for any device, so
// that an error is also found without a GPU.
std::optional<std::size_t> stack_asked_for(std::optional<std::size_t> option) {
    constexpr char const* variable = "CARILLON_STACK_BYTES";
    char const* const text = std::getenv(variable);
    if (option || text == nullptr || *text == 0) return option;
    std::string_view const digits = text;
    std::size_t bytes = 0;
    auto const [end, error] = std::from_chars(digits.begin(), digits.end(), bytes);
    if (error == std::errc{} && end == digits.end()) return bytes;
    throw UsageError(variable, fmt::format("\"{}\" is not a number of bytes", text));
}

}  // namespace

Device Device::open(NameArgument selector, DeviceOptions const& options) {
    return detail::in_call("Device::open", [&] {
        detail::require_single_copy_16_bytes();
        if (selector == NameArgument::null_pointer) {
            throw UsageError(
                fmt::format("the selector is a null pointer: use one of {}", Device::selectors()));
        }
        if (options.require_coherent && options.force_non_coherent) {
            throw UsageError("require_coherent and force_non_coherent exclude each other");
        }
        if (options.memory == DeviceMemory::host && options.force_non_coherent) {
            throw UsageError(
                "host memory is always coherent: force_non_coherent cannot be used with it");
        }
        std::string why_emulated;
        DeviceOptions asked_for = options;
        asked_for.stack_bytes = stack_asked_for(options.stack_bytes);
        auto backend = open_backend(selector, asked_for, why_emulated);
        backend->explain_emulated(std::move(why_emulated));
        if (options.force_read_back) backend->set_data_order(DataOrder::read_back);
        if (backend->info().data_order == DataOrder::read_back && !backend->info().coherent) {
            throw UnsupportedError(
                "the device may reorder the CPU's writes, and its memory is not coherent: reading "
                "back cannot order them");
        }
        return Device(std::move(backend));
    });
}

std::vector<DeviceInfo> Device::list() {
    return detail::in_call("Device::list", [] {
        std::vector<DeviceInfo> all;
        try {
            int const count = detail::cuda_device_count();
            for (int i = 0; i < count; ++i) {
                all.push_back(try_describe(fmt::format("cuda:{}", i), false));
            }
        } catch (DeviceNotFoundError const&) {  // a machine without a GPU has the emulated ones
        }
        for (OtherDevice const& each : other_devices) {
            all.push_back(try_describe(each.selector, each.emulated));
        }
        return all;
    });
}

std::string Device::selectors() {
    std::string text = "best, cuda:N, cuda:N:host, N, GPU-<uuid>, current";
    for (OtherDevice const& each : other_devices) text += fmt::format(", {}", each.selector);
    return text;
}

bool Device::names_gpu(NameArgument selector) { return other_device(selector) == nullptr; }

}  // namespace carillon
