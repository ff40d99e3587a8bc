// SPDX-License-Identifier: Apache-2.0
#include "held_bytes.hpp"

namespace carillon::python {

void HeldBytes::get_undescribed(nanobind::handle object, int flags) {
    bool const may_be = PyErr_ExceptionMatches(PyExc_ValueError) != 0 ||
                        PyErr_ExceptionMatches(PyExc_BufferError) != 0;
    if (!may_be) throw nanobind::python_error();
    PyErr_Clear();
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
}

bool HeldBytes::has_objects(char const* format) {
    bool is_name = false;
    for (char const* at = format; at != nullptr && *at != '\0'; ++at) {
        if (*at == ':') is_name = !is_name;
        if (*at == 'O' && !is_name) return true;
    }
    return false;
}

bool HeldBytes::has_objects(nanobind::handle object) {
    nanobind::object const dtype = nanobind::getattr(object, "dtype", nanobind::none());
    nanobind::object const found = nanobind::getattr(dtype, "hasobject", nanobind::bool_(false));
    return found.ptr() == Py_True;
}

}  // namespace carillon::python
