// SPDX-License-Identifier: Apache-2.0
// The bytes of a Python object that has the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

#include "carillon/ring.hpp"
#include "errors.hpp"

namespace carillon::python {

// Every message of Python's may refer to memory that the program has written: copy_to_device()
// comes before it then, and what tells the two apart would cost more than the fence.
inline constexpr OutOfLine sent = OutOfLine::written;

// The bytes stay where they are while this lives. It is made and destroyed with the GIL.
class HeldBytes {
   public:
    enum class Use : bool { read, write };

    // Takes C-contiguous bytes. Raises what the object does: BufferError, TypeError; and UsageError
    // for objects of Python's, whose bytes are addresses.
    HeldBytes(nanobind::handle object, Use use) {
        int const flags = PyBUF_C_CONTIGUOUS | (use == Use::write ? PyBUF_WRITABLE : 0);
        bool const is_described =
            PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_FORMAT) == 0;
        if (!is_described) get_undescribed(object, flags);
        if (!(is_described ? has_objects(view_.format) : has_objects(object))) return;
        PyBuffer_Release(&view_);
        throw UsageError("the buffer holds Python objects, not bytes");
    }
    HeldBytes(HeldBytes const&) = delete;
    HeldBytes& operator=(HeldBytes const&) = delete;
    ~HeldBytes() { PyBuffer_Release(&view_); }

    [[nodiscard]] std::span<std::byte const> bytes() const { return writable(); }
    [[nodiscard]] std::span<std::byte> writable() const {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

   private:
    // Gets elements that no format describes, such as NumPy's times.
    void get_undescribed(nanobind::handle object, int flags);
    // `format`: the name that `struct` has for the elements, with a member's name between colons.
    [[nodiscard]] static bool has_objects(char const* format);
    // Asks the dtype.
    [[nodiscard]] static bool has_objects(nanobind::handle object);

    Py_buffer view_{};
};

}  // namespace carillon::python
