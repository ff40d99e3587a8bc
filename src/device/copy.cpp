// SPDX-License-Identifier: Apache-2.0
#include "carillon/copy.hpp"

#include <fmt/format.h>

#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon {

void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind) {
    detail::in_call("copy_to_device", [&] {
        detail::require_range(offset, from.size(), to.size());
        detail::require_bytes_there(from);
        if (!supported(kind)) [[unlikely]]
            throw UnsupportedError(fmt::format("this CPU has no {} stores", to_string(kind)));
        stream_copy(kind, static_cast<std::byte*>(to.host_ptr()) + offset, from.data(),
                    from.size());
        to.flush(offset, from.size());
    });
}

void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from) {
    copy_to_device(to, offset, from, best_copy_stores());
}

void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset) {
    detail::in_call("copy_from_device", [&] {
        detail::require_range(offset, to.size(), from.size());
        detail::require_bytes_there(to);
        if (to.empty()) return;
        from.invalidate(offset, to.size());
        stream_load(to.data(), static_cast<std::byte const*>(from.host_ptr()) + offset, to.size());
    });
}

}  // namespace carillon
