// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/message_types.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

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

std::uint64_t members_hash(std::string_view names, std::size_t bytes,
                           std::initializer_list<NamedMember> members) {
    std::uint64_t hash = hash_of(names, bytes);
    for (NamedMember const& each : members) {
        hash = hash_of(each.type, 31 * hash + (each.place << 32U) + each.bytes);
    }
    return hash == 0 ? 1 : hash;
}

}  // namespace carillon::detail
