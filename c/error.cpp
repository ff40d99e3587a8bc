// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <exception>
#include <limits>
#include <new>

#include "handles.hpp"

// Of the project, as CMake knows it, and of the header.
static_assert(CARILLON_VERSION == CARILLON_PROJECT_VERSION);

namespace carillon::c {
namespace {

// Without memory of its own beyond this: an error may be that there is none.
struct LastError {
    std::array<char, 1024> text;
    int number;
};
thread_local LastError last_error{};

carillon_status keep(carillon_status status, std::string_view text, int number = 0) noexcept {
    std::size_t const length = std::min(text.size(), last_error.text.size() - 1);
    *std::copy_n(text.data(), length, last_error.text.data()) = '\0';
    last_error.number = number;
    return status;
}

carillon_status keep_coded(carillon_status status, CodedError const& error) noexcept {
    return keep(status, error.what(), error.code());
}

// The errors without a number, the most special ones first.
carillon_status keep_plain(Error const& error) noexcept {
    auto const is = [&]<class E>(E const* /*of*/) {
        return dynamic_cast<E const*>(&error) != nullptr;
    };
    carillon_status status = CARILLON_OTHER;
    if (is(static_cast<ForkError*>(nullptr)))
        status = CARILLON_FORKED;
    else if (is(static_cast<UsageError*>(nullptr)))
        status = CARILLON_USAGE;
    else if (is(static_cast<DeviceNotFoundError*>(nullptr)))
        status = CARILLON_NO_DEVICE;
    else if (is(static_cast<UnsupportedError*>(nullptr)))
        status = CARILLON_UNSUPPORTED;
    else if (is(static_cast<OutOfMemoryError*>(nullptr)))
        status = CARILLON_OUT_OF_MEMORY;
    else if (is(static_cast<ResidencyError*>(nullptr)))
        status = CARILLON_RESIDENCY;
    else if (is(static_cast<TimeoutError*>(nullptr)))
        status = CARILLON_TIMEOUT;
    else if (is(static_cast<OwnerGoneError*>(nullptr)))
        status = CARILLON_OWNER_GONE;
    else if (is(static_cast<StoppedError*>(nullptr)))
        status = CARILLON_STOPPED;
    else if (is(static_cast<RefusedError*>(nullptr)))
        status = CARILLON_REFUSED;
    else if (is(static_cast<HandlerError*>(nullptr)))
        status = CARILLON_HANDLER;
    else if (is(static_cast<FormatError*>(nullptr)))
        status = CARILLON_FORMAT;
    else if (is(static_cast<ProtocolError*>(nullptr)))
        status = CARILLON_PROTOCOL;
    return keep(status, error.what());
}

}  // namespace

carillon_status keep_error() noexcept {
    try {
        throw;
    } catch (SystemError const& error) {
        return keep_coded(CARILLON_SYSTEM, error);
    } catch (DeviceFaultError const& error) {
        return keep_coded(CARILLON_FAULT, error);
    } catch (CudaError const& error) {
        return keep_coded(CARILLON_CUDA, error);
    } catch (VulkanError const& error) {
        return keep_coded(CARILLON_VULKAN, error);
    } catch (Error const& error) {
        return keep_plain(error);
    } catch (std::bad_alloc const&) {
        return keep(CARILLON_OUT_OF_MEMORY, "carillon: there is no memory left");
    } catch (std::exception const& error) {
        return keep(CARILLON_OTHER, error.what());
    } catch (...) {
        return keep(CARILLON_OTHER, "carillon: something that is no exception");
    }
}

std::size_t bytes_of_all(std::string_view call, std::size_t bytes, std::size_t count) {
    if (bytes == 0 || count <= std::numeric_limits<std::size_t>::max() / bytes)
        return bytes * count;
    throw UsageError(call, fmt::format("{} messages of {} bytes", count, bytes));
}

void require_size(std::string_view call, std::size_t bytes, std::size_t wanted) {
    if (bytes == wanted) return;
    throw UsageError(
        call, fmt::format("a message of {} bytes, the other side's is of {}", bytes, wanted));
}

Direction direction_of(std::string_view call, carillon_direction direction) {
    switch (direction) {
        case CARILLON_TO_DEVICE:
            return Direction::to_device;
        case CARILLON_TO_HOST:
            return Direction::to_host;
    }
    throw UsageError(call, fmt::format("there is no direction {}", static_cast<int>(direction)));
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
int carillon_last_error_number() { return carillon::c::last_error.number; }

char const* carillon_status_name(carillon_status status) {
    struct Named {
        carillon_status status;
        char const* name;
    };
#define CARILLON_NAMED(status) \
    Named { status, #status }
    static constexpr Named all[] = {CARILLON_NAMED(CARILLON_OK),
                                    CARILLON_NAMED(CARILLON_NOT_NOW),
                                    CARILLON_NAMED(CARILLON_USAGE),
                                    CARILLON_NAMED(CARILLON_FORKED),
                                    CARILLON_NAMED(CARILLON_NO_DEVICE),
                                    CARILLON_NAMED(CARILLON_UNSUPPORTED),
                                    CARILLON_NAMED(CARILLON_OUT_OF_MEMORY),
                                    CARILLON_NAMED(CARILLON_RESIDENCY),
                                    CARILLON_NAMED(CARILLON_TIMEOUT),
                                    CARILLON_NAMED(CARILLON_STOPPED),
                                    CARILLON_NAMED(CARILLON_OWNER_GONE),
                                    CARILLON_NAMED(CARILLON_REFUSED),
                                    CARILLON_NAMED(CARILLON_HANDLER),
                                    CARILLON_NAMED(CARILLON_FORMAT),
                                    CARILLON_NAMED(CARILLON_PROTOCOL),
                                    CARILLON_NAMED(CARILLON_SYSTEM),
                                    CARILLON_NAMED(CARILLON_CUDA),
                                    CARILLON_NAMED(CARILLON_FAULT),
                                    CARILLON_NAMED(CARILLON_VULKAN),
                                    CARILLON_NAMED(CARILLON_OTHER)};
#undef CARILLON_NAMED
    for (Named const& each : all) {
        if (each.status == status) return each.name;
    }
    return "unknown";
}

}  // extern "C"
