// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

namespace carillon::test {

// The text of the exception of `call`, which must be exactly an E; "" after a test failure.
template <class E, class Call>
std::string thrown_text(Call&& call) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown";
    } catch (E const& error) {
        EXPECT_EQ(typeid(error), typeid(E)) << error.what();
        return error.what();
    } catch (std::exception const& error) {
        ADD_FAILURE() << "something else was thrown: " << error.what();
    }
    return {};
}

}  // namespace carillon::test

// Expects that `statement` throws an `Type` whose text has `part` in it.
#define CARILLON_EXPECT_ERROR(statement, Type, part)                                    \
    do {                                                                                \
        std::string const text =                                                        \
            ::carillon::test::thrown_text<Type>([&] { static_cast<void>(statement); }); \
        EXPECT_NE(text.find(part), std::string::npos) << "the text was: " << text;      \
    } while (false)
