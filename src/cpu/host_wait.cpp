// SPDX-License-Identifier: Apache-2.0
#include "carillon/wait.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "carillon/error.hpp"

namespace carillon {
namespace {

constexpr std::array<std::string_view, 5> names{"spin", "pause", "yield", "tpause", "umwait"};

}  // namespace

std::string_view to_string(WaitStyle style) { return names.at(static_cast<std::size_t>(style)); }

std::optional<WaitStyle> wait_style(NameArgument name) {
    auto const* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return {};
    return static_cast<WaitStyle>(found - names.begin());
}

bool supported(WaitStyle style) {
    return !detail::needs_waitpkg(style) || detail::cpu::has_waitpkg();
}

void detail::throw_no_waitpkg(WaitStyle style) {
    throw UnsupportedError("this CPU lacks WAITPKG, which the style " +
                           std::string(to_string(style)) + " needs");
}

}  // namespace carillon
