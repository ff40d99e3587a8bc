// SPDX-License-Identifier: Apache-2.0
// Keeps objects until the process ends.
#pragma once

#include <memory>

namespace carillon::detail {

// For objects that something unstoppable still uses: they end with the process. Otherwise their
// last user would free them, and close their device, while the process is ending.
void keep_forever(std::shared_ptr<void> what) noexcept;

}  // namespace carillon::detail
