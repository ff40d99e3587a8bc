// SPDX-License-Identifier: Apache-2.0
// The input of NVRTC for a handler: its text, and the library's headers around it.
#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/kernel/text_kernel.hpp"
#include "carillon/error.hpp"
#include "nvrtc/handler_code.hpp"

namespace carillon::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view needed_header = "carillon/detail/kernel/text_kernel.hpp";

// Standard headers that NVRTC lacks, replaced by nvrtc_std.hpp.
constexpr std::array std_headers{"algorithm",  "atomic",           "bit",     "chrono",
                                 "concepts",   "cstddef",          "cstdint", "cstring",
                                 "functional", "initializer_list", "new",     "stddef.h",
                                 "stdint.h",   "type_traits",      "utility"};

[[nodiscard]] bool has_headers(fs::path const& folder) {
    std::error_code ignored;
    return !folder.empty() && fs::exists(folder / needed_header, ignored);
}

// The library's file, or that of the program that contains it.
fs::path own_file() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void const*>(&has_headers), &info) == 0) return {};
    std::error_code ignored;
    return fs::weakly_canonical(info.dli_fname, ignored);
}

// Finds include/ beside one of the folders above: in an installation, in a wheel and in a build
// folder within the source.
std::optional<fs::path> headers_near(fs::path folder) {
    constexpr int most = 8;
    for (int i = 0; i < most && folder.has_relative_path(); ++i) {
        folder = folder.parent_path();
        if (has_headers(folder / "include")) return folder / "include";
    }
    return {};
}

std::string read_whole(fs::path const& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad()) {
        throw SystemError(fmt::format("read {}", path.string()), errno);
    }
    return text;
}

template <class T>
T read_at(std::string_view bytes, std::size_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) throw std::out_of_range("ELF");
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
}

// The size of a variable in machine code for a GPU; throws std::out_of_range.
std::size_t size_of_symbol(std::string_view elf, std::string_view name) {
    auto const header = read_at<Elf64_Ehdr>(elf, 0);
    auto const section = [&](std::size_t i) {
        return read_at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr));
    };
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        auto const symbols = section(i);
        if (symbols.sh_type != SHT_SYMTAB) continue;
        auto const names = section(symbols.sh_link);
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size;
             at += sizeof(Elf64_Sym)) {
            auto const symbol = read_at<Elf64_Sym>(elf, symbols.sh_offset + at);
            std::string_view const rest = elf.substr(names.sh_offset + symbol.st_name);
            if (rest.substr(0, rest.find('\0')) == name) return symbol.st_size;
        }
    }
    throw std::out_of_range("ELF");
}

std::vector<fs::path> headers_in(fs::path const& folder) try {
    std::vector<fs::path> files;
    for (auto const& each : fs::recursive_directory_iterator(folder)) {
        if (each.path().extension() == ".hpp") files.push_back(each.path());
    }
    std::sort(files.begin(), files.end());
    return files;
} catch (fs::filesystem_error const& error) {
    throw SystemError(fmt::format("list {}", folder.string()), error.code().value());
}

// The rest of a line behind an #include of a known header; without one, the line.
std::string_view behind_known_include(std::string const& line) {
    int begin = 0;
    (void)std::sscanf(line.c_str(), " # include %n", &begin);
    std::string_view const rest = std::string_view(line).substr(static_cast<std::size_t>(begin));
    std::string_view const name = rest.substr(0, rest.find_first_of(">\"", 1));
    bool const of_library = name.starts_with("<carillon/") || name.starts_with("\"carillon/");
    // A standard header in the program's folder would come before its replacement.
    bool const of_standard =
        name.starts_with('<') &&
        std::find(std_headers.begin(), std_headers.end(), name.substr(1)) != std_headers.end();
    bool const known = of_standard || (of_library && name.find("..") == name.npos);
    return begin != 0 && known ? rest.substr(name.size()) : line;
}

}  // namespace

fs::path find_headers(fs::path const& chosen) {
    char const* const variable = std::getenv("CARILLON_HEADERS");
    fs::path given = !chosen.empty() || variable == nullptr ? chosen : fs::path(variable);
    if (!given.empty()) {
        if (has_headers(given)) return given;
        throw UnsupportedError(fmt::format("{} has no {}", given.string(), needed_header));
    }
    if (auto found = headers_near(own_file())) return *found;
    for (char const* folder : {"/usr/local/include", "/usr/include"}) {
        if (has_headers(folder)) return folder;
    }
    throw UnsupportedError(fmt::format(
        "found no Carillon headers near {}: set CARILLON_HEADERS to the folder that has carillon/",
        own_file().string()));
}

std::uint64_t hash_of_headers(fs::path const& folder) {
    std::uint64_t hash = 0;
    for (auto const& each : headers_in(folder / "carillon")) {
        hash = hash_of(fs::relative(each, folder).string(), hash);
        hash = hash_of(read_whole(each), hash);
    }
    return hash;
}

NvrtcProgram handler_source(std::string_view before, std::string_view text,
                            std::uint32_t request_bytes, std::uint32_t reply_bytes) {
    NvrtcProgram program{
        "carillon.cu",
        fmt::format("#include \"{}\"\n#line 1 \"before the handler\"\n{}\n"
                    "#line 1 \"handler\"\n{}\n#line 1 \"behind the handler\"\n"
                    "CARILLON_TEXT_KERNELS(::Handler, {}, {}, {})\n",
                    needed_header, before, text, request_bytes, reply_bytes, sizeof(TextKernel)),
        {}};
    for (char const* each : std_headers) {
        program.headers.emplace_back(each, "#include \"carillon/detail/wire/nvrtc_std.hpp\"\n");
    }
    return program;
}

bool may_include_others(std::string_view text, std::vector<std::string> const& options) {
    constexpr std::array<std::string_view, 7> words{"-I",   "-inc",  "--inc", "--pre-include",
                                                    "-opt", "--opt", "@"};
    for (std::string const& each : options) {
        bool const reads = std::any_of(words.begin(), words.end(),
                                       [&](auto word) { return each.starts_with(word); });
        if (reads || each.find("pch") != std::string::npos) return true;
    }
    std::istringstream lines{std::string(text)};
    for (std::string line, more; std::getline(lines, line);) {
        // A line that ends in a backslash goes on in the next one.
        while ((line.ends_with('\\') || line.ends_with("\\\r")) && std::getline(lines, more)) {
            line.replace(line.rfind('\\'), line.npos, more);
        }
        std::string_view const rest = behind_known_include(line);
        for (std::string_view const word : {"include", "embed", "__has_"}) {
            if (rest.find(word) != rest.npos) return true;
        }
    }
    return false;
}

TextKernelFacts facts_of(std::string_view cubin) {
    try {
        return {static_cast<unsigned>(size_of_symbol(cubin, "carillon_threads")),
                size_of_symbol(cubin, "carillon_forms") == 2};
    } catch (std::out_of_range const&) {
        throw FormatError("the compiled handler has no machine code of a text's kernels");
    }
}

}  // namespace carillon::detail
