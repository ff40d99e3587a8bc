// SPDX-License-Identifier: Apache-2.0
// The content that `carillon-bench ipc` writes into the buffers that it passes between processes.
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

// The bytes of a buffer. The last word is a number that changes with each buffer.
class Content {
   public:
    Content() : bytes_(buffer_bytes) {}
    [[nodiscard]] std::span<std::byte const> next();
    // Throws Error if the other process saw a different number.
    [[nodiscard]] Time arrival(std::string const& line) const;

   private:
    std::vector<std::byte> bytes_;
    std::uint64_t number_ = 0;
};

}  // namespace carillon::tool
