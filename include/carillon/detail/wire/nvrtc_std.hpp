// SPDX-License-Identifier: Apache-2.0
// The part of the standard library that device code uses, for NVRTC, which has no standard headers;
// a machine that runs a program need not have a toolkit with libcu++. It replaces <cstdint>,
// <type_traits> and the others of nvrtc_headers (src/nvrtc/handler_source.cpp). Empty for every
// other compiler.
#pragma once

#if defined(__CUDACC_RTC__)

// NVRTC itself declares memcpy, memset, placement new, initializer_list, move and forward.
namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using intptr_t = long;
using uintptr_t = unsigned long;
using size_t = decltype(sizeof(0));
using ptrdiff_t = long;
using nullptr_t = decltype(nullptr);
enum class byte : unsigned char {};
using ::memcpy;
using ::memset;

template <class T, T v>
struct integral_constant {
    static constexpr T value = v;
};
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;

template <bool condition, class A, class B>
struct conditional {
    using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
    using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;
template <bool condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    using type = T;
};
template <bool condition, class T = void>
using enable_if_t = typename enable_if<condition, T>::type;

template <class T>
struct type_identity {
    using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;
template <class T>
struct remove_reference : type_identity<T> {};
template <class T>
struct remove_reference<T&> : type_identity<T> {};
template <class T>
struct remove_reference<T&&> : type_identity<T> {};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;
template <class T>
struct remove_cv : type_identity<T> {};
template <class T>
struct remove_cv<T const> : type_identity<T> {};
template <class T>
struct remove_cv<T volatile> : type_identity<T> {};
template <class T>
struct remove_cv<T const volatile> : type_identity<T> {};
template <class T>
using remove_cv_t = typename remove_cv<T>::type;
template <class T>
using remove_cvref_t = remove_cv_t<remove_reference_t<T>>;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class A, class B>
struct is_same : integral_constant<bool, is_same_v<A, B>> {};
template <class T>
inline constexpr bool is_void_v = is_same_v<remove_cv_t<T>, void>;
template <class T>
inline constexpr bool is_array_v = false;
template <class T, size_t count>
inline constexpr bool is_array_v<T[count]> = true;
template <class T>
inline constexpr bool is_class_v = __is_class(T);
template <class T>
inline constexpr bool is_final_v = __is_final(T);
template <class T>
inline constexpr bool is_copy_constructible_v = __is_constructible(T, T const&);
template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class T>
inline constexpr bool is_trivially_default_constructible_v = __is_trivially_constructible(T);
template <class T>
inline constexpr bool is_trivially_destructible_v = __has_trivial_destructor(T);
template <class T>
inline constexpr bool is_standard_layout_v = __is_standard_layout(T);
template <class From, class To>
inline constexpr bool is_convertible_v = __is_convertible_to(From, To);

template <class T>
T&& declval_of(int);
template <class T>
T declval_of(long);
template <class T>
decltype(declval_of<T>(0)) declval() noexcept;

template <class F, class... A>
using invoke_result_t = decltype(declval<F>()(declval<A>()...));
template <class F, class... A>
inline constexpr bool is_invocable_v = requires {
    declval<F>()(declval<A>()...);
};

template <class T, T... values>
struct integer_sequence {};
template <class T, unsigned long count, T... values>
struct sequence_of : sequence_of<T, count - 1, static_cast<T>(count - 1), values...> {};
template <class T, T... values>
struct sequence_of<T, 0, values...> {
    using type = integer_sequence<T, values...>;
};
template <class T, T count>
using make_integer_sequence = typename sequence_of<T, count>::type;

template <class A, class B>
concept same_as = is_same_v<A, B> && is_same_v<B, A>;
template <class From, class To>
concept convertible_to = is_convertible_v<From, To> && requires {
    static_cast<To>(declval<From>());
};
// Checks only the parts that device code can violate.
template <class T>
concept copyable = requires(T const& from, T& to) {
    T(from);
    to = from;
};

template <class T>
[[nodiscard]] constexpr T const& min(T const& a, T const& b) {
    return b < a ? b : a;
}
template <class T>
[[nodiscard]] constexpr T const& max(T const& a, T const& b) {
    return a < b ? b : a;
}
template <class T>
[[nodiscard]] constexpr T bit_ceil(T value) {
    T power = 1;
    while (power < value) power *= 2;
    return power;
}

}  // namespace std

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::intptr_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
using std::uintptr_t;

#ifndef offsetof
#define offsetof(type, member) __INTADDR__(&(((type*)0)->member))
#endif
#define UINT64_MAX 0xffffffffffffffffUL
#define UINT32_MAX 0xffffffffU

#endif
