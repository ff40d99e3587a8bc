// SPDX-License-Identifier: Apache-2.0
// The errors that the library throws. Each names the call that failed and the cause; its type says
// where it came from. errors.def is the table of errors; the classes with members are here.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {
namespace detail {

// Defined in the library. Every program that includes this header refers to it, so that a program
// whose standard library has another layout does not link (CARILLON_LAYOUT).
CARILLON_LAYOUT extern char const layout_of_library;
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init): only its address is used
CARILLON_LAYOUT [[gnu::used]] inline char const* const layout_of_program = &layout_of_library;

}  // namespace detail

// The base of all errors. what() is "<call>: <cause>".
class Error : public std::runtime_error {
   public:
    // For an error to which the public call that throws it adds its name, see name_call().
    explicit Error(std::string_view cause);
    // `call` names a call of a driver, the system or the program. The cause begins with it once a
    // public call has added its own name.
    Error(std::string_view call, std::string_view cause);

    // The public call that failed; if none is named, the call given to the constructor.
    [[nodiscard]] std::string const& call() const { return call_; }
    // Names the public call that failed. Each public call on the error's way out calls this, so the
    // outermost name stays. Does nothing after keep_call().
    void name_call(std::string_view call);
    // Keeps the call's name from now on. Call it before one error is thrown to several threads.
    void keep_call() {
        if (!keeps_call_) keeps_call_ = true;  // other threads call this, too
    }
    // The text without the call.
    [[nodiscard]] std::string_view cause() const;
    // Whether this error has ended a kernel. If so, every later call of the kernel throws it.
    [[nodiscard]] bool ended_kernel() const { return ended_kernel_; }
    // Marks an error that has ended a kernel; called by the code that stores it.
    void mark_ended_kernel() {
        ended_kernel_ = true;
        keep_call();
    }

   private:
    std::string call_;       // empty: not named yet
    std::size_t named_ = 0;  // bytes of what() that name_call() has put there
    bool keeps_call_ = false;
    bool ended_kernel_ = false;
};

// More blocks than can be resident at once.
class ResidencyError : public Error {
   public:
    ResidencyError(unsigned asked, unsigned fit);

    [[nodiscard]] unsigned asked() const { return asked_; }  // blocks of the launch
    [[nodiscard]] unsigned fit() const { return fit_; }      // blocks for which there was room

   private:
    unsigned asked_;
    unsigned fit_;
};

// A timeout passed. Nothing is lost: accepted requests stay accepted.
class TimeoutError : public Error {
   public:
    using Error::Error;
    TimeoutError(std::string_view cause, std::same_as<bool> auto sent)
        : Error(cause), sent_(sent) {}
    // Puts the caller's timeout between `before` and `behind` as the cause.
    TimeoutError(std::string_view before, std::chrono::nanoseconds timeout,
                 std::string_view behind);

    // The error of a wait of `timeout`, whose last part threw this error.
    [[nodiscard]] TimeoutError of_whole(std::chrono::nanoseconds timeout) const;

    // Whether the request was sent before the timeout. If so, it may still be served, and sending
    // it again may serve it twice. False if the call sends nothing, or had not sent yet.
    [[nodiscard]] bool sent() const { return sent_; }

   private:
    bool sent_ = false;
    std::string before_;  // both are empty if the text contains no time
    std::string behind_;
};

// The reasons for which the owner of a kernel or a store refuses a client, see errors.def.
enum class RefusalReason : std::uint8_t {
#define CARILLON_REFUSAL(name, shown, in_c, text) name,
#include "carillon/errors.def"
};
[[nodiscard]] std::string_view to_string(RefusalReason reason);  // its name, such as "full"

class RefusedError : public Error {
   public:
    RefusedError(RefusalReason reason, std::string_view cause);

    [[nodiscard]] RefusalReason reason() const { return reason_; }

   private:
    RefusalReason reason_;
};

// A handler refused a command; code() is the handler's code.
class HandlerError : public Error {
   public:
    // `command` is the name of the command's type.
    HandlerError(std::string_view command, std::uint32_t code);

    [[nodiscard]] std::uint32_t code() const { return code_; }  // Refusal::code

   private:
    std::uint32_t code_;
};

// A handler does not compile. what() has the compiler's log, with line numbers of the text.
class CompileError : public Error {
   public:
    explicit CompileError(std::string_view log);

    [[nodiscard]] std::string const& log() const { return log_; }

   private:
    std::string log_;
};

// A call of a library or of the system failed. code() is the error's number, code_name() its name.
class CodedError : public Error {
   public:
    // `hint` says how to fix it.
    CodedError(std::string_view call, int code, std::string_view code_name,
               std::string_view hint = {});

    [[nodiscard]] int code() const { return code_; }  // errno, a CUresult or a VkResult
    // The number's name in the library or the system.
    [[nodiscard]] std::string const& code_name() const { return code_name_; }

   private:
    int code_;
    std::string code_name_;
};

class SystemError : public CodedError {  // errno
   public:
    // `hint` says how to fix it.
    SystemError(std::string_view call, int error_number, std::string_view hint = {});
};

// UsageError, ForkError, StoppedError, and all others that have only a text.
#define CARILLON_ERROR_WITH(name, base, status, python_base, members, text)
#define CARILLON_ERROR(name, base, status, python_base, text) \
    class name : public base {                                \
        using base::base;                                     \
    };
#include "carillon/errors.def"

// A kernel has made this process's CUDA context unusable.
class DeviceFaultError : public CudaError {
   public:
    DeviceFaultError(std::string_view call, int code, std::string_view code_name);
};

}  // namespace carillon
