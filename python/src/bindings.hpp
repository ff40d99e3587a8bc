// SPDX-License-Identifier: Apache-2.0
// The extension of the Python package: each part adds its classes and functions to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace carillon::python {

namespace nb = nanobind;

// Python gets an exception of carillon.errors for each error of this library, with its text.
void bind_errors(nb::module_& module);
void bind_device(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_dlpack(nb::module_& module);
void bind_codec(nb::module_& module);
void bind_client(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_ring(nb::module_& module);
void bind_connection(nb::module_& module);
void bind_store(nb::module_& module);
void bind_objects(nb::module_& module);
void bind_handler_text(nb::module_& module);

}  // namespace carillon::python
