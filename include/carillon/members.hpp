// SPDX-License-Identifier: Apache-2.0
// What a type that goes between processes consists of, said by whoever writes it.
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
// where both programs say them. A member that is a struct needs the line too, unless it is of the
// standard library or CUDA's (float4), and so does a type that is derived from one with the line:
// it names the members of both. A type with a member that does not say its members does not say
// them either. A struct may be packed. At most 256 members, no bit fields, and no references. The
// line adds nothing to the struct but a function of the host's.
#define CARILLON_MEMBERS(...)                                                        \
    [[nodiscard]] std::uint64_t carillon_members() const {                           \
        using CarillonWhole = ::std::remove_cvref_t<decltype(*this)>;                \
        return ::carillon::detail::members_hash(                                     \
            #__VA_ARGS__, sizeof(CarillonWhole), alignof(CarillonWhole),             \
            {__VA_OPT__(CARILLON_SCAN_MEMBERS(CARILLON_EACH_MEMBER(__VA_ARGS__)))}); \
    }
// By a pointer to the member: no reference can be bound to one of a packed struct.
#define CARILLON_EACH_MEMBER(name, ...)                                    \
    ::carillon::detail::named_member<CarillonWhole>(&CarillonWhole::name), \
        __VA_OPT__(CARILLON_OTHER_MEMBERS CARILLON_NO_ARGUMENT(__VA_ARGS__))
#define CARILLON_OTHER_MEMBERS() CARILLON_EACH_MEMBER
#define CARILLON_NO_ARGUMENT ()
// A macro is not expanded within itself, but again each time that its text is scanned: 256 times.
#define CARILLON_SCAN_MEMBERS(...) \
    CARILLON_SCAN_64(CARILLON_SCAN_64(CARILLON_SCAN_64(CARILLON_SCAN_64(__VA_ARGS__))))
#define CARILLON_SCAN_64(...) \
    CARILLON_SCAN_16(CARILLON_SCAN_16(CARILLON_SCAN_16(CARILLON_SCAN_16(__VA_ARGS__))))
#define CARILLON_SCAN_16(...) \
    CARILLON_SCAN_4(CARILLON_SCAN_4(CARILLON_SCAN_4(CARILLON_SCAN_4(__VA_ARGS__))))
#define CARILLON_SCAN_4(...) CARILLON_SCAN(CARILLON_SCAN(CARILLON_SCAN(CARILLON_SCAN(__VA_ARGS__))))
#define CARILLON_SCAN(...) __VA_ARGS__

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

// Hashes of what types consist of: 0 of one that does not say it; 1 of one that has nothing to say.
inline constexpr std::uint64_t unsaid_members = 0;
inline constexpr std::uint64_t no_members = 1;
// Of several types: known where those of all are.
[[nodiscard]] constexpr std::uint64_t add_members(std::uint64_t before, std::uint64_t next) {
    if (before == unsaid_members || next == unsaid_members) return unsaid_members;
    return next == no_members ? before : 31 * before + next;
}

// A member that CARILLON_MEMBERS names.
struct NamedMember {
    char const* type;
    std::uint64_t place;
    std::uint64_t bytes;
    std::uint64_t members;  // of its type
};
// Of those of a type; unsaid_members where room is left that an unnamed one must have.
[[nodiscard]] std::uint64_t members_hash(std::string_view names, std::size_t bytes,
                                         std::size_t alignment,
                                         std::initializer_list<NamedMember> members);

// What CARILLON_MEMBERS of `T` says.
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

// One that is only declared has none: a pointer to it may be held.
template <class T>
concept HasMembers = (std::is_class_v<T> || std::is_union_v<T>)&&requires {
    sizeof(T);
}
&&!std::is_empty_v<T>;
// Not that of a base, which does not know what is beside it.
template <class T>
concept SaysMembers = requires {
    requires std::is_same_v<decltype(&T::carillon_members), std::uint64_t (T::*)() const>;
};

// Whether it is a type of the standard library or of CUDA. Both programs have it alike, but for
// what it may hold of theirs.
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
