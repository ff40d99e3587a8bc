// SPDX-License-Identifier: Apache-2.0
// The text that print() shows of an object.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "bindings.hpp"

namespace carillon::python {

// It is "<carillon.Buffer id=3 name='prices' size=4096>", with `members` that are properties.
template <class T>
void show(nb::class_<T>& bound, std::initializer_list<char const*> members) {
    bound.def(
        "__repr__",
        [members = std::vector<char const*>(members)](nb::handle self) {
            auto const name = nb::cast<std::string>(self.type().attr("__name__"));
            std::string text = "<carillon." + name;
            try {
                for (char const* each : members) {
                    text += std::string(" ") + each + "=" + nb::repr(self.attr(each)).c_str();
                }
            } catch (nb::python_error const& error) {  // it was closed, or sealed
                return "<carillon." + name + ": " + nb::str(error.value()).c_str() + ">";
            }
            return text + ">";
        },
        nb::sig("def __repr__(self) -> str"));
}

}  // namespace carillon::python
