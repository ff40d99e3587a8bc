// SPDX-License-Identifier: Apache-2.0
// A user's test with the thread sanitizer, which must report the race that the argument names, and
// nothing if the handlers are right.
#include <cstdio>
#include <string_view>

#include "carillon/testing.hpp"
#include "testing/threaded_handlers.hpp"

namespace carillon::test {
namespace {

// Runs the block in as many orders of its threads as show a difference by the result alone.
template <class Handler>
void run(Handler const& handler) {
    try {
        std::printf("%d\n", testing::run_block(handler, std::vector<int>{1, 2}).back());
    } catch (testing::RaceError const& error) {
        std::printf("%s\n", error.what());
    }
}

void run_case(std::string_view which) {
    if (which == "readWrite") run(ReadWrite());
    if (which == "writeWrite") run(WriteWrite());
    if (which == "missingBarrierAfterTheRead") run(MissingBarrierAfterTheRead());
    if (which == "none") {
        run(ReadWrite{.races = false});
        run(WriteWrite{.races = false});
        run(MissingBarrierAfterTheRead{.races = false});
    }
}

}  // namespace
}  // namespace carillon::test

int main(int count, char** arguments) { carillon::test::run_case(count == 2 ? arguments[1] : ""); }
