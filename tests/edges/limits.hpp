// SPDX-License-Identifier: Apache-2.0
// Tables of calls, each with an argument at one of its limits. How many were tried, and how many of
// them went wrong, goes into the file that CARILLON_EDGES_JSON names (limits_record.cpp).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"

namespace carillon::test {

struct NothingBody {
    CARILLON_HD void operator()(unsigned /*block*/) const {}
};

void record_limit(bool good);

// The expected outcome of a call. A text is a part of the error's text.
class Expected {
   public:
    // It returns, and if it returns a bool, true.
    static Expected behaves() { return Expected({}, nullptr); }
    // It throws exactly an E.
    template <class E>
    static Expected error(std::string text) {
        return Expected(std::move(text),
                        [](std::exception const& error) { return typeid(error) == typeid(E); });
    }
    static Expected usage(std::string text) { return error<UsageError>(std::move(text)); }
    static Expected out_of_memory(std::string text) {
        return error<OutOfMemoryError>(std::move(text));
    }
    // It throws some error of this library.
    static Expected refused() {
        return Expected({}, [](std::exception const& error) {
            return dynamic_cast<Error const*>(&error) != nullptr;
        });
    }
    static Expected timeout(std::string text) { return error<TimeoutError>(std::move(text)); }
    // It returns or times out: the time is too short for most calls that take any.
    static Expected behaves_or_times_out() {
        Expected both = timeout({});
        both.may_behave_ = true;
        return both;
    }

    // The fault of a call that returned this, or threw that; empty for none.
    [[nodiscard]] std::string wrong(bool returned) const {
        if (!returned) return "it returned, but not what it should";
        return is_ == nullptr || may_behave_ ? "" : "nothing was thrown: " + text_;
    }
    [[nodiscard]] std::string wrong(std::exception const& error) const {
        std::string const what = error.what();
        bool const right = is_ != nullptr && is_(error) && what.find(text_) != std::string::npos;
        return right ? "" : std::string("it threw ") + typeid(error).name() + ": " + what;
    }

   private:
    using Is = bool (*)(std::exception const&);
    Expected(std::string text, Is is) : text_(std::move(text)), is_(is) {}

    std::string text_;
    Is is_;
    bool may_behave_ = false;
};

struct Limit {
    // `call` may return anything; a bool must be true.
    template <class Call>
    Limit(std::string what_, Expected expected_, Call call_)
        : what(std::move(what_)), expected(std::move(expected_)), call([call_]() mutable {
              if constexpr (std::is_same_v<std::invoke_result_t<Call&>, bool>) {
                  return call_();
              } else {
                  (void)call_();
                  return true;
              }
          }) {}

    std::string what;  // the call, the argument and its value
    Expected expected;
    std::function<bool()> call;
};

inline void try_limit(Limit const& limit) {
    std::string wrong;
    try {
        wrong = limit.expected.wrong(limit.call());
    } catch (std::exception const& error) {
        wrong = limit.expected.wrong(error);
    } catch (...) {
        wrong = "it threw what is no exception";
    }
    record_limit(wrong.empty());
    EXPECT_EQ(wrong, "") << limit.what;
}

inline void try_limits(std::vector<Limit> const& limits) {
    for (Limit const& each : limits) try_limit(each);
}

template <class Number>
inline constexpr Number most = std::numeric_limits<Number>::max();
inline constexpr auto largest = most<std::size_t>;
inline constexpr auto largest_number = most<std::uint32_t>;

// Tries the call with several values of its argument.
template <class Value, class Call>
void try_values(std::string const& what, Expected const& expected, std::vector<Value> const& values,
                Call const& call) {
    for (Value const& each : values) {
        try_limit({what + ", " + std::to_string(each), expected, [&] { return call(each); }});
    }
}

// Durations at their limits: looked at once, too short for anything, and for ever.
struct Duration {
    char const* name;
    std::chrono::nanoseconds value;
    [[nodiscard]] bool is_max() const { return value == std::chrono::nanoseconds::max(); }
};
inline constexpr std::array<Duration, 5> durations{{{"0", std::chrono::nanoseconds(0)},
                                                    {"-1 ns", std::chrono::nanoseconds(-1)},
                                                    {"1 ns", std::chrono::nanoseconds(1)},
                                                    {"min", std::chrono::nanoseconds::min()},
                                                    {"max", std::chrono::nanoseconds::max()}}};

// Tries the call with each duration but the longest, with which it would never return.
template <class Call>
void try_short_durations(std::string const& what, Expected const& expected, Call const& call) {
    for (Duration const& each : durations) {
        if (each.is_max()) continue;
        try_limit({what + ", " + each.name, expected, [&] { return call(each.value); }});
    }
}
// Tries all durations, for a call that does not time out.
template <class Call>
void try_durations(std::string const& what, Expected const& expected, Call const& call) {
    try_short_durations(what, expected, call);
    auto const longest = std::chrono::nanoseconds::max();
    try_limit({what + ", max", Expected::behaves(), [&] { return call(longest); }});
}

}  // namespace carillon::test
