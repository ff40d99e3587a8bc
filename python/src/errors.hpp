// SPDX-License-Identifier: Apache-2.0
// This library's errors as Python's exceptions.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "carillon/error.hpp"

namespace carillon::python {

// The call's name in an error that is raised while a message is encoded, until the call that was to
// send it names it.
inline constexpr char const* message_call = "message";

// An argument has a type that the call does not take. Python's TypeError, too.
class ArgumentTypeError : public UsageError {
    using UsageError::UsageError;
};

// An exception of Python's, kept while there is no GIL. It goes with the GIL, or stays if Python
// ends first.
class KeptException {
   public:
    explicit KeptException(PyObject* stolen) : exception_(stolen) {}
    KeptException(KeptException const&) = delete;
    KeptException& operator=(KeptException const&) = delete;
    ~KeptException();

    [[nodiscard]] PyObject* get() const { return exception_; }  // borrowed

   private:
    PyObject* exception_;
};

// An error that an exception of Python's has caused: its __cause__ in Python.
class WithCause {
   public:
    explicit WithCause(std::shared_ptr<KeptException const> raised) : raised_(std::move(raised)) {}
    virtual ~WithCause() = default;
    [[nodiscard]] PyObject* raised() const { return raised_->get(); }

   private:
    std::shared_ptr<KeptException const> raised_;
};

// A handler in Python has raised an exception. `Kind`: UsageError if that is one, otherwise Error.
template <class Kind>
class HandlerRaised : public Kind, public WithCause {
   public:
    HandlerRaised(std::string_view cause, std::shared_ptr<KeptException const> raised)
        : Kind("PersistentKernel", cause), WithCause(std::move(raised)) {}
};
// Call it with the GIL. `text`: the last line of a traceback.
[[nodiscard]] std::exception_ptr handler_raised(std::string const& text,
                                                std::shared_ptr<KeptException const> const& raised);

// Gives an error of a message that Python could not encode the call that was to send it.
void name_call(nb::python_error const& raised, std::string const& call);

// Sets Python's error to the exception for `error`. It names `call` in place of the call of the C++
// library, unless the kernel had ended before.
void set_python_error(Error& error, std::string const& call);

}  // namespace carillon::python
