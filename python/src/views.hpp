// SPDX-License-Identifier: Apache-2.0
// The buffer protocol of classes whose bytes are elsewhere.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "carillon/error.hpp"

namespace carillon::python {

enum class ViewAccess { writable, read_only };

// Fills `view` with the bytes of `self` that `bytes` returns, behind the object that keeps them.
// Returns false if there are none, with Python's error set. An exception of `bytes` becomes a
// BufferError of `call`.
template <class Bytes>
[[nodiscard]] bool fill_view(PyObject* self, Py_buffer* view, int flags, ViewAccess access,
                             std::string const& call, Bytes&& bytes) noexcept {
    view->obj = nullptr;
    try {
        if (!nanobind::inst_ready(self)) throw UsageError("the object was not fully constructed");
        auto const [keeper, there] = bytes();
        auto* const first = const_cast<std::byte*>(there.data());
        auto const size = static_cast<Py_ssize_t>(there.size());
        int const read_only = access == ViewAccess::read_only ? 1 : 0;
        return PyBuffer_FillInfo(view, keeper.ptr(), first, size, read_only, flags) == 0;
    } catch (nanobind::python_error& error) {
        error.restore();
    } catch (Error const& error) {
        PyErr_SetString(PyExc_BufferError, (call + ": " + std::string(error.cause())).c_str());
    } catch (std::exception const& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    }
    return false;
}

// A writable view keeps this in place of the object whose bytes it shows. It counts views, and
// arrays that were made from a view and keep nothing else.
class OpenView {
   public:
    // `views`: of `owner`.
    OpenView(nanobind::handle owner, unsigned& views)
        : owner_(nanobind::borrow(owner)), views_(&views) {
        ++views;
    }
    OpenView(OpenView&& other) noexcept
        : owner_(std::move(other.owner_)), views_(std::exchange(other.views_, nullptr)) {}
    OpenView(OpenView const&) = delete;
    OpenView& operator=(OpenView const&) = delete;
    OpenView& operator=(OpenView&&) = delete;
    ~OpenView() {
        if (views_ != nullptr) --*views_;
    }

   private:
    nanobind::object owner_;
    unsigned* views_;
};

// fill_view() for bytes that nobody may write later: `Owner` counts `views`. Throws UsageError for
// numpy.ndarray(buffer=...), which releases the view at once and keeps address and object.
template <class Owner, class Bytes>
[[nodiscard]] bool fill_open_view(PyObject* self, Py_buffer* view, int flags, char const* call,
                                  Bytes&& bytes) noexcept {
    return fill_view(self, view, flags, ViewAccess::writable, call, [&] {
        auto& owner = *nanobind::inst_ptr<Owner>(self);
        std::span<std::byte> const there = bytes(owner);
        if ((flags & ~PyBUF_WRITABLE) == PyBUF_ANY_CONTIGUOUS) {
            throw UsageError(
                "this request keeps the address without a view, as numpy.ndarray(buffer=...) does: "
                "pass memoryview(...) or use numpy.asarray(...)");
        }
        return std::pair(nanobind::cast(OpenView(self, owner.views)), there);
    });
}

// For Py_bf_releasebuffer beside it: numpy.frombuffer() keeps a view only of what has one.
inline void release_open_view(PyObject* /*self*/, Py_buffer* /*view*/) noexcept {}

}  // namespace carillon::python
