// SPDX-License-Identifier: Apache-2.0
// How the code of a server says no to a client: it throws the message, inside the server alone.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "serving/client_messages.hpp"

namespace carillon::detail {

template <class... Parts>
[[noreturn]] void throw_refused(RefusalReason reason, fmt::format_string<Parts...> text,
                                Parts&&... parts) {
    throw Refused{reason, fmt::format(text, std::forward<Parts>(parts)...)};
}

// The refusal for an error: `full` if the system, or the device, has no room now, for which a
// client may wait.
[[nodiscard]] Refused refusal_of(std::exception const& error);

}  // namespace carillon::detail
