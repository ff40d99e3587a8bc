// SPDX-License-Identifier: Apache-2.0
#include "carillon/client.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace carillon::detail {
namespace {

std::string readable_name(std::type_info const& type) {
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> const name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? name.get() : type.name();
}

}  // namespace

void throw_status(std::string_view call, std::uint32_t status, std::uint32_t code,
                  std::type_info const& command) {
    if (status == static_cast<std::uint32_t>(ReplyStatus::refused)) {
        throw HandlerError(call, readable_name(command), code);
    }
    throw UsageError(call, fmt::format("the kernel knows no command with the opcode of {}",
                                       readable_name(command)));
}

}  // namespace carillon::detail
