// SPDX-License-Identifier: Apache-2.0
// The door of every call of the extension: an error behind it names the call as its caller in
// Python writes it.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "bindings.hpp"
#include "carillon/error.hpp"
#include "errors.hpp"
#include "given.hpp"

namespace carillon::python {

template <std::size_t arguments>
struct CallNames {
    char const* owner;  // nullptr: a function of the module
    char const* method;
    std::array<char const*, arguments> argument;

    [[nodiscard]] std::string call() const {
        return owner == nullptr ? method : std::string(owner) + method;
    }
    [[nodiscard]] auto at(std::size_t index) const {
        return [this, index] { return Argument{argument[index]}; };
    }
    // Refuses arguments that are for no such call.
    [[noreturn]] void refuse(nb::kwargs const& named) const {
        std::string all;
        for (char const* const each : argument)
            all += (all.empty() ? "" : ", ") + std::string(each);
        for (auto const& [name, value] : named) {
            std::string const given = nb::str(name).c_str();
            if (std::ranges::find(argument, given) != argument.end()) continue;
            throw ArgumentTypeError("there is no argument \"" + given + "\": expected " + all);
        }
        throw ArgumentTypeError("too few or too many arguments: expected " + all);
    }
};

// A call that is known while it is made.
struct CallName {
    std::string name;
    [[nodiscard]] std::string const& call() const { return name; }
};

// The types of a function's return value and parameters.
template <class Return, class... Parameter>
struct Signature {};

template <class Return, class... P>
Signature<Return, P...> signature_of(Return (*)(P...));
template <class T, class Return, class... P>
Signature<Return, T&, P...> signature_of(Return (T::*)(P...));
template <class T, class Return, class... P>
Signature<Return, T const&, P...> signature_of(Return (T::*)(P...) const);
template <class T, class Return, class... P>
Signature<Return, T const&, P...> signature_of(Return (T::*)(P...) const noexcept);
template <class T, class Return, class... P>
Signature<Return, P...> signature_of_lambda(Return (T::*)(P...) const);
template <class Lambda>
requires std::is_class_v<Lambda>
auto signature_of(Lambda const&) -> decltype(signature_of_lambda(&Lambda::operator()));

template <class T>
using Passed = std::conditional_t<is_given<T>, Given<T>, T>;

// Returns what `body` returns. An error of this library becomes Python's, in the name of the call.
template <class Names, class Body>
decltype(auto) behind_door(Names const& names, Body const& body) {
    try {
        return body();
    } catch (Error& error) {
        set_python_error(error, names.call());
        throw nb::python_error();
    } catch (nb::python_error const& raised) {
        name_call(raised, names.call());
        throw;
    }
}

// `function` behind its door. Nothing is converted of the first `own` parameters.
template <std::size_t own, class Function, std::size_t arguments, class Return, class... P>
auto with_door(CallNames<arguments> const& names, Function function,
               Signature<Return, P...> /*of*/) {
    return [&]<std::size_t... i>(std::index_sequence<i...> /*all*/) {
        return [names, function](std::conditional_t<(i < own), P, Passed<P>>... given) -> Return {
            return behind_door(names, [&]() -> Return {
                return std::invoke(function, converted(std::forward<decltype(given)>(given),
                                                       names.at(i < own ? 0 : i - own))...);
            });
        };
    }
    (std::index_sequence_for<P...>());
}

// Whether None reaches the doors, which refuse it. Not where the stub is made: nanobind would write
// that each argument may be None.
inline bool none_comes_in = true;

template <class Extra>
[[nodiscard]] Extra let_none_in(Extra extra) {
    if constexpr (std::is_base_of_v<nb::arg, Extra>) extra.none_ = extra.none_ || none_comes_in;
    return extra;
}

// The names of the arguments among the extras that nanobind gets for a function.
template <class... Extra>
[[nodiscard]] auto names_of(char const* owner, char const* method, Extra const&... extra) {
    constexpr std::size_t count = (std::is_base_of_v<nb::arg, Extra> + ... + 0);
    CallNames<count == 0 ? 1 : count> names{owner, method, {"the argument"}};
    std::size_t next = 0;
    [[maybe_unused]] auto const add = [&](auto const& each) {
        if constexpr (std::is_base_of_v<nb::arg, std::remove_cvref_t<decltype(each)>>) {
            names.argument[next++] = each.name_;
        }
    };
    (add(extra), ...);
    return names;
}

// Binds what `bound` has, each call behind its door. `name`: the class that the caller knows, and
// a dot.
template <class T>
class Doors {
   public:
    Doors(nb::class_<T>& bound, char const* name) : bound_(bound), name_(name) {}

    template <class F, class... Extra>
    Doors& def(char const* method, F function, Extra const&... extra) {
        return def_as(method, method, function, extra...);
    }
    // Binds a function whose caller calls a method of another name.
    template <class F, class... Extra>
    Doors& def_as(char const* shown, char const* method, F function, Extra const&... extra) {
        auto const names = names_of(name_, shown, extra...);
        bound_.def(method, with_door<1>(names, function, decltype(signature_of(function))()),
                   let_none_in(extra)...);
        return *this;
    }
    // Binds one of several functions that the types of their arguments tell apart.
    template <class F, class... Extra>
    Doors& def_overload(char const* method, F function, Extra const&... extra) {
        auto const names = names_of(name_, method, extra...);
        bound_.def(method, with_door<99>(names, function, decltype(signature_of(function))()),
                   let_none_in(extra)...);
        return *this;
    }
    // Binds the last of them, which says what is wrong with arguments that the others do not take.
    template <class F, class... Extra>
    Doors& def_last_overload(char const* method, F function, Extra const&... extra) {
        return none_comes_in ? def_overload(method, function, extra...) : *this;
    }
    // Binds the constructor, which makes the object where its first argument points.
    template <class F, class... Extra>
    Doors& def_init(char const* call, F function, Extra const&... extra) {
        auto const names = names_of(nullptr, call, extra...);
        bound_.def("__init__", with_door<1>(names, function, decltype(signature_of(function))()),
                   let_none_in(extra)...);
        if (none_comes_in) {
            auto const refuse = [names](nb::handle, nb::args const&, nb::kwargs const& named) {
                behind_door(names, [&] { names.refuse(named); });
            };
            bound_.def("__init__", refuse);
        }
        return *this;
    }
    // Binds the constructor, which returns the object.
    template <class F, class... Extra>
    Doors& def_new(char const* call, F function, Extra const&... extra) {
        auto const names = names_of(nullptr, call, extra...);
        bound_.def(nb::new_(with_door<0>(names, function, decltype(signature_of(function))())),
                   let_none_in(extra)...);
        return *this;
    }
    // `call`: a call of another class that makes this one's object.
    template <class F, class... Extra>
    Doors& def_static(char const* call, char const* method, F function, Extra const&... extra) {
        auto const names = names_of(nullptr, call, extra...);
        bound_.def_static(method, with_door<0>(names, function, decltype(signature_of(function))()),
                          let_none_in(extra)...);
        if (none_comes_in) {
            bound_.def_static(method, [names](nb::args const&, nb::kwargs const& named) {
                behind_door(names, [&] { names.refuse(named); });
            });
        }
        return *this;
    }
    template <class F, class... Extra>
    Doors& def_prop_ro(char const* property, F function, Extra const&... extra) {
        auto const names = names_of(name_, property);
        bound_.def_prop_ro(property,
                           with_door<1>(names, function, decltype(signature_of(function))()),
                           let_none_in(extra)...);
        return *this;
    }

   private:
    nb::class_<T>& bound_;
    char const* name_;
};

// Binds a function that the caller calls as `shown`.
template <class F, class... Extra>
void def_function_as(nb::module_& module, char const* shown, char const* name, F function,
                     Extra const&... extra) {
    auto const names = names_of(nullptr, shown, extra...);
    module.def(name, with_door<0>(names, function, decltype(signature_of(function))()),
               let_none_in(extra)...);
}
template <class F, class... Extra>
void def_function(nb::module_& module, char const* name, F function, Extra const&... extra) {
    def_function_as(module, name, name, function, extra...);
}

}  // namespace carillon::python
