// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <cerrno>
#include <exception>
#include <map>
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

// One of each, for the tests: some come of a GPU alone, or of another machine.
std::map<std::string, std::exception_ptr> samples() {
    constexpr char const* call = "the call";
    constexpr char const* cause = "the cause";
    using std::make_exception_ptr;
    return {
        {"Error", make_exception_ptr(Error(call, cause))},
        {"UsageError", make_exception_ptr(UsageError(call, cause))},
        {"ForkError", make_exception_ptr(ForkError(call, cause))},
        {"DeviceNotFoundError", make_exception_ptr(DeviceNotFoundError(call, cause))},
        {"UnsupportedError", make_exception_ptr(UnsupportedError(call, cause))},
        {"OutOfMemoryError", make_exception_ptr(OutOfMemoryError(call, cause))},
        {"ResidencyError", make_exception_ptr(ResidencyError(call, 8, 7))},
        {"TimeoutError", make_exception_ptr(TimeoutError(call, cause, true))},
        {"StoppedError", make_exception_ptr(StoppedError(call, cause))},
        {"OwnerGoneError", make_exception_ptr(OwnerGoneError(call, cause))},
        {"RefusedError", make_exception_ptr(RefusedError(call, RefusalReason::full, cause))},
        {"HandlerError", make_exception_ptr(HandlerError(call, "a command", 9))},
        {"CompileError", make_exception_ptr(CompileError(call, "handler(1): error"))},
        {"FormatError", make_exception_ptr(FormatError(call, cause))},
        {"ProtocolError", make_exception_ptr(ProtocolError(call, cause))},
        {"CodedError", make_exception_ptr(CodedError(call, 3, "A_NAME"))},
        {"SystemError", make_exception_ptr(SystemError(call, ENOENT))},
        {"CudaError", make_exception_ptr(CudaError(call, 201, "CUDA_ERROR_INVALID_CONTEXT"))},
        {"DeviceFaultError",
         make_exception_ptr(DeviceFaultError(call, 700, "CUDA_ERROR_ILLEGAL_ADDRESS"))},
        {"VulkanError", make_exception_ptr(VulkanError(call, -4, "VK_ERROR_DEVICE_LOST"))},
    };
}
void throw_sample(std::string const& name) { std::rethrow_exception(samples().at(name)); }
std::string text_of_sample(std::string const& name) {
    try {
        throw_sample(name);
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

}  // namespace

void bind_errors(nb::module_& module) {
    nb::register_exception_translator(translate);
    module.def("_throw_sample", throw_sample, nb::arg("name"));
    module.def("_text_of_sample", text_of_sample, nb::arg("name"));
}

}  // namespace carillon::python
