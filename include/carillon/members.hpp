// SPDX-License-Identifier: Apache-2.0
// What a type that goes between processes consists of, said by whoever writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <typeinfo>
#if !defined(__cpp_rtti)
#include <cxxabi.h>
#endif

#include "carillon/detail/wire/language.hpp"

// Within a struct, behind its members, of which it names all, in any order:
//
//     struct Tick {
//         double bid;
//         double ask;
//         CARILLON_MEMBERS(bid, ask)
//     };
//
// Two programs that exchange messages of one name and size find then that they mean other things by
// them (RefusalReason::wrong_types): the names of the members, their types and places are compared,
// where both programs say them. No bit fields, and no references. It adds nothing to the struct but
// a function of the host's.
#define CARILLON_MEMBERS(...)                                                                    \
    [[nodiscard]] std::uint64_t carillon_members() const {                                       \
        return ::carillon::detail::members_hash(this, sizeof(*this), #__VA_ARGS__, __VA_ARGS__); \
    }

namespace carillon::detail {

// The name of a type as a linker has it.
template <class T>
[[nodiscard]] char const* mangled_name() {
#if defined(__cpp_rtti)
    return typeid(T).name();
#else  // the type of what is thrown is known all the same; the name of a pointer is P and T's
    try {
        // NOLINTNEXTLINE(misc-throw-by-value-catch-by-reference): nobody else catches it
        throw static_cast<T*>(nullptr);
    } catch (...) {
        return abi::__cxa_current_exception_type()->name() + 1;
    }
#endif
}

// FNV-1a, 64 bits.
[[nodiscard]] std::uint64_t hash_of(std::string_view text, std::uint64_t number);

// Of the members of the object at `whole`, of `bytes` bytes; never 0.
template <class... Member>
[[nodiscard]] std::uint64_t members_hash(void const* whole, std::size_t bytes,
                                         std::string_view names, Member const&... members) {
    std::uint64_t hash = hash_of(names, bytes);
    auto const add = [&](char const* type, void const* at, std::size_t size) {
        auto const place = static_cast<std::uint64_t>(static_cast<std::byte const*>(at) -
                                                      static_cast<std::byte const*>(whole));
        hash = hash_of(type, 31 * hash + (place << 32U) + size);
    };
    (add(mangled_name<Member>(), __builtin_addressof(members), sizeof(Member)), ...);
    return hash == 0 ? 1 : hash;
}

}  // namespace carillon::detail
