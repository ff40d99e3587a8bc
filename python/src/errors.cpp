// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <cerrno>
#include <concepts>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "gil.hpp"

namespace carillon::python {
namespace {

// Python's class for each of the table of errors. The module has them.
template <class>
PyObject* class_of = nullptr;

template <class T>
T const& shown(T const& value) {
    return value;
}
std::string shown(RefusalReason reason) { return std::string(to_string(reason)); }
// A path that an error names may have any bytes.
nb::object shown(std::string const& text) {
    PyObject* const made =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

// A member of an error that is made in Python.
template <class T>
T default_of() {
    return T{};
}
template <>
RefusalReason default_of() {
    return RefusalReason::other;
}

// The stub's name (python/stub.pat) for a class of Python's that has the same name.
std::string signature(char const* name, PyObject* base) {
    std::string const base_name = nb::cast<std::string>(nb::handle(base).attr("__name__"));
    return std::string("class ") + name + "(" + base_name + ", _Python" + name + ")";
}

// Returns a new reference. `base` is nullptr for the first class.
PyObject* made_class(nb::module_& module, char const* name, PyObject* base, PyObject* python_base,
                     std::string const& text, nb::dict const& members) {
    std::string const full = nb::cast<std::string>(module.attr("__name__")) + "." + name;
    nb::list bases;
    if (base != nullptr) bases.append(nb::handle(base));
    if (python_base != nullptr) bases.append(nb::handle(python_base));
    PyObject* const made = PyErr_NewExceptionWithDoc(full.c_str(), text.c_str(),
                                                     nb::tuple(bases).ptr(), members.ptr());
    if (made == nullptr) throw nb::python_error();
    if (python_base != nullptr &&
        nb::cast<std::string>(nb::handle(python_base).attr("__name__")) == name) {
        nb::handle(made).attr("__nb_signature__") = signature(name, base);
    }
    module.attr(name) = nb::handle(made);
    return made;
}

void make_classes(nb::module_& module) {
#define CARILLON_MEMBER(type, member, described)  \
    members[#member] = shown(default_of<type>()); \
    text += "\n\n`" #member "`: " described;
#define CARILLON_ERROR_WITH(name, base, status, python_base, its_members, described) \
    {                                                                                \
        nb::dict members;                                                            \
        std::string text = described;                                                \
        its_members class_of<name> =                                                 \
            made_class(module, #name, class_of<base>, python_base, text, members);   \
    }
#define CARILLON_ERROR(name, base, status, python_base, described) \
    CARILLON_ERROR_WITH(name, base, status, python_base, , described)
#define CARILLON_ERROR_OF_PYTHON(name, base, python_base, described) \
    CARILLON_ERROR_WITH(name, base, , python_base, , described)
#include "carillon/errors.def"
#undef CARILLON_MEMBER
}

// If an error belongs to several classes, the last one of the table is the most derived one.
nb::handle class_for(Error const& error) {
    PyObject* found = class_of<Error>;
#define CARILLON_ERROR(name, base, status, python_base, text)                 \
    if ([[maybe_unused]] auto const* one = dynamic_cast<name const*>(&error)) \
        found = class_of<name>;
#define CARILLON_ERROR_OF_PYTHON(name, base, python_base, text) \
    CARILLON_ERROR(name, base, , python_base, text)
#include "carillon/errors.def"
    return found;
}

void set_members(nb::object const& made, Error const& given) {
#define CARILLON_MEMBER(type, member, text) made.attr(#member) = shown(error->member());
#define CARILLON_ERROR(name, base, status, python_base, text)
#define CARILLON_ERROR_WITH(name, base, status, python_base, members, text)       \
    if ([[maybe_unused]] auto const* error = dynamic_cast<name const*>(&given)) { \
        members                                                                   \
    }
#include "carillon/errors.def"
#undef CARILLON_MEMBER
    if (auto const* system = dynamic_cast<SystemError const*>(&given)) {
        made.attr("errno") = system->code();
        // pickle and copy leave the members of OSError itself, and set all that __dict__ has.
        made.attr("__dict__")["errno"] = system->code();
    }
}

nb::object exception_for(Error const& given) {
    nb::object made = class_for(given)(shown(std::string(given.what())));
    set_members(made, given);
    if (auto const* handlers = dynamic_cast<WithCause const*>(&given)) {
        PyException_SetCause(made.ptr(), nb::borrow(handlers->raised()).release().ptr());
    }
    return made;
}

void set_error(nb::object const& made) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

// nanobind asks every translator until one does not throw.
void translate(std::exception_ptr const& error, void* /*payload*/) {
    try {
        std::rethrow_exception(error);
    } catch (Error const& given) {
        set_error(exception_for(given));
    }
}

constexpr char const* sample_call = "the call";
constexpr char const* drivers_call = "driversCall";

template <class E, class... Of>
std::exception_ptr sample(Of const&... of) {
    E error(of...);
    error.name_call(sample_call);
    return std::make_exception_ptr(error);
}

template <class E>
std::exception_ptr sample_of_text() {
    if constexpr (std::constructible_from<E, std::string_view>) return sample<E>("the cause");
    return {};
}

// One error of each class, for the tests: some come of a GPU alone, or of another machine. Only
// those that are made of more than a text are named here.
std::map<std::string, std::exception_ptr> samples() {
    std::map<std::string, std::exception_ptr> all{
        {"ResidencyError", sample<ResidencyError>(8, 7)},
        {"TimeoutError", sample<TimeoutError>("the cause", true)},
        {"RefusedError", sample<RefusedError>(RefusalReason::full, "the cause")},
        {"HandlerError", sample<HandlerError>("a command", 9)},
        {"CompileError", sample<CompileError>("handler(1): error")},
        {"CodedError", sample<CodedError>(drivers_call, 3, "A_NAME")},
        {"SystemError", sample<SystemError>(drivers_call, ENOENT)},
        {"CudaError", sample<CudaError>(drivers_call, 201, "CUDA_ERROR_INVALID_CONTEXT")},
        {"DeviceFaultError",
         sample<DeviceFaultError>(drivers_call, 700, "CUDA_ERROR_ILLEGAL_ADDRESS")},
        {"VulkanError", sample<VulkanError>(drivers_call, -4, "VK_ERROR_DEVICE_LOST")},
    };
#define CARILLON_ERROR(name, base, status, python_base, text) \
    all.emplace(#name, sample_of_text<name>());
#define CARILLON_ERROR_OF_PYTHON(name, base, python_base, text) \
    CARILLON_ERROR(name, base, , python_base, text)
#include "carillon/errors.def"
    return all;
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

KeptException::~KeptException() {
    if (Py_IsInitialized() == 0) return;  // Python has ended, and what it had with it
    or_stay([this] {
        PyGILState_STATE const held = PyGILState_Ensure();
        Py_DECREF(exception_);
        PyGILState_Release(held);
        return true;
    });
}

std::exception_ptr handler_raised(std::string const& text,
                                  std::shared_ptr<KeptException const> const& raised) {
    std::string const cause = "the handler raised " + text;
    if (PyErr_GivenExceptionMatches(raised->get(), class_of<UsageError>) != 0) {
        return std::make_exception_ptr(HandlerRaised<UsageError>(cause, raised));
    }
    return std::make_exception_ptr(HandlerRaised<Error>(cause, raised));
}

void name_call(nb::python_error const& raised, std::string const& call) {
    nb::handle const error = raised.value();
    if (!raised.matches(class_of<Error>) || !error.attr("call").equal(nb::str(message_call)))
        return;
    std::string const text = nb::str(error).c_str();
    error.attr("args") = nb::make_tuple(call + text.substr(std::string_view(message_call).size()));
    error.attr("call") = call;
}

void set_python_error(Error& error, std::string const& call) {
    error.name_call(call);
    set_error(exception_for(error));
}

void bind_errors(nb::module_& module) {
    make_classes(module);
    nb::register_exception_translator(translate);
    module.def("_throw_sample", throw_sample, nb::arg("name"));
    module.def("_text_of_sample", text_of_sample, nb::arg("name"));
}

}  // namespace carillon::python
