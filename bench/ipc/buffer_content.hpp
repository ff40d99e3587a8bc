// SPDX-License-Identifier: Apache-2.0
// What `carillon-bench ipc` puts into the buffers that go from one process to another, by whichever
// way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace carillon::tool {

using Time = std::int64_t;  // of the steady clock, which all processes have, in ns
[[nodiscard]] inline Time time_now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

// The other process says when it had the buffer, and the word at its end.
struct GotBuffer {
    Time at = 0;
    std::uint64_t word = 0;
};
[[nodiscard]] std::string to_line(GotBuffer const& got);

// What is put: a number in the last word, which is another each time.
class Content {
   public:
    Content() : bytes_(buffer_bytes) {}
    [[nodiscard]] std::span<std::byte const> next();
    // Throws Error where the other process has seen something else.
    [[nodiscard]] Time arrival(std::string const& line) const;

   private:
    std::vector<std::byte> bytes_;
    std::uint64_t number_ = 0;
};

}  // namespace carillon::tool
