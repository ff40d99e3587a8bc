// SPDX-License-Identifier: Apache-2.0
// What a caller in Python gives for an argument. nanobind would refuse it with the signature of a
// function of the extension; here the error names the call, the argument and what it may be.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings.hpp"
#include "errors.hpp"

namespace carillon::python {

// A call, as its caller writes it, and one of its arguments.
struct Argument {
    std::string call;
    char const* name;

    // "timeout is None: seconds from 0 on, or math.inf".
    [[noreturn]] void refuse_type(nb::handle given, std::string const& wanted) const;
    [[noreturn]] void refuse_value(nb::handle given, std::string const& wanted) const;
};

// Those below throw ArgumentTypeError and UsageError in the name of `at()`, an Argument.
template <class At>
[[nodiscard]] double seconds_of(nb::handle given, At const& at) {
    double const seconds = PyFloat_AsDouble(given.ptr());
    if (seconds == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        at().refuse_type(given, "seconds, or math.inf");
    }
    if (!(seconds >= 0)) at().refuse_value(given, "seconds from 0 on, or math.inf");
    return seconds;
}

template <std::unsigned_integral Number, class At>
[[nodiscard]] Number number_of(nb::handle given, At const& at) {
    nb::object const whole = nb::steal(PyNumber_Index(given.ptr()));
    if (!whole.is_valid()) {
        PyErr_Clear();
        at().refuse_type(given, "a whole number");
    }
    unsigned long long const number = PyLong_AsUnsignedLongLong(whole.ptr());
    bool const too_large = number == ~0ULL && PyErr_Occurred() != nullptr;
    if (too_large) PyErr_Clear();
    if (too_large || !std::in_range<Number>(number)) {
        at().refuse_value(given, "a whole number from 0 to " + std::to_string(Number(~Number{0})));
    }
    return static_cast<Number>(number);
}

template <class At>
[[nodiscard]] bool truth_of(nb::handle given, At const& at) {
    if (given.ptr() != Py_True && given.ptr() != Py_False) {
        at().refuse_type(given, "True or False");
    }
    return given.ptr() == Py_True;
}

template <class At>
[[nodiscard]] std::string text_of(nb::handle given, At const& at) {
    if (PyUnicode_Check(given.ptr()) == 0) at().refuse_type(given, "text");
    return nb::cast<std::string>(given);
}

// Of a class that is bound.
template <class T, class At>
[[nodiscard]] T& object_of(nb::handle given, At const& at) {
    T* object = nullptr;
    if (!nb::try_cast(given, object) || object == nullptr) {
        at().refuse_type(given, "a " + nb::cast<std::string>(nb::type<T>().attr("__name__")));
    }
    return *object;
}

template <class T>
inline constexpr bool is_bound =
    nb::detail::is_base_caster_v<nb::detail::make_caster<T>> && !std::is_base_of_v<nb::handle, T>;
// Whether a parameter is converted here, and not by nanobind.
template <class T, class Value = std::remove_cvref_t<T>>
inline constexpr bool is_given = std::is_same_v<Value, double> || std::unsigned_integral<Value> ||
                                 std::is_same_v<Value, std::string> ||
                                 (std::is_reference_v<T> && is_bound<Value>);

// An argument before it is converted, for a parameter of type `T`.
template <class T>
struct Given {
    nb::handle object;
};

template <class T, class At>
decltype(auto) converted(Given<T> given, At const& at) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Value, double>) {
        return seconds_of(given.object, at);
    } else if constexpr (std::is_same_v<Value, bool>) {
        return truth_of(given.object, at);
    } else if constexpr (std::unsigned_integral<Value>) {
        return number_of<Value>(given.object, at);
    } else if constexpr (std::is_same_v<Value, std::string>) {
        return text_of(given.object, at);
    } else {
        return object_of<Value>(given.object, at);
    }
}
template <class T, class At>
T&& converted(T&& other, At const& /*at*/) {
    return std::forward<T>(other);
}

}  // namespace carillon::python

template <class T>
struct nanobind::detail::type_caster<carillon::python::Given<T>> {
    NB_TYPE_CASTER(carillon::python::Given<T>, make_caster<std::remove_cvref_t<T>>::Name)
    // NOLINTNEXTLINE(readability-identifier-naming): nanobind's name
    bool from_python(handle given, std::uint8_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
        value.object = given;
        return true;
    }
};
