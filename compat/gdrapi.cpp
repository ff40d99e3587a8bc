// SPDX-License-Identifier: Apache-2.0
// gdrcopy's calls over Device, Memory and the copies. docs/migrate/gdrcopy.md lists the
// differences.
#include "carillon/compat/gdrapi.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "carillon/copy.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "gdr_pins.hpp"

// It may be used by several threads.
struct gdr {
    carillon::compat::Maker maker;
    std::mutex mutex;
    std::set<unsigned long> pinned;                    // handles
    std::map<unsigned long, carillon::Memory> memory;  // by the addresses that were given
};

namespace carillon::compat {
namespace {

thread_local std::string last_gdr_error;

// Writes a line to stderr. The line is lost where nobody reads stderr or a write would have to
// wait.
void say(std::string const& line) {
    pollfd out{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&out, 1, 0) != 1 || out.revents != POLLOUT) return;
    std::string const text = "carillon: " + line + '\n';
    (void)!::write(STDERR_FILENO, text.data(), text.size());
}

// Keeps why, where there is memory for it, and gives `error` back.
int refused(int error, std::string_view why) noexcept {
    try {
        last_gdr_error = why;
    } catch (std::bad_alloc const&) {
        last_gdr_error.clear();
    }
    if (std::getenv("GDRCOPY_ENABLE_LOGGING") != nullptr) {
        try {
            say(last_gdr_error);
        } catch (std::bad_alloc const&) {  // no memory for the line
        }
    }
    return error;
}
template <class... Values>
int refused(int error, std::string_view call, fmt::format_string<Values...> why,
            Values&&... values) noexcept {
    try {
        std::string const text = fmt::format(why, std::forward<Values>(values)...);
        return refused(error, fmt::format("{}: {}", call, text));
    } catch (std::bad_alloc const&) {
        return refused(error, call);
    }
}
template <class... Values>
int refused(std::string_view call, fmt::format_string<Values...> why, Values&&... values) noexcept {
    return refused(EINVAL, call, why, std::forward<Values>(values)...);
}

// Once, whatever is set: programs for gdrcopy do not ask why.
int cannot_be_mapped(std::string const& why) {
    static std::atomic_flag told;
    bool const logs = std::getenv("GDRCOPY_ENABLE_LOGGING") != nullptr;
    if (!told.test_and_set() && !logs) say(why);
    return refused(ENOTSUP, why);
}

// 0, or the errno that is nearest to what `call` threw.
template <class Call>
int returned(std::string_view name, Call&& call) noexcept {
    try {
        return call();
    } catch (UsageError const& error) {
        return refused(EINVAL, name, "{}", error.what());
    } catch (OutOfMemoryError const& error) {
        return refused(ENOMEM, name, "{}", error.what());
    } catch (UnsupportedError const& error) {
        return refused(ENOTSUP, name, "{}", error.what());
    } catch (DeviceNotFoundError const& error) {
        return refused(ENODEV, name, "{}", error.what());
    } catch (SystemError const& error) {
        return refused(error.code(), name, "{}", error.what());
    } catch (std::bad_alloc const&) {
        return refused(ENOMEM, name);
    } catch (std::exception const& error) {
        return refused(EIO, name, "{}", error.what());
    }
}

// 0 for what this process has opened; EACCES, as gdrcopy's module says, for what a parent has.
int own(std::string_view call, Maker const& maker) {
    if (!maker.is_a_parent()) [[likely]]
        return 0;
    return refused(EACCES, call,
                   "the handle belongs to the parent process: fork() does not pass it on");
}
int usable(std::string_view call, gdr const* g) {
    return g == nullptr ? refused(call, "the gdr_t is a null pointer") : own(call, g->maker);
}
int usable(std::string_view call, gdr const* g, void const* result) {
    return result == nullptr ? refused(call, "the output argument is a null pointer")
                             : usable(call, g);
}

// The whole pages that [address, address + size) touches, of memory that begins and ends anywhere.
Pinned part_of(Held held, std::uint64_t address, std::size_t size) {
    HeldMemory const& whole = held.memory();
    Pinned part;
    part.va = std::max(whole.device, address & GPU_PAGE_MASK);
    std::uint64_t const end =
        std::min(whole.device + whole.size, (address + size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK);
    part.size = end - part.va;
    part.host = whole.host + (part.va - whole.device);
    part.write_combining = whole.write_combining;
    part.held = std::move(held);
    return part;
}

// Maps CUDA's memory. It opens the device without device memory of Carillon's own, which open()
// would try out.
Pinned mapped_by_driver(std::uint64_t address, std::size_t size) {
    Pinned part;
    part.va = address & GPU_PAGE_MASK;
    part.size = ((address + size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK) - part.va;
    Device const device = Device::open("current", {.memory = DeviceMemory::host});
    part.own = device.map(reinterpret_cast<void*>(part.va), part.size);
    part.host = static_cast<std::byte*>(part.own.host_ptr());
    part.write_combining = true;
    return part;
}

int keep(gdr* g, Pinned pinned, gdr_mh_t* handle) {
    pinned.of = g;
    unsigned long const number = PinTable::get().add(std::move(pinned));
    std::lock_guard const lock(g->mutex);
    try {
        g->pinned.insert(number);
    } catch (...) {
        PinTable::get().remove(number);
        throw;
    }
    handle->h = number;
    return 0;
}

int pin(std::string_view call, gdr* g, std::uint64_t address, std::size_t size, gdr_mh_t* handle) {
    if (int const error = usable(call, g, handle)) return error;
    if (address == 0 || size == 0 || size > SIZE_MAX - GPU_PAGE_SIZE ||
        address > SIZE_MAX - size - GPU_PAGE_SIZE) {
        return refused(call, "{} bytes at {:#x} are not a range of addresses", size, address);
    }
    return returned(call, [&] {
        bool inherited = false;
        if (auto held = hold(address, size, inherited)) {
            return keep(g, part_of(*std::move(held), address, size), handle);
        }
        if (inherited) {
            return refused(EACCES, call,
                           "the memory belongs to the parent process: fork() does not pass it on");
        }
        auto const why = [&](Error const& error) {
            return fmt::format(
                "{}: {} bytes at {:#x} are not Carillon's memory and cannot be mapped here: {}; "
                "use memory from carillon_gdr_alloc (docs/migrate/gdrcopy.md)",
                call, size, address, error.what());
        };
        try {
            return keep(g, mapped_by_driver(address, size), handle);
        } catch (UnsupportedError const& error) {
            return cannot_be_mapped(why(error));
        } catch (DeviceNotFoundError const& error) {
            return cannot_be_mapped(why(error));
        } catch (UsageError const& error) {  // no address of CUDA's, or no context
            return refused(EINVAL, why(error));
        }
    });
}

// Sets `found` to what `handle` has pinned of `g`; 0, or an error.
int find_pinned(std::string_view call, gdr const* g, gdr_mh_t handle, Pinned*& found) {
    found = PinTable::get().find(handle.h);
    if (found != nullptr && g != nullptr && found->of == g) return own(call, found->maker);
    return refused(call, "{:#x} is not a handle of pinned memory", handle.h);
}

int unpin(gdr* g, unsigned long handle) {
    PinTable::get().remove(handle);
    g->pinned.erase(handle);
    return 0;
}

gdr_mapping_type type_of(Pinned const& pinned) {
    return pinned.write_combining ? GDR_MAPPING_TYPE_WC : GDR_MAPPING_TYPE_CACHING;
}

// All members but mapping_type, which version 1 of the struct has not.
template <class Info>
void tell(Pinned const& pinned, Info* info) {
    info->va = pinned.va;
    info->mapped_size = pinned.size;
    info->page_size = GPU_PAGE_SIZE;
    info->tm_cycles = 0;
    info->cycles_per_ms = 0;
    info->mapped = pinned.mapped != 0;
    info->wc_mapping = pinned.mapped != 0 && pinned.write_combining;
}

int map(std::string_view call, Pinned& pinned, void** va, std::size_t size, int flags) {
    if (va == nullptr) return refused(call, "the output argument is a null pointer");
    if (size == 0 || size > pinned.whole_pages()) {
        return refused(call, "{} bytes to map, but {} are pinned", size, pinned.size);
    }
    if (flags != GDR_MAP_FLAG_DEFAULT && flags != static_cast<int>(type_of(pinned))) {
        return refused(call,
                       "flag {} does not fit the memory's mapping type {}: use "
                       "GDR_MAP_FLAG_DEFAULT",
                       flags, static_cast<int>(type_of(pinned)));
    }
    if (pinned.mapped != 0)
        return refused(EAGAIN, call, "the memory is already mapped: gdr_unmap it first");
    pinned.mapped = size;
    *va = pinned.host;
    return 0;
}

// Sets `found` to what a copy of `size` bytes at `where` goes through; 0, or an error.
int find_mapping(std::string_view call, gdr_mh_t handle, void const* where, void const* other,
                 std::size_t size, Pinned*& found) {
    found = PinTable::get().find(handle.h);
    if (found != nullptr && found->maps(where, size) && (other != nullptr || size == 0)) [[likely]]
        return own(call, found->maker);
    if (found == nullptr) return refused(call, "{:#x} is not a handle of pinned memory", handle.h);
    if (int const error = own(call, found->maker)) return error;
    if (other == nullptr) return refused(call, "h_ptr is a null pointer");
    return refused(call, "{} bytes at {} are not in the mapping of {} bytes at {}", size, where,
                   found->reach(), static_cast<void*>(found->host));
}

Device device_for_memory() {
    char const* const named = std::getenv("CARILLON_DEVICE");
    DeviceOptions const options{.memory = DeviceMemory::mapped};
    if (named != nullptr) return Device::open(named, options);
    try {
        return Device::open("current", options);
    } catch (UsageError const&) {  // there is no context
    } catch (DeviceNotFoundError const&) {
    }
    return Device::open("best", options);
}

int allocate_pages(gdr* g, std::size_t size, unsigned long* address) {
    std::size_t const pages = (size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
    Memory memory = device_for_memory().allocate(pages + GPU_PAGE_SIZE);  // it begins anywhere
    auto const begin = reinterpret_cast<unsigned long>(memory.device_ptr());
    *address = (begin + GPU_PAGE_OFFSET) & GPU_PAGE_MASK;
    std::lock_guard const lock(g->mutex);
    g->memory.emplace(*address, std::move(memory));
    return 0;
}

}  // namespace
}  // namespace carillon::compat

namespace c = carillon::compat;

extern "C" {

gdr_t gdr_open() {
    gdr_t g = nullptr;
    c::returned("gdr_open", [&] {
        g = new gdr;
        return 0;
    });
    return g;
}
int gdr_close(gdr_t g) {
    if (int const error = c::usable("gdr_close", g)) return error;
    while (!g->pinned.empty()) c::unpin(g, *g->pinned.begin());
    delete g;
    return 0;
}

int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t /*p2p_token*/,
                   uint32_t /*va_space*/, gdr_mh_t* handle) {
    return c::pin("gdr_pin_buffer", g, addr, size, handle);
}
int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags, gdr_mh_t* handle) {
    constexpr char const* call = "gdr_pin_buffer_v2";
    if ((flags & ~static_cast<uint32_t>(GDR_PIN_FLAG_FORCE_PCIE)) != 0) {
        return c::refused(call, "unknown flags {:#x}: use 0 or GDR_PIN_FLAG_FORCE_PCIE", flags);
    }
    return c::pin(call, g, addr, size, handle);
}
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle) {
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned("gdr_unpin_buffer", g, handle, pinned)) return error;
    std::lock_guard const lock(g->mutex);
    return c::unpin(g, handle.h);
}

int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int* flag) {
    constexpr char const* call = "gdr_get_callback_flag";
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned(call, g, handle, pinned)) return error;
    if (flag == nullptr) return c::refused(call, "flag is a null pointer");
    *flag = 0;  // pinned memory stays
    return 0;
}

int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t* info) {
    constexpr char const* call = "gdr_get_info_v2";
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned(call, g, handle, pinned)) return error;
    if (info == nullptr) return c::refused(call, "info is a null pointer");
    c::tell(*pinned, info);
    info->mapping_type = pinned->mapped == 0 ? GDR_MAPPING_TYPE_NONE : c::type_of(*pinned);
    return 0;
}
// For programs that were compiled before there was a second version, or that ask for it by name.
#undef gdr_get_info
[[gnu::visibility("default")]] int gdr_get_info(gdr_t g, gdr_mh_t handle, gdr_info_t* info) {
    constexpr char const* call = "gdr_get_info";
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned(call, g, handle, pinned)) return error;
    if (info == nullptr) return c::refused(call, "info is a null pointer");
    c::tell(*pinned, info);
    return 0;
}

int gdr_map_v2(gdr_t g, gdr_mh_t handle, void** va, size_t size, int flags) {
    constexpr char const* call = "gdr_map";
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned(call, g, handle, pinned)) return error;
    return c::map(call, *pinned, va, size, flags);
}
int gdr_map(gdr_t g, gdr_mh_t handle, void** va, size_t size) {
    return gdr_map_v2(g, handle, va, size, GDR_MAP_FLAG_DEFAULT);
}
int gdr_unmap(gdr_t g, gdr_mh_t handle, void* va, size_t size) {
    constexpr char const* call = "gdr_unmap";
    c::Pinned* pinned = nullptr;
    if (int const error = c::find_pinned(call, g, handle, pinned)) return error;
    if (pinned->mapped == 0) return c::refused(call, "the memory is not mapped");
    if (va != pinned->host || size != pinned->mapped) {
        return c::refused(call, "{} bytes at {} are not the mapping: {} bytes at {}", size, va,
                          pinned->mapped, static_cast<void*>(pinned->host));
    }
    pinned->mapped = 0;
    return 0;
}

int gdr_copy_to_mapping(gdr_mh_t handle, void* map_d_ptr, void const* h_ptr, size_t size) {
    c::Pinned* to = nullptr;
    if (int const error =
            c::find_mapping("gdr_copy_to_mapping", handle, map_d_ptr, h_ptr, size, to))
        return error;
    carillon::stream_copy(
        to->write_combining ? carillon::best_copy_stores() : carillon::StoreKind::cached, map_d_ptr,
        h_ptr, size);
    carillon::store_fence();
    return 0;
}
int gdr_copy_from_mapping(gdr_mh_t handle, void* h_ptr, void const* map_d_ptr, size_t size) {
    c::Pinned* from = nullptr;
    if (int const error =
            c::find_mapping("gdr_copy_from_mapping", handle, map_d_ptr, h_ptr, size, from))
        return error;
    carillon::stream_load(h_ptr, map_d_ptr, size);
    return 0;
}

void gdr_runtime_get_version(int* major, int* minor) {
    if (major != nullptr) *major = GDR_API_MAJOR_VERSION;
    if (minor != nullptr) *minor = GDR_API_MINOR_VERSION;
}
int gdr_driver_get_version(gdr_t g, int* major, int* minor) {
    void const* const both = major == nullptr ? major : minor;
    if (int const error = c::usable("gdr_driver_get_version", g, both)) return error;
    gdr_runtime_get_version(major, minor);
    return 0;
}
int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int* v) {
    constexpr char const* call = "gdr_get_attribute";
    if (int const error = c::usable(call, g, v)) return error;
    if (attr < GDR_ATTR_USE_PERSISTENT_MAPPING || attr >= GDR_ATTR_MAX) {
        return c::refused(call, "there is no attribute {}", static_cast<int>(attr));
    }
    *v = attr == GDR_ATTR_USING_DMA_BUF_MMAP ? 0 : 1;
    return 0;
}
int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, char const** text) {
    static constexpr char const* names[] = {"None", "Write Combining", "Caching", "Device"};
    constexpr char const* call = "gdr_get_mapping_type_string";
    if (text == nullptr) return c::refused(call, "the output argument is a null pointer");
    if (static_cast<unsigned>(mapping_type) >= std::size(names)) {
        return c::refused(call, "unknown mapping type {}", static_cast<unsigned>(mapping_type));
    }
    *text = names[mapping_type];
    return 0;
}

int carillon_gdr_alloc(gdr_t g, size_t size, unsigned long* addr) {
    constexpr char const* call = "carillon_gdr_alloc";
    if (int const error = c::usable(call, g, addr)) return error;
    if (size == 0 || size > SIZE_MAX / 2) {
        return c::refused(call, "{} bytes requested: use 1 to {}", size, SIZE_MAX / 2);
    }
    return c::returned(call, [&] { return c::allocate_pages(g, size, addr); });
}
int carillon_gdr_free(gdr_t g, unsigned long addr) {
    constexpr char const* call = "carillon_gdr_free";
    if (int const error = c::usable(call, g)) return error;
    std::lock_guard const lock(g->mutex);
    if (g->memory.erase(addr) == 0) {
        return c::refused(call, "{:#x} is not an address from carillon_gdr_alloc", addr);
    }
    return 0;
}
char const* carillon_gdr_last_error() { return c::last_gdr_error.c_str(); }

}  // extern "C"
