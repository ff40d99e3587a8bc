// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <exception>
#include <limits>
#include <new>

#include "handles.hpp"

// CMake and the header have one version of the project.
static_assert(CARILLON_VERSION == CARILLON_PROJECT_VERSION);

namespace carillon::c {
namespace {

// It has no memory beyond this: an error may be that there is none.
struct LastError {
    std::array<char, 1024> text;
    carillon_error_details details;
};
thread_local LastError last_error{};

// A new last error: "<call>: <text>".
carillon_error_details& keep(carillon_status status, std::string_view call,
                             std::string_view text) noexcept {
    last_error = {};
    auto* const all = last_error.text.data();
    auto const room = last_error.text.size() - 1;
    char* to = std::copy(call.begin(), call.end(), all);
    to = std::copy_n(": ", 2, to);
    std::copy_n(text.data(), std::min(text.size(), room - static_cast<std::size_t>(to - all)), to);
    last_error.details.status = status;
    copy_name(last_error.details.call, call);
    return last_error.details;
}

carillon_refusal told(RefusalReason reason) {
    switch (reason) {
#define CARILLON_REFUSAL(name, shown, in_c, text) \
    case RefusalReason::name:                     \
        return in_c;
#include "carillon/errors.def"
    }
    return CARILLON_REFUSAL_OTHER;
}
void put(int& to, bool value) { to = value ? 1 : 0; }
void put(carillon_refusal& to, RefusalReason reason) { to = told(reason); }
template <std::size_t size>
void put(char (&to)[size], std::string_view text) {
    copy_name(to, text);
}
void put(std::uint32_t& to, unsigned number) { to = number; }
void put(std::int64_t& to, std::int64_t number) { to = number; }

// If an error belongs to several classes, the last one of the table is the most derived one.
carillon_status keep_from_table(std::string_view call, Error const& given) noexcept {
    // An error that has ended the kernel keeps its own name behind the call's.
    bool const named = given.call() == call;
    carillon_error_details& details =
        keep(CARILLON_OTHER, call, named ? given.cause() : std::string_view(given.what()));
#define CARILLON_MEMBER(type, member, text)                                     \
    [&](auto& to) {                                                             \
        if constexpr (requires { to.member; }) put(to.member, error->member()); \
    }(details);
#define CARILLON_ERROR_WITH(name, base, in_c, python_base, members, text)         \
    if ([[maybe_unused]] auto const* error = dynamic_cast<name const*>(&given)) { \
        details.status = in_c;                                                    \
        members                                                                   \
    }
#define CARILLON_ERROR(name, base, in_c, python_base, text) \
    CARILLON_ERROR_WITH(name, base, in_c, python_base, , text)
#include "carillon/errors.def"
#undef CARILLON_MEMBER
    copy_name(details.call, call);
    return details.status;
}

}  // namespace

carillon_status keep_error(std::string_view call) noexcept {
    try {
        detail::throw_named(call);
    } catch (Error const& error) {
        return keep_from_table(call, error);
    } catch (std::bad_alloc const&) {
        return keep(CARILLON_OUT_OF_MEMORY, call, "no memory is left").status;
    } catch (std::exception const& error) {
        return keep(CARILLON_OTHER, call, error.what()).status;
    } catch (...) {
        return keep(CARILLON_OTHER, call, "something other than an exception was thrown").status;
    }
}

std::size_t bytes_of_all(std::size_t bytes, std::size_t count) {
    if (bytes == 0 || count <= std::numeric_limits<std::size_t>::max() / bytes)
        return bytes * count;
    throw UsageError(
        fmt::format("{} messages of {} bytes are more than a program can address", count, bytes));
}

void require_size(std::size_t bytes, std::size_t wanted) {
    if (bytes == wanted) return;
    throw UsageError(
        fmt::format("a message of {} bytes was given, but the other side's has {}", bytes, wanted));
}

Direction direction_of(carillon_direction direction) {
    switch (direction) {
        case CARILLON_TO_DEVICE:
            return Direction::to_device;
        case CARILLON_TO_HOST:
            return Direction::to_host;
    }
    throw UsageError(
        fmt::format("there is no direction {}: use CARILLON_TO_DEVICE or CARILLON_TO_HOST",
                    static_cast<int>(direction)));
}

carillon_state state_of(KernelState state) {
    switch (state) {
        case KernelState::starting:
            return CARILLON_STARTING;
        case KernelState::running:
            return CARILLON_RUNNING;
        case KernelState::draining:
            return CARILLON_DRAINING;
        case KernelState::stopped:
            return CARILLON_ENDED;
        case KernelState::failed:
            break;
    }
    return CARILLON_FAILED;
}

}  // namespace carillon::c

extern "C" {

uint32_t carillon_version() { return CARILLON_VERSION; }

char const* carillon_last_error() { return carillon::c::last_error.text.data(); }
int carillon_last_error_number() {
    carillon_error_details const& details = carillon::c::last_error.details;
    return details.code_name[0] == '\0' ? 0 : static_cast<int>(details.code);
}
carillon_status carillon_last_error_details(carillon_error_details* details) {
    auto const last = carillon::c::last_error.details;  // which an error of this call replaces
    return carillon::c::guarded("carillon_last_error_details",
                                [&] { carillon::c::tell(last, details); });
}

char const* carillon_status_name(carillon_status status) {
#define CARILLON_NAMED(each) \
    if (status == (each)) return #each;
#define CARILLON_ERROR(name, base, in_c, python_base, text) CARILLON_NAMED(in_c)
    CARILLON_NAMED(CARILLON_OK)
    CARILLON_NAMED(CARILLON_NOT_NOW)
#include "carillon/errors.def"
    return "unknown";
}

}  // extern "C"
