// SPDX-License-Identifier: Apache-2.0
// The buffer protocol of classes whose bytes are elsewhere.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <exception>
#include <span>

namespace carillon::python {

enum class ViewAccess { writable, read_only };

// A view of the bytes that `bytes` returns, which keeps `self`; false where there is none, with
// Python's error set. What `bytes` throws becomes a BufferError.
template <class Bytes>
[[nodiscard]] bool fill_view(PyObject* self, Py_buffer* view, int flags, ViewAccess access,
                             Bytes&& bytes) noexcept {
    try {
        auto const there = bytes();
        auto* const first = const_cast<std::byte*>(there.data());
        auto const size = static_cast<Py_ssize_t>(there.size());
        int const read_only = access == ViewAccess::read_only ? 1 : 0;
        return PyBuffer_FillInfo(view, self, first, size, read_only, flags) == 0;
    } catch (std::exception const& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        view->obj = nullptr;
        return false;
    }
}

}  // namespace carillon::python
