// SPDX-License-Identifier: Apache-2.0
// A GPU's clocks and its PCI Express link, as far as they can be read without privileges.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace carillon::tool {

// Members for the "environment" of a result; unknown facts are left out. A link may run slower
// while it is idle, so its best speed is reported too.
[[nodiscard]] nlohmann::json gpu_state(std::string const& pci_bus_id);

// The GPU's power draw in watts; none if nvidia-smi does not report it.
[[nodiscard]] std::optional<double> gpu_power(std::string const& pci_bus_id);

// The members of gpu_state() from one line of `nvidia-smi --format=csv,noheader,nounits`.
[[nodiscard]] nlohmann::json parse_gpu_state(std::string const& line);

}  // namespace carillon::tool
