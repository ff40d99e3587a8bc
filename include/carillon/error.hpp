// SPDX-License-Identifier: Apache-2.0
// Errors. Every one names the call that failed and the cause; the type says where it came from.
// errors.def is the table of them. This file has the classes with members, and makes the others.
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

// Of the library, and what each program refers to that includes this header: also one that has none
// of the classes with another name.
CARILLON_LAYOUT extern char const layout_of_library;
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init): of its address alone
CARILLON_LAYOUT [[gnu::used]] inline char const* const layout_of_program = &layout_of_library;

}  // namespace detail

// what() is "<call>: <cause>".
class Error : public std::runtime_error {
   public:
    // The public call that it leaves names it: see name_call().
    explicit Error(std::string_view cause);
    // Of this call, whichever calls it leaves: one of a driver or of the system.
    Error(std::string_view call, std::string_view cause);

    // The call that failed: one of this library, of a driver or of the system.
    [[nodiscard]] std::string const& call() const { return call_; }
    // Says which public call failed. Each that the error leaves says so: the last one's name stays.
    // Nothing changes where the error was made with a call, or keep_call() was called.
    void name_call(std::string_view call);
    // From now on the call stays. Whoever throws one error to several threads calls it first.
    void keep_call() {
        if (!keeps_call_) keeps_call_ = true;  // those threads call it, too
    }
    // The text without the call.
    [[nodiscard]] std::string_view cause() const;
    // Whether this error has ended a kernel: every later call of the kernel throws it, whatever
    // that call did.
    [[nodiscard]] bool ended_kernel() const { return ended_kernel_; }
    // For whoever keeps the error that has ended a kernel.
    void mark_ended_kernel() {
        ended_kernel_ = true;
        keep_call();
    }

   private:
    std::string call_;  // empty: not named yet
    bool keeps_call_;
    bool ended_kernel_ = false;
};

// More blocks than can be resident at once.
class ResidencyError : public Error {
   public:
    ResidencyError(unsigned asked, unsigned fit);

    [[nodiscard]] unsigned asked() const { return asked_; }  // blocks of the launch
    [[nodiscard]] unsigned fit() const { return fit_; }      // as many would have had room

   private:
    unsigned asked_;
    unsigned fit_;
};

// A deadline passed. Nothing is lost: what was accepted stays accepted.
class TimeoutError : public Error {
   public:
    explicit TimeoutError(std::string_view cause) : Error(cause) {}
    TimeoutError(std::string_view cause, std::same_as<bool> auto sent)
        : Error(cause), sent_(sent) {}
    TimeoutError(std::string_view call, std::string_view cause, bool sent = false);
    // The cause tells the time that the caller gave, between `before` and `behind`.
    TimeoutError(std::string_view before, std::chrono::nanoseconds timeout,
                 std::string_view behind);
    TimeoutError(std::string_view call, std::string_view before, std::chrono::nanoseconds timeout,
                 std::string_view behind);

    // The error of a wait of `timeout`, where this is the error of its last part.
    [[nodiscard]] TimeoutError of_whole(std::chrono::nanoseconds timeout) const;

    // Whether a request had been sent when the time was over: it may still be served, and one that
    // is sent again is served twice. False where the call sends nothing, or had not yet.
    [[nodiscard]] bool sent() const { return sent_; }

   private:
    bool sent_ = false;
    std::string before_;  // both are empty where the text tells no time
    std::string behind_;
};

// Why the owner of a kernel, or of a store of buffers, says no to a client: see errors.def.
enum class RefusalReason : std::uint8_t {
#define CARILLON_REFUSAL(name, shown, in_c, text) name,
#include "carillon/errors.def"
};
[[nodiscard]] std::string_view to_string(RefusalReason reason);  // its name, as "full"

class RefusedError : public Error {
   public:
    RefusedError(RefusalReason reason, std::string_view cause);
    RefusedError(std::string_view call, RefusalReason reason, std::string_view cause);

    [[nodiscard]] RefusalReason reason() const { return reason_; }

   private:
    RefusalReason reason_;
};

// A handler refused a command; code() is what it said.
class HandlerError : public Error {
   public:
    // `command`: the name of its type.
    HandlerError(std::string_view command, std::uint32_t code);
    HandlerError(std::string_view call, std::string_view command, std::uint32_t code);

    [[nodiscard]] std::uint32_t code() const { return code_; }  // Refusal::code

   private:
    std::uint32_t code_;
};

// A handler does not compile. what() has the compiler's log, with the lines of the text.
class CompileError : public Error {
   public:
    explicit CompileError(std::string_view log);

    [[nodiscard]] std::string const& log() const { return log_; }

   private:
    std::string log_;
};

// A library or the system said no: code() is its number, code_name() its name for it.
class CodedError : public Error {
   public:
    // `hint`: what to do about it.
    CodedError(std::string_view call, int code, std::string_view code_name,
               std::string_view hint = {});

    [[nodiscard]] int code() const { return code_; }  // errno, a CUresult or a VkResult
    // As the library or the system calls it.
    [[nodiscard]] std::string const& code_name() const { return code_name_; }

   private:
    int code_;
    std::string code_name_;
};

class SystemError : public CodedError {  // errno
   public:
    // `hint`: as CodedError's.
    SystemError(std::string_view call, int error_number, std::string_view hint = {});
};

// UsageError, ForkError, StoppedError and all others that say no more than their text.
#define CARILLON_ERROR_WITH(name, base, status, python_base, members, text)
#define CARILLON_ERROR(name, base, status, python_base, text) \
    class name : public base {                                \
        using base::base;                                     \
    };
#include "carillon/errors.def"

// What a kernel did broke the CUDA context of this process.
class DeviceFaultError : public CudaError {
   public:
    DeviceFaultError(std::string_view call, int code, std::string_view code_name);
};

}  // namespace carillon
