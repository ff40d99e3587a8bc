// SPDX-License-Identifier: Apache-2.0
#include "serving/refusal.hpp"

#include "os/unix_socket.hpp"

namespace carillon::detail {

Refusal refusal_of(std::exception const& error) {
    auto const* system = dynamic_cast<SystemError const*>(&error);
    bool const no_room = dynamic_cast<OutOfMemoryError const*>(&error) != nullptr ||
                         (system != nullptr && is_out_of_room(system->code()));
    return {no_room ? RefusalReason::full : RefusalReason::other, error.what()};
}

}  // namespace carillon::detail
