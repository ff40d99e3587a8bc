// SPDX-License-Identifier: Apache-2.0
// An argument of a call from Python. nanobind would refuse it with the signature of a function of
// the extension; here the error names the call, the argument and what it may be.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"

namespace carillon::python {

// An argument of a call.
struct Argument {
    char const* name;

    // It says "timeout is None: expected seconds from 0 or math.inf".
    [[noreturn]] void refuse_type(nb::handle given, std::string const& wanted) const;
    [[noreturn]] void refuse_value(nb::handle given, std::string const& wanted) const;
    // Returns UTF-8.
    [[nodiscard]] std::string text(nb::handle given) const;
    // Text, bytes or a path of Python's, in the bytes that the system has.
    [[nodiscard]] std::filesystem::path path(nb::handle given) const;
    // Iterates over its elements; refuses a text, though that has elements, too.
    [[nodiscard]] nb::iterator elements(nb::handle given) const;
};

// Python has refused a value, like a number of another kind or size: this clears what it raised,
// and returns false. Raises anything else, such as what Ctrl-C raises in code of the user's.
bool cleared_refusal();

// The functions below throw ArgumentTypeError and UsageError for `at()`, an Argument.
template <class At>
[[nodiscard]] double seconds_of(nb::handle given, At const& at) {
    double const seconds = PyFloat_AsDouble(given.ptr());
    if (seconds == -1.0 && PyErr_Occurred() != nullptr) {
        cleared_refusal();
        at().refuse_type(given, "seconds or math.inf");
    }
    if (!(seconds >= 0)) at().refuse_value(given, "seconds from 0 or math.inf");
    return seconds;
}

template <std::integral Number, class At>
[[nodiscard]] Number number_of(nb::handle given, At const& at) {
    nb::object const whole = nb::steal(PyNumber_Index(given.ptr()));
    if (!whole.is_valid()) {
        cleared_refusal();
        at().refuse_type(given, "a whole number");
    }
    Number number = 0;
    if (nb::try_cast(whole, number)) return number;
    using Limits = std::numeric_limits<Number>;
    at().refuse_value(given, "a whole number from " + std::to_string(Limits::min()) + " to " +
                                 std::to_string(Limits::max()));
}

template <class At>
[[nodiscard]] bool truth_of(nb::handle given, At const& at) {
    if (given.ptr() != Py_True && given.ptr() != Py_False) {
        at().refuse_type(given, "True or False");
    }
    return given.ptr() == Py_True;
}

// The value is of a class that is bound.
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
inline constexpr bool is_given = std::is_same_v<Value, double> || std::integral<Value> ||
                                 std::is_same_v<Value, std::string> ||
                                 std::is_same_v<Value, std::filesystem::path> ||
                                 (std::is_reference_v<T> && is_bound<Value>);
// The value is None, or one of these.
template <class T, class Value>
inline constexpr bool is_given<T, std::optional<Value>> = is_given<Value>;
template <class T, class Value>
inline constexpr bool is_given<T, std::vector<Value>> = is_given<Value>;

// An argument before it is converted, for a parameter of type `T`.
template <class T>
struct Given {
    nb::handle object;
};

template <class Value>
struct Conversion {
    template <class At>
    static decltype(auto) of(nb::handle given, At const& at) {
        if constexpr (std::is_same_v<Value, double>) {
            return seconds_of(given, at);
        } else if constexpr (std::is_same_v<Value, bool>) {
            return truth_of(given, at);
        } else if constexpr (std::integral<Value>) {
            return number_of<Value>(given, at);
        } else if constexpr (std::is_same_v<Value, std::string>) {
            return at().text(given);
        } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
            return at().path(given);
        } else {
            return object_of<Value>(given, at);
        }
    }
};
template <class Value>
struct Conversion<std::optional<Value>> {
    template <class At>
    static std::optional<Value> of(nb::handle given, At const& at) {
        if (given.is_none()) return {};
        return Conversion<Value>::of(given, at);
    }
};
template <class Value>
struct Conversion<std::vector<Value>> {
    template <class At>
    static std::vector<Value> of(nb::handle given, At const& at) {
        std::vector<Value> all;
        for (nb::handle const each : at().elements(given)) {
            all.push_back(Conversion<Value>::of(each, at));
        }
        return all;
    }
};

template <class T, class At>
decltype(auto) converted(Given<T> given, At const& at) {
    return Conversion<std::remove_cvref_t<T>>::of(given.object, at);
}
template <class T, class At>
T&& converted(T&& other, At const& /*at*/) {
    return std::forward<T>(other);
}

// The type that the stub shows. nanobind's os.PathLike has no type of its own in it.
template <class Value>
constexpr auto name_of_given() {
    using nanobind::detail::const_name;
    constexpr auto path = const_name("str | bytes | os.PathLike[str]");
    if constexpr (std::is_same_v<Value, std::filesystem::path>) {
        return path;
    } else if constexpr (std::is_same_v<Value, std::vector<std::filesystem::path>>) {
        return const_name("collections.abc.Sequence[") + path + const_name("]");
    } else {
        return nanobind::detail::make_caster<Value>::Name;
    }
}

}  // namespace carillon::python

template <class T>
struct nanobind::detail::type_caster<carillon::python::Given<T>> {
    NB_TYPE_CASTER(carillon::python::Given<T>,
                   carillon::python::name_of_given<std::remove_cvref_t<T>>())
    // NOLINTNEXTLINE(readability-identifier-naming): nanobind's name
    bool from_python(handle given, std::uint8_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
        value.object = given;
        return true;
    }
};
