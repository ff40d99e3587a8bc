// SPDX-License-Identifier: Apache-2.0
// Errors. Every one names the call that failed and the cause; the type says where it came from.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace carillon {

// what() is "<call>: <cause>".
class Error : public std::runtime_error {
   public:
    Error(std::string_view call, std::string_view cause);

    // The call that failed: one of this library, of a driver or of the system.
    [[nodiscard]] std::string const& call() const { return call_; }

   private:
    std::string call_;
};

// The caller asked for something that makes no sense: a bad argument, a wrong state.
class UsageError : public Error {
    using Error::Error;
};

// A child that was forked uses what its parent has made (docs/threads.md).
class ForkError : public UsageError {
    using UsageError::UsageError;
};

// The selector names no device of this machine; the text lists why each kind is missing.
class DeviceNotFoundError : public Error {
    using Error::Error;
};

// What was asked for exists but this machine, driver or build does not offer it.
class UnsupportedError : public Error {
    using Error::Error;
};

// The request exceeds the memory there is; the text gives both numbers, in bytes.
class OutOfMemoryError : public Error {
    using Error::Error;
};

// More blocks than can be resident at once.
class ResidencyError : public Error {
   public:
    ResidencyError(std::string_view call, unsigned asked, unsigned fit);

    [[nodiscard]] unsigned asked() const { return asked_; }  // blocks of the launch
    [[nodiscard]] unsigned fit() const { return fit_; }      // as many would have had room

   private:
    unsigned asked_;
    unsigned fit_;
};

// A deadline passed. Nothing is lost: what was accepted stays accepted.
class TimeoutError : public Error {
   public:
    TimeoutError(std::string_view call, std::string_view cause, bool sent = false);

    // Whether a request had been sent when the time was over: it may still be served, and one that
    // is sent again is served twice. False where the call sends nothing, or had not yet.
    [[nodiscard]] bool sent() const { return sent_; }

   private:
    bool sent_;
};

// The kernel was stopped, or ended by itself, or its owner has ended the channel; no command can
// reach it any more.
class StoppedError : public Error {
    using Error::Error;
};

// The process that owns the kernel has ended, or has closed the connection. What had been answered
// can be taken still; of what had not nobody knows whether it was served.
class OwnerGoneError : public StoppedError {
    using StoppedError::StoppedError;
};

// Why the owner of a kernel, or of a store of buffers, says no to a client.
enum class RefusalReason : std::uint8_t {
    version,             // the two sides' versions of the handshake differ
    unknown_object,      // it serves nothing of that name
    wrong_types,         // requests or replies are of other types
    not_allowed,         // the user and its groups are not among those that may
    full,                // every block has a client; the store has no room
    too_many_of_client,  // as many as one connection may have
    stopping,            // the kernel drains, was stopped or has failed
    bad_message,         // it takes what it was sent for nonsense
    name_taken,          // another buffer of the store has that name
    not_sealed,          // the buffer is its maker's alone still
    other,               // the text says it
};
[[nodiscard]] std::string_view to_string(RefusalReason reason);  // its name, as "full"

class RefusedError : public Error {
   public:
    RefusedError(std::string_view call, RefusalReason reason, std::string_view cause);

    [[nodiscard]] RefusalReason reason() const { return reason_; }

   private:
    RefusalReason reason_;
};

// A handler refused a command; code() is what it said.
class HandlerError : public Error {
   public:
    // `command`: the name of its type.
    HandlerError(std::string_view call, std::string_view command, std::uint32_t code);

    [[nodiscard]] std::uint32_t code() const { return code_; }  // Refusal::code

   private:
    std::uint32_t code_;
};

// A handler does not compile. what() has the compiler's log, with the lines of the text.
class CompileError : public Error {
   public:
    CompileError(std::string_view call, std::string_view log);

    [[nodiscard]] std::string const& log() const { return log_; }

   private:
    std::string log_;
};

// A file that is not what it should be.
class FormatError : public Error {
    using Error::Error;
};

// The other process sent what it may not.
class ProtocolError : public Error {
    using Error::Error;
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

class CudaError : public CodedError {  // CUresult
    using CodedError::CodedError;
};

// What a kernel did broke the CUDA context of this process: an illegal address, a trap, an assert,
// a watchdog. Every later use of that GPU in this process throws it too, and CUDA may refuse its
// other GPUs as well; a new process can go on.
class DeviceFaultError : public CudaError {
   public:
    DeviceFaultError(std::string_view call, int code, std::string_view code_name);
};

class VulkanError : public CodedError {  // VkResult
    using CodedError::CodedError;
};

}  // namespace carillon
