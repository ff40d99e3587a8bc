// SPDX-License-Identifier: Apache-2.0
// A GPU's clocks and its PCI Express link, as far as they can be read without privileges.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace carillon::tool {

// Members for the "environment" of a result; what cannot be read is left out. A link may run
// slower while nothing crosses it, so its best is told too.
[[nodiscard]] nlohmann::json gpu_state(std::string const& pci_bus_id);

// What it draws, in watts; none where nvidia-smi does not tell.
[[nodiscard]] std::optional<double> gpu_power(std::string const& pci_bus_id);

// Members of gpu_state() of one line of `nvidia-smi --format=csv,noheader,nounits`.
[[nodiscard]] nlohmann::json parse_gpu_state(std::string const& line);

}  // namespace carillon::tool
