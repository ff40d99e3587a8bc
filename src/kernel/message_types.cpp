// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/message_types.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "carillon/client.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

std::string type_name(char const* mangled) {
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> const name(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
    return status == 0 ? name.get() : mangled;
}

std::uint64_t hash_of(std::string_view text, std::uint64_t number) {
    constexpr std::uint64_t prime = 0x100000001b3U;
    std::uint64_t hash = 0xcbf29ce484222325U;
    auto const add = [&](unsigned char byte) { hash = (hash ^ byte) * prime; };
    for (char const c : text) add(static_cast<unsigned char>(c));
    for (unsigned i = 0; i < sizeof(number); ++i) {
        add(static_cast<unsigned char>(number >> (8 * i)));
    }
    return hash;
}

bool comes_with_compiler(std::string_view mangled) {
    for (std::string_view const space : {"St", "NSt", "N4cuda3std"}) {
        if (mangled.starts_with(space)) return true;
    }
    std::string_view const name =
        mangled.substr(std::min(mangled.find_first_not_of("0123456789"), mangled.size()));
    if (name.starts_with("__") || name == "dim3") return true;
    // CUDA's vectors: "uchar4", "double4_16a".
    constexpr std::array<std::string_view, 12> elements{"char",     "uchar",     "short", "ushort",
                                                        "int",      "uint",      "long",  "ulong",
                                                        "longlong", "ulonglong", "float", "double"};
    constexpr std::array<std::string_view, 6> counts{"1", "2", "3", "4", "4_16a", "4_32a"};
    std::size_t const digit = std::min(name.find_first_of("1234"), name.size());
    return std::ranges::find(elements, name.substr(0, digit)) != elements.end() &&
           std::ranges::find(counts, name.substr(digit)) != counts.end();
}

namespace {

// Whether they fill a type: gaps between them are smaller than its alignment.
bool all_named(std::size_t bytes, std::size_t alignment, std::vector<NamedMember> members) {
    std::ranges::sort(members, {}, &NamedMember::place);
    std::uint64_t end = 0;
    for (NamedMember const& each : members) {
        if (each.place >= end + alignment) return false;
        end = std::max(end, each.place + each.bytes);
    }
    return bytes < end + alignment;
}

}  // namespace

std::uint64_t members_hash(std::string_view names, std::size_t bytes, std::size_t alignment,
                           std::initializer_list<NamedMember> members) {
    std::uint64_t hash = hash_of(names, bytes);
    std::uint64_t within = no_members;
    for (NamedMember const& each : members) {
        hash = hash_of(each.type, 31 * hash + (each.place << 32U) + each.bytes);
        within = add_members(within, each.members);
    }
    if (within == unsaid_members || !all_named(bytes, alignment, members)) return unsaid_members;
    if (within != no_members) hash = 31 * hash + within;
    return std::max(hash, no_members + 1);
}

void throw_status(std::uint32_t status, std::uint32_t code, char const* command) {
    if (status == static_cast<std::uint32_t>(ReplyStatus::refused)) {
        throw HandlerError(type_name(command), code);
    }
    throw UsageError(
        fmt::format("the kernel has no command with the opcode of {}", type_name(command)));
}

}  // namespace carillon::detail
