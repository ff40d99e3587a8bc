// SPDX-License-Identifier: Apache-2.0
#include "serve/serve.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <carillon/error.hpp>
#include <cstddef>
#include <cstring>

namespace carillon::tool {
namespace {

constexpr char const* call = "serve";
constexpr char const* symbol_name = "carillon_served_kernel";

[[noreturn]] void fail(ServedKernelError const& error) {
    if (error.usage != 0) throw UsageError(call, error.text);
    throw Error(call, error.text);
}

[[noreturn]] void refuse(std::filesystem::path const& file, std::string const& cause) {
    throw UnsupportedError("serve --library", fmt::format("{}: {}", file.string(), cause));
}

// How many bytes of data a symbol has; 0 of a function.
std::size_t data_bytes(void const* address) {
    ::Dl_info info{};
    void* extra = nullptr;
    if (::dladdr1(address, &info, &extra, RTLD_DL_SYMENT) == 0 || extra == nullptr) return 0;
    auto const* const symbol = static_cast<ElfW(Sym) const*>(extra);
    return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT ? symbol->st_size : 0;
}

}  // namespace

ServedKernelLibrary const& load_kernel(std::filesystem::path const& file) {
    // With a slash in it: another is looked for where the system's libraries are.
    std::error_code error;
    std::filesystem::path const absolute = std::filesystem::absolute(file, error);
    if (error) refuse(file, fmt::format("the current folder: {}", error.message()));
    void* const library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::string const why = ::dlerror();
        std::string const name = absolute.string() + ": ";
        refuse(file, why.starts_with(name) ? why.substr(name.size()) : why);
    }
    void const* const found = ::dlsym(library, symbol_name);
    if (found == nullptr) {
        refuse(file,
               fmt::format("it has no {}: CARILLON_SERVED_KERNEL or CARILLON_SERVED_POOL makes it",
                           symbol_name));
    }
    ServedKernelLibrary head{};
    constexpr std::size_t head_bytes = offsetof(ServedKernelLibrary, handler);
    if (data_bytes(found) < head_bytes) {
        refuse(file, fmt::format("its {} is something else", symbol_name));
    }
    std::memcpy(&head, found, head_bytes);
    if (head.magic != served_kernel_magic) {
        refuse(file, fmt::format("its {} is something else", symbol_name));
    }
    if (head.version != served_kernel_version || head.bytes != sizeof(ServedKernelLibrary) ||
        data_bytes(found) < sizeof(ServedKernelLibrary)) {
        refuse(file, fmt::format("its kernel is of version {}, {} bytes; this command serves "
                                 "version {}, {} bytes: build it anew",
                                 head.version, head.bytes, served_kernel_version,
                                 sizeof(ServedKernelLibrary)));
    }
    return *static_cast<ServedKernelLibrary const*>(found);
}

RunningServed::RunningServed(ServedKernelLibrary const& library, ServeRequest const& request)
    : library_(library) {
    ServedKernelOptions const options{request.path.c_str(),
                                      request.name.c_str(),
                                      request.device.c_str(),
                                      request.blocks,
                                      request.capacity,
                                      request.mode,
                                      static_cast<std::uint32_t>(request.users.size()),
                                      request.users.data(),
                                      request.groups.data(),
                                      static_cast<std::uint32_t>(request.groups.size()),
                                      request.idle,
                                      request.clients};
    ServedKernelError error{};
    kernel_ = library.start(&options, &facts_, &error);
    if (kernel_ == nullptr) fail(error);
}

RunningServed::~RunningServed() { library_.end(kernel_); }

bool RunningServed::running() const {
    ServedKernelError error{};
    bool const running = library_.running(kernel_, &error) != 0;
    if (error.text[0] != '\0') fail(error);
    return running;
}

void RunningServed::drain(std::uint64_t milliseconds) {
    ServedKernelError error{};
    if (library_.drain(kernel_, milliseconds, &error) == 0) fail(error);
}

}  // namespace carillon::tool
