// SPDX-License-Identifier: Apache-2.0
// Compiled by the C++ compiler alone: it runs nothing on a device.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "edges/limits.hpp"

namespace carillon::test {
namespace {

std::atomic<unsigned> tried = 0;
std::atomic<unsigned> bad = 0;

std::string text_of_environment(char const* name) {
    char const* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string cpu_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

std::string today() {
    std::time_t const now = std::time(nullptr);
    std::tm utc{};
    char text[sizeof("2000-01-01T00:00:00Z")];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return text;
}

// CARILLON_EDGES_JSON names the file, CARILLON_COMMIT the commit of the result.
class WriteRecord : public testing::Environment {
   public:
    void TearDown() override {
        std::string const path = text_of_environment("CARILLON_EDGES_JSON");
        if (path.empty() || tried == 0) return;
        std::ofstream file(path);
        auto const text = [&](char const* key, std::string const& value) {
            file << " \"" << key << "\": \"" << value << "\",\n";
        };
        file << "{\n";
        text("commit", text_of_environment("CARILLON_COMMIT"));
        text("date", today());
        text("cpu", cpu_name());
        text("command", "carillon_edges_tests --gtest_filter='*Limits*'");
        file << " \"edges.limits_tried\": " << tried << ",\n";
        file << " \"edges.limits_bad\": " << bad << "\n}\n";
        if (!file.flush()) ADD_FAILURE() << path << " could not be written";
    }
};

[[maybe_unused]] auto* const record = testing::AddGlobalTestEnvironment(new WriteRecord);

}  // namespace

void record_limit(bool good) {
    ++tried;
    if (!good) ++bad;
}

}  // namespace carillon::test
