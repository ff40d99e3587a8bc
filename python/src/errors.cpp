// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "bindings.hpp"
#include "carillon/error.hpp"

namespace carillon::python {
namespace {

// An instance of carillon.errors' class of that name. The classes are Python's, so that they have
// Python's bases and are documented there.
nb::object instance(char const* name, Error const& error) {
    nb::object made = nb::module_::import_("carillon.errors").attr(name)(error.what());
    made.attr("call") = error.call();
    return made;
}

void raise(nb::object const& made) { PyErr_SetObject((PyObject*)Py_TYPE(made.ptr()), made.ptr()); }

void raise(char const* name, Error const& error) { raise(instance(name, error)); }

void raise_coded(char const* name, CodedError const& error, bool by_system = false) {
    nb::object const made = instance(name, error);
    made.attr("code") = error.code();
    made.attr("code_name") = error.code_name();
    if (by_system) made.attr("errno") = error.code();
    raise(made);
}

// Of several classes of which one is the other's base, the derived one first.
void translate_coded(std::exception_ptr const& error) {
    try {
        std::rethrow_exception(error);
    } catch (SystemError const& system) {
        raise_coded("SystemError", system, true);
    } catch (DeviceFaultError const& fault) {
        raise_coded("DeviceFaultError", fault);
    } catch (CudaError const& cuda) {
        raise_coded("CudaError", cuda);
    } catch (VulkanError const& vulkan) {
        raise_coded("VulkanError", vulkan);
    } catch (CodedError const& coded) {
        raise_coded("CodedError", coded);
    }
}

// Those that say more than their text.
void translate_detailed(std::exception_ptr const& error) {
    try {
        std::rethrow_exception(error);
    } catch (CodedError const&) {
        translate_coded(error);
    } catch (TimeoutError const& timeout) {
        nb::object const made = instance("TimeoutError", timeout);
        made.attr("sent") = timeout.sent();
        raise(made);
    } catch (ResidencyError const& residency) {
        nb::object const made = instance("ResidencyError", residency);
        made.attr("asked") = residency.asked();
        made.attr("fit") = residency.fit();
        raise(made);
    } catch (RefusedError const& refused) {
        nb::object const made = instance("RefusedError", refused);
        made.attr("reason") = std::string(to_string(refused.reason()));
        raise(made);
    } catch (HandlerError const& handler) {
        nb::object const made = instance("HandlerError", handler);
        made.attr("code") = handler.code();
        raise(made);
    } catch (CompileError const& compile) {
        nb::object const made = instance("CompileError", compile);
        made.attr("log") = compile.log();
        raise(made);
    }
}

// nanobind asks every translator until one does not throw.
void translate(std::exception_ptr const& error, void* /*payload*/) {
    try {
        translate_detailed(error);
    } catch (ForkError const& fork) {
        raise("ForkError", fork);
    } catch (UsageError const& usage) {
        raise("UsageError", usage);
    } catch (DeviceNotFoundError const& not_found) {
        raise("DeviceNotFoundError", not_found);
    } catch (UnsupportedError const& unsupported) {
        raise("UnsupportedError", unsupported);
    } catch (OutOfMemoryError const& memory) {
        raise("OutOfMemoryError", memory);
    } catch (OwnerGoneError const& gone) {
        raise("OwnerGoneError", gone);
    } catch (StoppedError const& stopped) {
        raise("StoppedError", stopped);
    } catch (FormatError const& format) {
        raise("FormatError", format);
    } catch (ProtocolError const& protocol) {
        raise("ProtocolError", protocol);
    } catch (Error const& other) {
        raise("Error", other);
    }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace carillon::python
