// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bindings.hpp"
#include "py_door.hpp"

namespace {

// The classes of the library's errors, and the threads that call handlers, belong to one
// interpreter. Throws what Python makes an ImportError of.
void require_first_load() {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        throw std::runtime_error("carillon works only in the main interpreter");
    }
    static bool loaded = false;
    if (std::exchange(loaded, true)) {
        throw std::runtime_error("carillon cannot be loaded a second time in a process");
    }
}

}  // namespace

NB_MODULE(_carillon, module) {
#ifdef NDEBUG
    // A thread that Python ends with the program leaves what it has: nothing is wrong then.
    nanobind::set_leak_warnings(false);
#endif
    require_first_load();
    module.doc() = "The C++ library for carillon's Python package.";
    module.attr("_version") = CARILLON_VERSION;
    // The stub is made of the module by itself, outside of the package.
    carillon::python::none_comes_in =
        std::string_view(nanobind::str(module.attr("__name__")).c_str()) != "_carillon";
    carillon::python::bind_errors(module);
    carillon::python::bind_device(module);
    carillon::python::bind_memory(module);
    carillon::python::bind_dlpack(module);
    carillon::python::bind_codec(module);
    carillon::python::bind_client(module);
    carillon::python::bind_connection(module);
    carillon::python::bind_handler_text(module);
    carillon::python::bind_kernel(module);
    carillon::python::bind_ring(module);
    carillon::python::bind_store(module);
    carillon::python::bind_objects(module);
}
