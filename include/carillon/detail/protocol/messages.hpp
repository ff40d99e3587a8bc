// SPDX-License-Identifier: Apache-2.0
// Stores several messages, as the lines that they travel in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/message_lines.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// Stores `count` messages into slots in a row, of `slot_lines` lines each, the first with tag
// `first`; `previous` is the tag that the first slot holds until now. Payloads that fill a line are
// stored directly from memory.
template <class T, FarAccess Far>
CARILLON_HD void store_messages(Far const& far, Line* to, std::uint32_t slot_lines,
                                T const* messages, std::size_t count, Tag first, Tag previous) {
    if (count == 0) return;  // mostly: nothing behind the wrap
    if (1 < lines_of<T> || slot_lines > 1) {
        for (std::size_t i = 0; i < count; ++i) {
            auto const n = static_cast<Tag>(i);
            store_message<T>(far, to + i * slot_lines, pack(messages[i], first + n), previous + n);
        }
        // NOLINTNEXTLINE(bugprone-branch-clone): for large messages neither branch is compiled
    } else if constexpr (sizeof(T) == payload_bytes && !clears_padding<T>) {
        far.store_payloads(to, messages, count, first, previous);
    } else if constexpr (lines_of<T> == 1) {
        constexpr std::size_t most = 16;
        PayloadWords payloads[most]{};
        for (std::size_t done = 0; done < count;) {
            std::size_t const now = count - done < most ? count - done : most;
            for (std::size_t i = 0; i < now; ++i) {
                auto const& message = without_padding(messages[done + i]);
                std::memcpy(&payloads[i], __builtin_addressof(message), sizeof(T));
            }
            auto const tags = static_cast<Tag>(done);
            far.store_payloads(to + done, payloads, now, first + tags, previous + tags);
            done += now;
        }
    }
}

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
