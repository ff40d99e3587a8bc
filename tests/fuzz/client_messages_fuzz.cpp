// SPDX-License-Identifier: Apache-2.0
// A message of another process: an error, or one that comes to the same bytes when it is sent on.
#include "serving/client_messages.hpp"

#include <algorithm>
#include <cstring>

#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
namespace {

// No message has version 0: there it stands for the version of today, so that kept inputs reach the
// fields of their message in every version.
std::vector<std::byte> of_today(std::span<std::byte const> input) {
    constexpr std::size_t version_at = 4;
    std::vector<std::byte> bytes(input.begin(), input.end());
    std::uint16_t version = 0;
    if (bytes.size() < version_at + sizeof(version)) return bytes;
    std::memcpy(&version, bytes.data() + version_at, sizeof(version));
    if (version == 0) version = messages_version;
    std::memcpy(bytes.data() + version_at, &version, sizeof(version));
    return bytes;
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(client_messages, input) {
    std::size_t const descriptors = input.below(4);
    auto const bytes = of_today(std::as_bytes(input.rest()));
    try {
        auto const [id, message] = detail::decode(bytes, descriptors);
        require(std::ranges::equal(detail::encode(id, message), bytes),
                "a message that is taken says nothing but its members");
    } catch (ProtocolError const&) {  // as it should be
    }
}
