// SPDX-License-Identifier: Apache-2.0
// A connection to the owner of a kernel, as Python has it.
#pragma once

#include "carillon/connection.hpp"
#include "closable.hpp"

namespace carillon::python {

using ConnectionEnd = Closable<Connection>;

}  // namespace carillon::python
