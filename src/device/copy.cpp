// SPDX-License-Identifier: Apache-2.0
#include "carillon/copy.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"
#include "error/range.hpp"

namespace carillon {

void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind) {
    detail::require_range("copy_to_device", offset, from.size(), to.size());
    detail::require_bytes_there("copy_to_device", from);
    if (!supported(kind)) [[unlikely]] {
        throw UnsupportedError("copy_to_device",
                               fmt::format("this CPU has no {} stores", to_string(kind)));
    }
    stream_copy(kind, static_cast<std::byte*>(to.host_ptr()) + offset, from.data(), from.size());
    to.flush(offset, from.size());
}

void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from) {
    detail::require_range("copy_to_device", offset, from.size(), to.size());
    detail::require_bytes_there("copy_to_device", from);
    stream_copy(best_copy_stores(), static_cast<std::byte*>(to.host_ptr()) + offset, from.data(),
                from.size());
    to.flush(offset, from.size());
}

void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset) {
    detail::require_range("copy_from_device", offset, to.size(), from.size());
    detail::require_bytes_there("copy_from_device", to);
    if (to.empty()) return;
    from.invalidate(offset, to.size());
    stream_load(to.data(), static_cast<std::byte const*>(from.host_ptr()) + offset, to.size());
}

}  // namespace carillon
