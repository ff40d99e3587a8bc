// SPDX-License-Identifier: Apache-2.0
#include "py_memory.hpp"

#include <string>
#include <utility>

#include "bindings.hpp"
#include "carillon/copy.hpp"
#include "carillon/error.hpp"
#include "dlpack.hpp"
#include "gil.hpp"
#include "held_bytes.hpp"
#include "py_door.hpp"
#include "views.hpp"

namespace carillon::python {
namespace {

// A driver may take long to free memory.
void let_go(Memory* memory) {
    OthersRun const others_run;
    delete memory;
}

// The buffer protocol: a view has the memory until Python releases it.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
    constexpr char const* call = "Memory.__buffer__";
    std::shared_ptr<Memory> memory;
    auto const bytes = [&] {
        auto& shared = *nb::inst_ptr<SharedMemory>(self);
        memory = shared.share();
        auto* const first = static_cast<std::byte*>(memory->host_ptr());
        // numpy.ndarray(buffer=...) releases its view at once and keeps the address.
        (void)shared.lend();
        return std::pair(nb::handle(self), std::span(first, memory->size()));
    };
    if (!fill_view(self, view, flags, ViewAccess::writable, call, bytes)) return -1;
    view->internal = new std::shared_ptr<Memory>(std::move(memory));
    return 0;
}
void release_buffer(PyObject* /*self*/, Py_buffer* view) noexcept {
    delete static_cast<std::shared_ptr<Memory>*>(view->internal);
}

PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

// The base of our arrays: a program that has its address has the memory, so views are counted.
struct CountedView {
    std::shared_ptr<Memory> memory;
};

CountedView counted_view(SharedMemory const& self) { return {self.share()}; }

int get_counted_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
    auto const bytes = [&] {
        Memory const& memory = *nb::inst_ptr<CountedView>(self)->memory;
        auto* const first = static_cast<std::byte*>(memory.host_ptr());
        return std::pair(nb::handle(self), std::span(first, memory.size()));
    };
    return fill_view(self, view, flags, ViewAccess::writable, "Memory.array", bytes) ? 0 : -1;
}

PyType_Slot counted_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_counted_buffer)},
    {0, nullptr},
};

// Both array interfaces say this of `size` bytes at `address`.
nb::dict array_interface(void const* address, std::size_t size) {
    nb::dict said;
    said["shape"] = nb::make_tuple(size);
    said["typestr"] = "|u1";
    said["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(address), false);
    said["strides"] = nb::none();
    said["version"] = 3;
    return said;
}

nb::dict host_interface(SharedMemory& self) {
    Memory const& memory = self.lend();
    return array_interface(memory.host_ptr(), memory.size());
}
// stream None: what the CPU has written and flushed needs no stream to be waited for.
nb::dict device_interface(SharedMemory& self) {
    Memory const& memory = self.lend();
    nb::dict said = array_interface(memory.device_ptr(), memory.size());
    said["stream"] = nb::none();
    return said;
}
nb::dict cuda_interface(SharedMemory& self) {
    if (self.device().emulated()) {
        throw nb::attribute_error(
            "__cuda_array_interface__: the memory belongs to the emulated device, not to CUDA");
    }
    return device_interface(self);
}

std::uintptr_t host_address(SharedMemory const& self) {
    return reinterpret_cast<std::uintptr_t>(self.get().host_ptr());
}
std::uintptr_t device_address(SharedMemory const& self) {
    return reinterpret_cast<std::uintptr_t>(self.get().device_ptr());
}
// `size` bytes, or those to the end. Throws UsageError for what is no size.
std::size_t to_the_end(Memory const& memory, std::size_t offset, nb::object const& size) {
    if (size.is_none()) return offset <= memory.size() ? memory.size() - offset : 0;
    std::size_t bytes = 0;
    if (nb::try_cast(size, bytes)) return bytes;
    throw UsageError(std::string("a size must be a number from 0 or None, not ") +
                     nb::repr(size).c_str());
}
void flush(SharedMemory const& self, std::size_t offset, nb::object const& size) {
    Memory const& memory = self.get();
    memory.flush(offset, to_the_end(memory, offset, size));
}
void invalidate(SharedMemory const& self, std::size_t offset, nb::object const& size) {
    Memory const& memory = self.get();
    memory.invalidate(offset, to_the_end(memory, offset, size));
}

// An array of NumPy's over the mapped memory.
nb::object array(SharedMemory const& self, nb::object const& dtype, nb::object const& shape,
                 std::size_t offset) {
    auto const codec = nb::module_::import_("carillon._codec");
    return codec.attr("array_over")("Memory.array", counted_view(self), dtype, shape, offset);
}

std::string memory_shown(SharedMemory const& self) {
    if (self.freed()) return "<carillon.Memory, freed>";
    return "<carillon.Memory of " + std::to_string(self.get().size()) + " bytes on " +
           self.device().info().selector + ">";
}

void to_device(SharedMemory const& to, nb::handle data, std::size_t offset) {
    auto const memory = to.share();  // a view for as long as the copy takes
    HeldBytes const from(data, HeldBytes::Use::read);
    OthersRun const others_run;
    copy_to_device(*memory, offset, from.bytes());
}
void from_device(nb::handle out, SharedMemory const& from, std::size_t offset) {
    auto const memory = from.share();
    HeldBytes const to(out, HeldBytes::Use::write);
    OthersRun const others_run;
    copy_from_device(to.writable(), *memory, offset);
}

void copy_by_lines(nb::handle dest, nb::handle src) {
    HeldBytes const to(dest, HeldBytes::Use::write);
    HeldBytes const from(src, HeldBytes::Use::read);
    if (to.bytes().size() != from.bytes().size()) {
        throw UsageError("dest and src have different sizes: " + std::to_string(to.bytes().size()) +
                         " and " + std::to_string(from.bytes().size()) + " bytes");
    }
    OthersRun const others_run;
    stream_copy(best_copy_stores(), to.writable().data(), from.bytes().data(), to.bytes().size());
    store_fence();
}

void bind_copies(nb::module_& module) {
    def_function(module, "copy_to_device", to_device, nb::arg("memory"), nb::arg("data"),
                 nb::arg("offset") = 0,
                 "Copies the bytes of `data`, a C-contiguous buffer such as a NumPy array, into "
                 "`memory`\nfrom byte `offset` on, by whole lines.\n\nRaises UsageError for a "
                 "range outside the memory, BufferError.");
    def_function(
        module, "copy_from_device", from_device, nb::arg("out"), nb::arg("memory"),
        nb::arg("offset") = 0,
        "Fills `out`, a writable C-contiguous buffer such as a NumPy array, from `memory`, "
        "byte\n`offset` on. Raises UsageError for a range outside the memory, BufferError.");
    def_function(module, "stream_copy", copy_by_lines, nb::arg("dest"), nb::arg("src"),
                 "Copies the bytes of a C-contiguous buffer into another buffer of the same size, "
                 "by whole\nlines: copy_to_device() for a view of a memory.\n\nRaises UsageError, "
                 "which is a ValueError, for different sizes, BufferError.");
}

void bind_properties(nb::class_<SharedMemory>& memory) {
    Doors(memory, "Memory.")
        .def_prop_ro(
            "size", [](SharedMemory const& self) { return self.get().size(); }, "Bytes.")
        .def("__len__", [](SharedMemory const& self) { return self.get().size(); })
        .def_prop_ro(
            "coherent", [](SharedMemory const& self) { return self.get().coherent(); },
            "Whether flush() and invalidate() need no driver call.")
        .def_prop_ro(
            "atom_size", [](SharedMemory const& self) { return self.get().atom_size(); },
            "Bytes; flush() and invalidate() widen their ranges to multiples of it.")
        .def_prop_ro("host_ptr", host_address, "The address for the CPU.")
        .def_prop_ro("device_ptr", device_address, "The address for the device.")
        .def_prop_ro("device", &SharedMemory::device, nb::rv_policy::copy,
                     "The device that allocated it.")
        .def_prop_ro("freed", &SharedMemory::freed, "Whether free() was called.")
        .def_prop_ro("views", &SharedMemory::views,
                     "The number of views that keep it; free() requires 0.")
        .def("__repr__", memory_shown);
}

void bind_interfaces(nb::class_<SharedMemory>& memory) {
    Doors(memory, "Memory.")
        .def_prop_ro("__array_interface__", host_interface,
                     nb::sig("def __array_interface__(self) -> dict[str, object]"))
        .def_prop_ro("__cuda_array_interface__", cuda_interface,
                     nb::sig("def __cuda_array_interface__(self) -> dict[str, object]"))
        .def("__dlpack__", dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
             nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
             nb::arg("copy").none() = nb::none(),
             nb::sig("def __dlpack__(self, *, stream: object | None = None, max_version: object | "
                     "None = None, dl_device: object | None = None, copy: object | None = None) -> "
                     "typing.Any"))
        .def("__dlpack_device__", dlpack_device,
             nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

}  // namespace

SharedMemory::SharedMemory(Device device, Memory memory)
    : device_(std::move(device)), memory_(new Memory(std::move(memory)), let_go) {}

std::shared_ptr<Memory> const& SharedMemory::share() const {
    if (freed_) throw UsageError("the memory was freed");
    return memory_;
}

Memory const& SharedMemory::lend() {
    Memory const& memory = get();
    lent_ = true;
    return memory;
}

void SharedMemory::free() {
    if (freed_) return;
    if (views() > 0) {
        throw UsageError("the memory still has " + std::to_string(views()) +
                         (views() == 1 ? " view" : " views") + ": delete them first");
    }
    freed_ = true;
    if (!lent_) memory_.reset();
}

void bind_memory(nb::module_& module) {
    nb::class_<SharedMemory> memory(
        module, "Memory", nb::type_slots(buffer_slots),
        "Memory that the CPU and the device both address. Device.allocate() makes it.\n\n"
        "It has the buffer protocol and __array_interface__ for the CPU's mapping (NumPy), and\n"
        "__cuda_array_interface__ and DLPack for the device's (CuPy, PyTorch, Numba, JAX): nothing "
        "is\n"
        "copied. Views keep it. The CPU's mapping of a GPU's memory is write-combining: write "
        "whole\n"
        "lines, then flush(); reading it is slow, copy_from_device() less so.");
    bind_properties(memory);
    bind_interfaces(memory);
    Doors(memory, "Memory.")
        .def("array", array, nb::arg("dtype") = "u1", nb::arg("shape").none() = nb::none(),
             nb::arg("offset") = 0,
             nb::sig("def array(self, dtype: numpy.typing.DTypeLike = 'u1', shape: "
                     "collections.abc.Sequence[int] | int | None = None, offset: int = 0) -> "
                     "numpy.typing.NDArray[typing.Any]"),
             "A NumPy array over the CPU's mapping, from byte `offset` on; without a shape, over "
             "all\nof it. Raises UsageError for freed memory and for an invalid shape, ValueError "
             "if the\narray does not fit.")
        .def("flush", flush, nb::arg("offset") = 0, nb::arg("size").none() = nb::none(),
             "Makes the CPU's writes to `size` bytes from byte `offset` on visible to the device; "
             "None: all\nbytes to the end.\n\nRaises UsageError for a range outside the memory, "
             "VulkanError.")
        .def("invalidate", invalidate, nb::arg("offset") = 0, nb::arg("size").none() = nb::none(),
             "Makes the device's writes to these bytes visible to the CPU. Raises as flush().")
        .def("free", &SharedMemory::free,
             "Frees the memory now. Raises UsageError while views of it live. Views not made "
             "by\narray(), DeviceArray or DLPack cannot all be counted; with one of those, the "
             "memory\nstays until this object is deleted.");
    nb::class_<CountedView> view(module, "_MemoryView", nb::type_slots(counted_slots));
    Doors(view, "DeviceArray.").def_static("DeviceArray", "_of", counted_view, nb::arg("memory"));
    bind_copies(module);
    def_function_as(module, "Memory.__cuda_array_interface__", "_device_interface",
                    device_interface, nb::arg("memory"),
                    nb::sig("def _device_interface(memory: Memory) -> dict[str, object]"));
}

}  // namespace carillon::python
