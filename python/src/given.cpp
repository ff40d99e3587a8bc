// SPDX-License-Identifier: Apache-2.0
#include "given.hpp"

namespace carillon::python {
namespace {

// As Python shows it; shortened where that is long.
std::string shown(nb::handle given) {
    constexpr std::size_t most = 80;
    std::string text = nb::repr(given).c_str();
    if (text.size() > most) text = text.substr(0, most) + "...";
    return text;
}

}  // namespace

void Argument::refuse_type(nb::handle given, std::string const& wanted) const {
    throw ArgumentTypeError(call, std::string(name) + " is " + shown(given) + ": " + wanted);
}
void Argument::refuse_value(nb::handle given, std::string const& wanted) const {
    throw UsageError(call, std::string(name) + " is " + shown(given) + ": " + wanted);
}

}  // namespace carillon::python
