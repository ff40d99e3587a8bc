// SPDX-License-Identifier: Apache-2.0
#include "given.hpp"

namespace carillon::python {
namespace {

// The text that Python shows of it, shortened if it is long.
std::string shown(nb::handle given) {
    constexpr std::size_t most = 80;
    std::string text = nb::repr(given).c_str();
    if (text.size() > most) text = text.substr(0, most) + "...";
    return text;
}

}  // namespace

bool cleared_refusal() {
    for (PyObject* const kind : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError}) {
        if (PyErr_ExceptionMatches(kind) == 0) continue;
        PyErr_Clear();
        return false;
    }
    throw nb::python_error();
}

void Argument::refuse_type(nb::handle given, std::string const& wanted) const {
    throw ArgumentTypeError(std::string(name) + " is " + shown(given) + ": expected " + wanted);
}
void Argument::refuse_value(nb::handle given, std::string const& wanted) const {
    throw UsageError(std::string(name) + " is " + shown(given) + ": expected " + wanted);
}

std::string Argument::text(nb::handle given) const {
    if (PyUnicode_Check(given.ptr()) == 0) refuse_type(given, "text");
    std::string in_utf8;
    if (!nb::try_cast(given, in_utf8)) refuse_value(given, "text in UTF-8");
    return in_utf8;
}

std::filesystem::path Argument::path(nb::handle given) const {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(given.ptr(), &bytes) != 0) {
        auto const held = nb::steal<nb::bytes>(bytes);
        return std::string(held.c_str(), held.size());
    }
    bool const is_no_path = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
    if (!is_no_path && PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw nb::python_error();
    PyErr_Clear();
    if (is_no_path) refuse_type(given, "a path");
    refuse_value(given, "a path without a byte 0");
}

nb::iterator Argument::elements(nb::handle given) const {
    bool const is_text = PyUnicode_Check(given.ptr()) != 0 || PyBytes_Check(given.ptr()) != 0;
    PyObject* const all = is_text ? nullptr : PyObject_GetIter(given.ptr());
    if (all != nullptr) return nb::steal<nb::iterator>(all);
    if (!is_text && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    refuse_type(given, "a list");
}

}  // namespace carillon::python
