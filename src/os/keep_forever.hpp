// SPDX-License-Identifier: Apache-2.0
// Keeps objects until the process ends.
#pragma once

#include <memory>

namespace carillon::detail {

// For what something that cannot be stopped still uses: it ends with the process. Whoever used it
// last would otherwise free it, and close its device, while the process is already ending.
void keep_forever(std::shared_ptr<void> what) noexcept;

}  // namespace carillon::detail
