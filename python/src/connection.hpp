// SPDX-License-Identifier: Apache-2.0
// A connection to the owner of a kernel, as Python has it.
#pragma once

#include <optional>

#include "bindings.hpp"
#include "carillon/connection.hpp"

namespace carillon::python {

// Or nothing once it was closed.
struct ConnectionEnd {
    std::optional<Connection> connection;

    [[nodiscard]] Connection const& get(char const* call) const;
    void close();
};

}  // namespace carillon::python
