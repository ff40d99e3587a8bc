// SPDX-License-Identifier: Apache-2.0
// CARILLON_MEMBERS: declares the members of types that processes exchange, to detect differences.
#pragma once

#include "carillon/detail/wire/language.hpp"

#if !defined(__CUDACC_RTC__)

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#if !defined(__cpp_rtti)
#include <cxxabi.h>
#endif

// Put the line into a struct, behind its members. It names all of them, in any order:
//
//     struct Tick {
//         double bid;
//         double ask;
//         CARILLON_MEMBERS(bid, ask)
//     };
//
// Two programs that exchange messages of one name and size then detect if they define them
// differently (RefusalReason::wrong_types). If both declare the members, their names, types and
// places are compared. A member that is a struct needs the line too, unless it is a type of the
// standard library or CUDA (float4). A derived type needs its own line, which names the members of
// its bases too. A type with a member that does not declare its members counts as undeclared. A
// struct may be packed. It has at most 256 members, no bit fields, and no references. The line only
// adds a host function to the struct.
#define CARILLON_MEMBERS(...)                                                        \
    [[nodiscard]] std::uint64_t carillon_members() const {                           \
        using CarillonWhole = ::std::remove_cvref_t<decltype(*this)>;                \
        return ::carillon::detail::members_hash(                                     \
            #__VA_ARGS__, sizeof(CarillonWhole), alignof(CarillonWhole),             \
            {__VA_OPT__(CARILLON_SCAN_MEMBERS(CARILLON_EACH_MEMBER(__VA_ARGS__)))}); \
    }
// Uses a pointer to the member, because no reference binds to a member of a packed struct.
#define CARILLON_EACH_MEMBER(name, ...)                                    \
    ::carillon::detail::named_member<CarillonWhole>(&CarillonWhole::name), \
        __VA_OPT__(CARILLON_OTHER_MEMBERS CARILLON_NO_ARGUMENT(__VA_ARGS__))
#define CARILLON_OTHER_MEMBERS() CARILLON_EACH_MEMBER
#define CARILLON_NO_ARGUMENT ()
// A macro does not expand within itself, but each rescan of its text expands it again: 256 times.
#define CARILLON_SCAN_MEMBERS(...) \
    CARILLON_SCAN_64(CARILLON_SCAN_64(CARILLON_SCAN_64(CARILLON_SCAN_64(__VA_ARGS__))))
#define CARILLON_SCAN_64(...) \
    CARILLON_SCAN_16(CARILLON_SCAN_16(CARILLON_SCAN_16(CARILLON_SCAN_16(__VA_ARGS__))))
#define CARILLON_SCAN_16(...) \
    CARILLON_SCAN_4(CARILLON_SCAN_4(CARILLON_SCAN_4(CARILLON_SCAN_4(__VA_ARGS__))))
#define CARILLON_SCAN_4(...) CARILLON_SCAN(CARILLON_SCAN(CARILLON_SCAN(CARILLON_SCAN(__VA_ARGS__))))
#define CARILLON_SCAN(...) __VA_ARGS__

namespace carillon::detail {

// The linker's name of a type.
template <class T>
[[nodiscard]] char const* mangled_name() {
#if defined(__cpp_rtti)
    return typeid(T).name();
#else  // the type of an exception is known without RTTI; the name of T* is P and T's name
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

// Hashes of a type's members: 0 if it does not declare them, 1 if it has none to declare.
inline constexpr std::uint64_t unsaid_members = 0;
inline constexpr std::uint64_t no_members = 1;
// The hash of several types, known only if the hashes of all are.
[[nodiscard]] constexpr std::uint64_t add_members(std::uint64_t before, std::uint64_t next) {
    if (before == unsaid_members || next == unsaid_members) return unsaid_members;
    return next == no_members ? before : 31 * before + next;
}

// A member that CARILLON_MEMBERS names.
struct NamedMember {
    char const* type;
    std::uint64_t place;
    std::uint64_t bytes;
    std::uint64_t members;  // the hash of its type's members
};
// The hash of a type's members; unsaid_members if there is room for a member that is not named.
[[nodiscard]] std::uint64_t members_hash(std::string_view names, std::size_t bytes,
                                         std::size_t alignment,
                                         std::initializer_list<NamedMember> members);

// The hash of the members that `T` declares by CARILLON_MEMBERS.
template <class T>
[[nodiscard]] std::uint64_t members_of();

template <class Whole, class Base, class Member>
[[nodiscard]] NamedMember named_member(Member Base::*member) {
    using Type = std::remove_cv_t<Member>;
    auto const place = static_cast<Member Whole::*>(member);
    return {mangled_name<Type>(),
            static_cast<std::uint64_t>(__builtin_bit_cast(std::ptrdiff_t, place)), sizeof(Type),
            members_of<Type>()};
}

// A type that is only declared has no members: a message may hold a pointer to it.
template <class T>
concept HasMembers = (std::is_class_v<T> || std::is_union_v<T>)&&requires {
    sizeof(T);
}
&&!std::is_empty_v<T>;
// A base's function does not count, because it does not know the derived type's members.
template <class T>
concept SaysMembers = requires {
    requires std::is_same_v<decltype(&T::carillon_members), std::uint64_t (T::*)() const>;
};

// Whether it is a type of the standard library or of CUDA. Both programs have the same definition,
// apart from types that it contains.
[[nodiscard]] bool comes_with_compiler(std::string_view mangled);
template <class T>
struct HeldMembers {
    [[nodiscard]] static std::uint64_t hash() { return no_members; }
};
template <template <class...> class Template, class... Held>
struct HeldMembers<Template<Held...>> {
    [[nodiscard]] static std::uint64_t hash() {
        std::uint64_t hash = no_members;
        ((hash = add_members(hash, members_of<std::remove_cv_t<Held>>())), ...);
        return hash;
    }
};
template <template <class, std::size_t> class Array, class T, std::size_t count>
struct HeldMembers<Array<T, count>> {
    [[nodiscard]] static std::uint64_t hash() { return members_of<T>(); }
};

template <class T>
std::uint64_t members_of() {
    if constexpr (std::is_array_v<T>) {
        return members_of<std::remove_all_extents_t<T>>();
    } else if constexpr (!HasMembers<T>) {
        return no_members;
    } else if constexpr (SaysMembers<T>) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::array<std::byte, sizeof(T)> const bytes{};
        return __builtin_bit_cast(T, bytes).carillon_members();
    } else {
        return comes_with_compiler(mangled_name<T>()) ? HeldMembers<T>::hash() : unsaid_members;
    }
}

}  // namespace carillon::detail
#else
#define CARILLON_MEMBERS(...)  // the host's code compares them
#endif
