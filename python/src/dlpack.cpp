// SPDX-License-Identifier: Apache-2.0
#include "dlpack.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/error.hpp"
#include "py_door.hpp"

namespace carillon::python {
namespace {

struct Place {
    int type = nb::device::cpu::value;
    int number = 0;
    bool operator==(Place const&) const = default;
};

// Bytes of memory as an array.
struct Elements {
    std::size_t offset = 0;  // bytes
    std::vector<std::size_t> shape;
    nb::dlpack::dtype type = nb::dtype<std::uint8_t>();
};

// Page-locked memory, which NumPy and JAX take as such, and PyTorch and CuPy refuse: it is the
// CPU's unless somebody asks.
constexpr Place cuda_host{3, 0};  // kDLCUDAHost

// The selector of a device by its number: a device that was opened as "current" has none in it.
std::string numbered(DeviceInfo const& info) {
    if (info.selector.starts_with("cuda:")) return info.selector;
    for (DeviceInfo const& each : Device::list()) {
        if (each.uuid == info.uuid) return each.selector;
    }
    return "cuda:0";
}

// CUDA's number of a GPU: "cuda:N" and "cuda:N:host" name it.
int ordinal(DeviceInfo const& info) {
    std::string const selector = numbered(info);
    return std::atoi(selector.c_str() + std::string_view("cuda:").size());
}

Place place_of(SharedMemory const& memory) {
    DeviceInfo const& info = memory.device().info();
    if (info.emulated || info.memory_source == MemorySource::host) return {};
    return {nb::device::cuda::value, ordinal(info)};
}

Place asked(SharedMemory const& memory, nb::object const& dl_device) {
    Place const own = place_of(memory);
    if (dl_device.is_none()) return own;
    std::pair<int, int> given;
    if (!nb::try_cast(dl_device, given)) {
        throw nb::buffer_error("__dlpack__: dl_device must be two numbers or None");
    }
    Place const wanted{given.first, given.second};
    bool const page_locked = !memory.device().emulated() && own == Place{};
    // All that the device addresses is mapped into the CPU as well.
    if (wanted != own && wanted != Place{} && !(page_locked && wanted == cuda_host)) {
        auto const shown = [](Place const& place) {
            return '(' + std::to_string(place.type) + ", " + std::to_string(place.number) + ')';
        };
        std::string const why =
            "__dlpack__: dl_device is " + shown(wanted) + ", but the memory is on " + shown(own);
        throw nb::buffer_error(why.c_str());
    }
    return wanted;
}

nb::object capsule(SharedMemory const& memory, Elements const& elements,
                   nb::object const& max_version, nb::object const& dl_device,
                   nb::object const& copy) {
    auto held = std::make_unique<std::shared_ptr<Memory>>(memory.share());
    Memory const& bytes = **held;
    Place const place = asked(memory, dl_device);
    bool const on_device = place.type == nb::device::cuda::value;
    auto* const base = static_cast<std::byte*>(on_device ? bytes.device_ptr() : bytes.host_ptr());
    nb::capsule const owner(held.release(), [](void* pointer) noexcept {
        delete static_cast<std::shared_ptr<Memory>*>(pointer);
    });
    bool const is_empty = std::ranges::find(elements.shape, 0U) != elements.shape.end();
    nb::ndarray<nb::array_api> const array(is_empty ? nullptr : base + elements.offset,
                                           elements.shape.size(), elements.shape.data(), owner,
                                           nullptr, elements.type, place.type, place.number);
    return nb::cast(array, nb::rv_policy::reference)
        .attr("__dlpack__")(nb::arg("max_version") = max_version, nb::arg("copy") = copy);
}

// `code` and `bits`: the elements' type in DLPack's terms.
nb::object elements_capsule(SharedMemory const& memory, std::size_t offset,
                            std::vector<std::size_t> shape, unsigned code, unsigned bits,
                            nb::object const& max_version, nb::object const& dl_device,
                            nb::object const& copy) {
    nb::dlpack::dtype const type{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits),
                                 1};
    return capsule(memory, {offset, std::move(shape), type}, max_version, dl_device, copy);
}

}  // namespace

nb::tuple dlpack_device(SharedMemory const& memory) {
    (void)memory.get();
    Place const place = place_of(memory);
    return nb::make_tuple(place.type, place.number);
}

nb::object dlpack(SharedMemory const& memory, nb::object const& /*stream*/,
                  nb::object const& max_version, nb::object const& dl_device,
                  nb::object const& copy) {
    std::size_t const size = memory.get().size();
    return capsule(memory, {0, {size}}, max_version, dl_device, copy);
}

void bind_dlpack(nb::module_& module) {
    def_function_as(module, "DeviceArray.__dlpack__", "_dlpack", elements_capsule,
                    nb::arg("memory"), nb::arg("offset"), nb::arg("shape"), nb::arg("code"),
                    nb::arg("bits"), nb::arg("max_version").none(), nb::arg("dl_device").none(),
                    nb::arg("copy").none());
}

}  // namespace carillon::python
