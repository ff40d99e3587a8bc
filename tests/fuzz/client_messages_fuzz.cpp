// SPDX-License-Identifier: Apache-2.0
// A message of another process: an error, or one that comes to the same bytes when it is sent on.
#include "serving/client_messages.hpp"

#include <algorithm>

#include "fuzz/fuzz.hpp"

CARILLON_FUZZ_TARGET(client_messages, input) {
    std::size_t const descriptors = input.below(4);
    auto const bytes = std::as_bytes(input.rest());
    try {
        auto const [id, message] = detail::decode(bytes, descriptors);
        require(std::ranges::equal(detail::encode(id, message), bytes),
                "a message that is taken says nothing but its members");
    } catch (ProtocolError const&) {  // as it should be
    }
}
