// SPDX-License-Identifier: Apache-2.0
// `carillon-bench loops`: questions that one loop answers, by Google Benchmark, each with an
// alternative.
#pragma once

#include <memory>

#include "command/command.hpp"

namespace carillon {
class Device;
}

namespace carillon::tool {

// Each registers its benchmarks. `device` must live until they are unregistered.
void add_publish_loops(Device const& device);
void add_chunk_loops(Device const& device);

[[nodiscard]] std::unique_ptr<Command> make_loops_command();

}  // namespace carillon::tool
