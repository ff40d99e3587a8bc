// SPDX-License-Identifier: Apache-2.0
#include "carillon/launch.hpp"

#include <algorithm>

#include "carillon/error.hpp"

namespace carillon {

Pins::Pins(Device const& device, std::span<std::uint32_t const> sms) try
    : roles_(static_cast<unsigned>(sms.size())), blocks_(roles_) {
    if (sms.empty()) throw UsageError("at least one role is needed");
    // Two rounds of the block scheduler: the first may skip an SM that another kernel uses.
    auto const count = device.info().sm_count;  // none: there is no choice
    if (count) blocks_ = std::max(2U * static_cast<unsigned>(*count), 2 * roles_);
    std::size_t const size = detail::PinTable::words_for(roles_) * sizeof(std::uint64_t);
    memory_ = device.allocate(size);
    auto* const words = static_cast<std::uint64_t*>(memory_.host_ptr());
    for (std::uint32_t role = 0; role < roles_; ++role) {
        words[detail::PinTable::wanted_at(role)] = count ? sms[role] : any_sm;
    }
    memory_.flush(0, size);
} catch (...) {
    detail::throw_named("Pins");
}

void Pins::take() const {
    if (memory_.size() == 0 || !taken_.exchange(true)) return;
    throw UsageError("the roles of the Pins were given to a launch: make others");
}

detail::PinTable Pins::device_view() const {
    if (memory_.size() == 0) return {};
    return {static_cast<std::uint64_t*>(memory_.device_ptr()), roles_};
}

}  // namespace carillon
