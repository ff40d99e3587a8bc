// SPDX-License-Identifier: Apache-2.0
#include "serve/running_served.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <carillon/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>

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

// Whether the file ends before the last byte that dlopen would map, so that an access there would
// end the process. dlopen has the better error for a file of another kind.
bool is_cut_short(std::filesystem::path const& file) {
    std::ifstream bytes(file, std::ios::binary | std::ios::ate);
    auto const size = static_cast<std::uint64_t>(bytes.tellg());
    auto const read = [&](auto& into, std::uint64_t at) {
        bytes.seekg(static_cast<std::streamoff>(at));
        return !bytes.read(reinterpret_cast<char*>(&into), sizeof(into)).fail();
    };
    ElfW(Ehdr) head{};
    constexpr std::string_view kind = ELFMAG "\2\1";  // of 64 bits, the lowest byte first
    if (!read(head, 0) || std::memcmp(head.e_ident, kind.data(), kind.size()) != 0) return false;
    for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
        ElfW(Phdr) segment{};
        if (!read(segment, head.e_phoff + i * sizeof(segment))) return true;
        bool const is_mapped = segment.p_type == PT_LOAD && segment.p_filesz != 0;
        if (is_mapped && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)) {
            return true;
        }
    }
    return false;
}

void require_whole(std::filesystem::path const& file, std::filesystem::path const& absolute) {
    std::error_code none;
    if (!std::filesystem::exists(absolute, none)) return;  // dlopen says why
    if (!std::filesystem::is_regular_file(absolute, none)) refuse(file, "it is not a regular file");
    if (is_cut_short(absolute)) refuse(file, "it is cut short: its end is missing");
}

}  // namespace

ServedKernelLibrary const& load_kernel(std::filesystem::path const& file) {
    // Adds a slash: a name without one is looked for among the system's libraries.
    std::error_code error;
    std::filesystem::path const absolute = std::filesystem::absolute(file, error);
    if (error) refuse(file, fmt::format("the current folder cannot be found: {}", error.message()));
    require_whole(file, absolute);
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
    constexpr char const* of_other_maker =
        "its {} was not made by CARILLON_SERVED_KERNEL or CARILLON_SERVED_POOL";
    constexpr std::size_t head_bytes = offsetof(ServedKernelLibrary, handler);
    if (data_bytes(found) < head_bytes) {
        refuse(file, fmt::format(of_other_maker, symbol_name));
    }
    std::memcpy(&head, found, head_bytes);
    if (head.magic != served_kernel_magic) {
        refuse(file, fmt::format(of_other_maker, symbol_name));
    }
    if (head.version != served_kernel_version || head.bytes != sizeof(ServedKernelLibrary) ||
        data_bytes(found) < sizeof(ServedKernelLibrary)) {
        refuse(file,
               fmt::format("its kernel is of version {}, {} bytes; this command serves "
                           "version {}, {} bytes: build the library with this version's headers",
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
