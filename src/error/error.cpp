// SPDX-License-Identifier: Apache-2.0
#include "carillon/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <system_error>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/owned.hpp"

namespace carillon {

char const detail::layout_of_library = 0;

namespace {

// what() would end at a byte 0.
std::string with_zeros_shown(std::string_view text) {
    std::string shown;
    for (char const each : text) {
        if (each == '\0') shown += '\\';
        shown += each == '\0' ? '0' : each;
    }
    return shown;
}

}  // namespace

Error::Error(std::string_view cause) : std::runtime_error(with_zeros_shown(cause)) {}
Error::Error(std::string_view call, std::string_view cause)
    : std::runtime_error(
          fmt::format("{}{}{}", call, call.empty() ? "" : ": ", with_zeros_shown(cause))),
      call_(call) {}

std::string_view Error::cause() const {
    return std::string_view(what()).substr(call_.empty() ? 0 : call_.size() + 2);
}

void Error::name_call(std::string_view call) {
    if (keeps_call_) return;
    std::runtime_error const named(fmt::format("{}: {}", call, what() + named_));
    call_ = call;
    named_ = call.size() + 2;
    std::runtime_error::operator=(named);
}

ResidencyError::ResidencyError(unsigned asked, unsigned fit)
    : Error(fmt::format("{} blocks requested, but {} can be resident at once", asked, fit)),
      asked_(asked),
      fit_(fit) {}

HandlerError::HandlerError(std::string_view command, std::uint32_t code)
    : Error(fmt::format("the handler refused {} with code {}", command, code)), code_(code) {}

CompileError::CompileError(std::string_view log)
    : Error(fmt::format("the handler does not compile:\n{}", log)), log_(log) {}

std::string_view to_string(RefusalReason reason) {
    constexpr std::array names{
#define CARILLON_REFUSAL(name, shown, in_c, text) std::string_view(shown),
#include "carillon/errors.def"
    };
    return names.at(static_cast<std::size_t>(reason));
}

RefusedError::RefusedError(RefusalReason reason, std::string_view cause)
    : Error(fmt::format("refused ({}): {}", to_string(reason), cause)), reason_(reason) {}

TimeoutError::TimeoutError(std::string_view before, std::chrono::nanoseconds timeout,
                           std::string_view behind)
    : Error(fmt::format("{}{}{}", before,
                        // A negative timeout is over at once.
                        detail::duration_text(std::max(timeout, std::chrono::nanoseconds(0))),
                        behind)),
      before_(before),
      behind_(behind) {}

TimeoutError TimeoutError::of_whole(std::chrono::nanoseconds timeout) const {
    if (before_.empty()) return *this;
    TimeoutError whole(before_, timeout, behind_);
    if (!call().empty()) whole.name_call(call());
    return whole;
}

CodedError::CodedError(std::string_view call, int code, std::string_view code_name,
                       std::string_view hint)
    : Error(call, fmt::format("{} ({}){}{}", code_name, code, hint.empty() ? "" : ": ", hint)),
      code_(code),
      code_name_(code_name) {}

DeviceFaultError::DeviceFaultError(std::string_view call, int code, std::string_view code_name)
    : CudaError(call, code, code_name,
                "a kernel has broken this process's CUDA context; use the GPU from a new process") {
}

namespace {

// The limit that was reached.
std::string_view limit_of(int error_number) {
    switch (error_number) {
        case EMFILE:
            return "this process has reached its limit of file descriptors (RLIMIT_NOFILE, ulimit "
                   "-n)";
        case ENFILE:
            return "the machine has reached its limit of open files (fs.file-max)";
        case ENOMEM:
            return "a memory limit is reached: of the machine, the container or this process "
                   "(RLIMIT_AS, ulimit -v; vm.max_map_count)";
        default:
            return {};
    }
}
// The name in <errno.h>.
std::string name_of(int error_number) {
    char const* const name = ::strerrorname_np(error_number);
    return name != nullptr ? name : "unknown errno";
}
std::string in_words(int error_number, std::string_view hint) {
    if (hint.empty()) hint = limit_of(error_number);
    return fmt::format("{}{}{}", std::generic_category().message(error_number),
                       hint.empty() ? "" : ": ", hint);
}

}  // namespace

SystemError::SystemError(std::string_view call, int error_number, std::string_view hint)
    : CodedError(call, error_number, name_of(error_number), in_words(error_number, hint)) {}

namespace detail {

std::string duration_text(std::chrono::nanoseconds duration) {
    auto const ns = static_cast<double>(duration.count());
    double const size = std::abs(ns);
    if (size == 0 || size >= 1e9) return fmt::format("{:.4g} s", ns / 1e9);
    if (size >= 1e6) return fmt::format("{:.4g} ms", ns / 1e6);
    if (size >= 1e3) return fmt::format("{:.4g} us", ns / 1e3);
    return fmt::format("{:.4g} ns", ns);
}

namespace {

// Changes the current error and rethrows it.
template <class Change>
[[noreturn]] void throw_changed(Change const& change) {
    try {
        throw;
    } catch (Error& error) {
        change(error);
        throw;
    }
}

std::string why_no_room(NoRoom where, std::uint32_t size, std::uint64_t untaken) {
    if (untaken != 0) {
        return fmt::format(
            "the next slot still holds the reply to request {}; take or abandon that reply",
            untaken);
    }
    switch (where) {
        case NoRoom::channel:
            return fmt::format(
                "all {} slots of the channel hold unanswered requests or replies not taken; take "
                "or abandon replies, or raise the channel's capacity",
                size);
        case NoRoom::client:
            return fmt::format(
                "this client has {} outstanding requests or replies not taken; take or abandon "
                "replies, or raise Pool::replies",
                size);
        default:
            return fmt::format(
                "all {} slots of the kernel's ring hold requests that no block has taken; use more "
                "blocks or a larger capacity",
                size);
    }
}

}  // namespace

void throw_named(std::string_view call) {
    throw_changed([&](Error& error) { error.name_call(call); });
}

void throw_kept() {
    throw_changed([](Error& error) { error.keep_call(); });
}

std::exception_ptr kept_exception() {
    try {
        throw_kept();
    } catch (...) {
        return std::current_exception();
    }
}

void throw_moved_from() { throw UsageError("the object was moved from"); }

void throw_not_sent(NoRoom where, std::uint32_t size, std::uint64_t untaken) {
    throw TimeoutError("no slot became free before the timeout, so the request was not sent: " +
                       why_no_room(where, size, untaken));
}

void throw_no_reply() {
    throw TimeoutError(
        "no reply came before the timeout; the request was sent and may still be served", true);
}

void throw_ring_full(std::chrono::nanoseconds timeout, std::uint32_t slots) {
    throw TimeoutError("the ring stayed full for ", timeout, fmt::format(" ({} slots)", slots));
}

void throw_no_message(std::chrono::nanoseconds timeout) {
    throw TimeoutError("no message arrived within ", timeout, "");
}

void throw_not_all_sent(std::size_t sent, std::size_t all, std::uint32_t size,
                        std::uint64_t untaken) {
    throw TimeoutError(fmt::format("{} of {} requests were sent before the timeout: {}", sent, all,
                                   why_no_room(NoRoom::channel, size, untaken)),
                       sent != 0);
}

void throw_not_all_taken(std::size_t taken, std::size_t all) {
    throw TimeoutError(
        fmt::format("{} of {} replies were taken before the timeout; the others may still come",
                    taken, all),
        true);
}

void throw_no_room_for_replies(std::size_t room, std::size_t all) {
    throw UsageError(fmt::format("the caller gave room for {} replies, but {} are due", room, all));
}

}  // namespace detail
}  // namespace carillon
