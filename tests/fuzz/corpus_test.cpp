// SPDX-License-Identifier: Apache-2.0
// Runs in every build the inputs that fuzzing has kept: those that found a fault, and those that
// led there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
namespace {

std::vector<unsigned char> content_of(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class FuzzCorpusTest : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpusTest, everyInputThatWasKeptComesBack) {
    unsigned inputs = 0;
    for (auto const& entry : std::filesystem::directory_iterator(
             std::filesystem::path(CARILLON_FUZZ_CORPUS) / GetParam().name)) {
        SCOPED_TRACE(entry.path().string());
        auto const bytes = content_of(entry.path());
        Input input(bytes);
        GetParam().run(input);
        ++inputs;
    }
    EXPECT_GT(inputs, 0U);
}

// Inputs that no fuzzer needs to find.
TEST_P(FuzzCorpusTest, nothingAndOnlyZerosOrOnesComeBack) {
    for (int const byte : {0x00, 0xff}) {
        for (std::size_t const size : {0U, 1U, 64U, 1000U}) {
            std::vector<unsigned char> const bytes(size, static_cast<unsigned char>(byte));
            Input input(bytes);
            GetParam().run(input);
        }
    }
}

std::string target_name(testing::TestParamInfo<Target> const& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(Of, FuzzCorpusTest, testing::ValuesIn(targets()), target_name);

}  // namespace
}  // namespace carillon::fuzz
