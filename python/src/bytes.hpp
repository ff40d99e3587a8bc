// SPDX-License-Identifier: Apache-2.0
// The bytes of a Python object that has the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <span>

#include "carillon/ring.hpp"

namespace carillon::python {

// Every message of Python's may refer to memory that the program has written: copy_to_device()
// comes before it then, and what tells the two apart would cost more than the fence.
inline constexpr OutOfLine sent = OutOfLine::written;

// They stay where they are while this lives. Made and destroyed with the GIL.
class HeldBytes {
   public:
    enum class Use : bool { read, write };

    // C-contiguous ones. Raises what the object does: BufferError, TypeError.
    HeldBytes(nanobind::handle object, Use use) {
        int const flags = PyBUF_C_CONTIGUOUS | (use == Use::write ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
    }
    HeldBytes(HeldBytes const&) = delete;
    HeldBytes& operator=(HeldBytes const&) = delete;
    ~HeldBytes() { PyBuffer_Release(&view_); }

    [[nodiscard]] std::span<std::byte const> bytes() const { return writable(); }
    [[nodiscard]] std::span<std::byte> writable() const {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

   private:
    Py_buffer view_{};
};

}  // namespace carillon::python
