// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/handler_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "carillon/bytes.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/error.hpp"
#include "carillon/launch.hpp"
#include "nvrtc/nvrtc.hpp"
#include "os/process.hpp"
#include "os/replace_file.hpp"

namespace carillon {
namespace detail {
namespace {

constexpr std::string_view magic = "carillon handler 1\n";

// The format of a file: the magic, this, and the three texts one behind the other.
struct CachedSizes {
    std::array<std::uint64_t, 3> sizes;
    std::uint64_t check;
};

std::uint64_t check_of(std::string_view key, Nvrtc::Compiled const& compiled) {
    return hash_of(compiled.log, hash_of(compiled.cubin, hash_of(key, 0)));
}

std::string in_a_file(std::string const& key, Nvrtc::Compiled const& compiled) {
    CachedSizes const sizes{{key.size(), compiled.cubin.size(), compiled.log.size()},
                            check_of(key, compiled)};
    std::string bytes(magic);
    bytes.append(reinterpret_cast<char const*>(&sizes), sizeof(sizes));
    return bytes + key + compiled.cubin + compiled.log;
}

std::optional<Nvrtc::Compiled> from_a_file(std::string_view bytes, std::string_view key) {
    CachedSizes sizes;
    if (bytes.size() < magic.size() + sizeof(sizes) || !bytes.starts_with(magic)) return {};
    bytes.remove_prefix(magic.size());
    std::memcpy(&sizes, bytes.data(), sizeof(sizes));
    bytes.remove_prefix(sizeof(sizes));
    std::array<std::string_view, 3> texts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (sizes.sizes.at(i) > bytes.size()) return {};
        texts.at(i) = bytes.substr(0, sizes.sizes.at(i));
        bytes.remove_prefix(texts.at(i).size());
    }
    Nvrtc::Compiled compiled{std::string(texts[1]), std::string(texts[2])};
    if (!bytes.empty() || texts[0] != key || sizes.check != check_of(key, compiled)) return {};
    return compiled;
}

// The machine code that this process has compiled.
struct CompiledHere {
    std::mutex mutex;
    std::map<std::string, Nvrtc::Compiled> all;
};

// Throws UsageError for a text with a byte 0, at which NVRTC would stop.
void require_no_zero(std::string_view what, std::string_view text) {
    if (text.find('\0') == text.npos) return;
    throw UsageError(fmt::format("{} contains a byte 0", what));
}
void require_texts(std::string_view text, HandlerOptions const& options) {
    require_no_zero("the handler's text", text);
    require_no_zero("the text before the handler", options.before);
    for (std::string const& each : options.compiler_options) {
        require_no_zero("a compiler option", each);
    }
}

// Throws UnsupportedError unless NVRTC has one for such a GPU.
std::string architecture(Nvrtc const& nvrtc, int compute_capability) {
    auto const all = nvrtc.architectures();
    if (std::ranges::find(all, compute_capability) != all.end()) {
        return fmt::format("sm_{}", compute_capability);
    }
    throw UnsupportedError(fmt::format("NVRTC {} does not support compute capability {}.{}",
                                       nvrtc.version(), compute_capability / 10,
                                       compute_capability % 10));
}

std::vector<std::string> compiler_options(HandlerOptions const& options, std::string const& arch,
                                          std::filesystem::path const& headers) {
    std::vector<std::string> all{"-arch=" + arch, "-std=c++20", "-default-device",
                                 "-I" + headers.string()};
    for (auto const& folder : options.include_folders) all.push_back("-I" + folder.string());
    if (!options.lto_ir.empty()) all.emplace_back("-dlto");
    all.insert(all.end(), options.compiler_options.begin(), options.compiler_options.end());
    return all;
}

// Everything that determines the machine code: the content of the headers, not their folder.
std::string cache_key(Nvrtc const& nvrtc, HandlerOptions const& options,
                      std::vector<std::string> const& words, std::filesystem::path const& headers,
                      NvrtcProgram const& program) {
    std::string key =
        fmt::format("NVRTC {}\nheaders {:016x}\n", nvrtc.version(), hash_of_headers(headers));
    for (std::string const& each : words) {
        if (each != "-I" + headers.string()) key += each + '\n';
    }
    for (std::string const& each : options.lto_ir) {
        key += fmt::format("LTO-IR of {} bytes\n{}\n", each.size(), each);
    }
    return key + '\n' + program.text;
}

Nvrtc::Compiled compile_and_link(Nvrtc const& nvrtc, HandlerOptions const& options,
                                 std::string const& arch, NvrtcProgram const& program,
                                 std::vector<std::string> const& words) {
    auto code = nvrtc.compile(program, words);
    if (options.lto_ir.empty()) return code;
    std::vector<std::string> parts{code.cubin};
    parts.insert(parts.end(), options.lto_ir.begin(), options.lto_ir.end());
    code.cubin = link_parts(options.nvjitlink, arch, parts);
    return code;
}

std::filesystem::path cache_folder(HandlerOptions const& options) {
    if (!options.keep) return {};
    return options.cache.empty() ? HandlerCache::own_folder() : options.cache;
}

std::shared_ptr<HandlerCode> compiled(int compute_capability, std::string_view text,
                                      BytesType const& request, BytesType const& reply,
                                      HandlerOptions const& options) {
    (void)described({"request", request}, request, 1);
    (void)described({"reply", reply}, reply, 1);
    require_texts(text, options);
    Nvrtc const nvrtc(options.nvrtc);
    auto const headers = find_headers(options.headers);
    std::string const arch = architecture(nvrtc, compute_capability);
    auto const words = compiler_options(options, arch, headers);
    auto const program = handler_source(options.before, text, request.bytes, reply.bytes);
    auto const made = [&](Nvrtc::Compiled code, bool cached) {
        return std::make_shared<HandlerCode>(request, reply, compute_capability,
                                             std::move(code.cubin), std::move(code.log), cached);
    };
    bool const all_known =
        options.include_folders.empty() &&
        !may_include_others(fmt::format("{}\n{}", options.before, text), options.compiler_options);
    if (!all_known) {
        return made(compile_and_link(nvrtc, options, arch, program, words), false);
    }
    HandlerCache const cache(cache_folder(options));
    std::string const key = cache_key(nvrtc, options, words, headers, program);
    if (auto found = cache.find(key)) return made(std::move(*found), true);
    auto code = compile_and_link(nvrtc, options, arch, program, words);
    cache.keep(key, code);
    return made(std::move(code), false);
}

}  // namespace

std::filesystem::path HandlerCache::own_folder() {
    char const* const chosen = std::getenv("XDG_CACHE_HOME");
    if (chosen != nullptr && *chosen == '/') return std::filesystem::path(chosen) / "carillon";
    char const* const home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return {};
    return std::filesystem::path(home) / ".cache/carillon";
}

std::filesystem::path HandlerCache::file_of(std::string_view key) const {
    return folder_ / fmt::format("handler-{:016x}", hash_of(key, 0));
}

std::optional<Nvrtc::Compiled> HandlerCache::find(std::string const& key) const {
    auto& [mutex, all] = PerProcess<CompiledHere>::get();
    {
        std::lock_guard const lock(mutex);
        if (auto const here = all.find(key); here != all.end()) return here->second;
    }
    auto found = find_file(key);
    std::lock_guard const lock(mutex);
    if (found) all.insert_or_assign(key, *found);
    return found;
}

std::optional<Nvrtc::Compiled> HandlerCache::find_file(std::string const& key) const {
    if (folder_.empty()) return {};
    std::ifstream file(file_of(key), std::ios::binary);
    std::string const bytes{std::istreambuf_iterator<char>(file), {}};
    return from_a_file(bytes, key);
}

void HandlerCache::keep(std::string const& key, Nvrtc::Compiled const& compiled) const noexcept {
    try {
        {
            auto& [mutex, all] = PerProcess<CompiledHere>::get();
            std::lock_guard const lock(mutex);
            all.insert_or_assign(key, compiled);
        }
        if (folder_.empty()) return;
        namespace fs = std::filesystem;
        if (fs::create_directories(folder_)) fs::permissions(folder_, fs::perms::owner_all);
        replace_file(file_of(key), in_a_file(key, compiled));
    } catch (std::exception const&) {  // the next run compiles it again
        return;
    }
}

HandlerCode::HandlerCode(BytesType request_type, BytesType reply_type, int capability,
                         std::string code, std::string compiler_log, bool cached)
    : request(std::move(request_type)),
      reply(std::move(reply_type)),
      compute_capability(capability),
      cubin(std::move(code)),
      log(std::move(compiler_log)),
      was_cached(cached),
      facts(facts_of(cubin)) {}

std::shared_ptr<LoadedCode> HandlerCode::loaded_on(Backend const& backend) const {
    auto const found = std::ranges::find_if(
        loaded_, [&](Loaded const& each) { return each.backend.get() == &backend; });
    return found == loaded_.end() ? nullptr : found->code;
}

void HandlerCode::load(Device const& device) {
    auto const& backend = DeviceAccess::backend(device);
    int const capability = device.info().compute_capability.value_or(0);
    if (!device.emulated() && capability != compute_capability) {
        throw UsageError(
            fmt::format("the handler was compiled for compute capability {}, but this GPU has {}",
                        compute_capability, capability));
    }
    std::lock_guard const lock(mutex_);
    if (loaded_on(*backend) != nullptr) return;
    auto code = backend->load(std::as_bytes(std::span(cubin)));
    loaded_.push_back({backend, std::move(code)});
}

RunningKernel HandlerCode::start(Device const& device, KernelOptions const& options,
                                 TextKernel const& kernel, bool others) {
    std::shared_ptr<LoadedCode> loaded;
    {
        std::lock_guard const lock(mutex_);
        loaded = loaded_on(*DeviceAccess::backend(device));
    }
    constexpr std::array<char const*, 4> names{"carillon_channels", "carillon_channels_bounded",
                                               "carillon_leases", "carillon_leases_bounded"};
    Program program;
    program.argument = std::make_shared<TextKernel>(kernel);
    program.threads = facts.threads;
    program.loaded = loaded->kernel(names.at((others ? 2U : 0U) + (facts.bounded ? 1U : 0U)));
    program.code = std::move(loaded);
    program.start_timeout = options.start_timeout;
    return Launcher::start(device, program, blocks_of(options));
}

}  // namespace detail

CompiledHandler::CompiledHandler(std::shared_ptr<detail::HandlerCode> code)
    : code_(std::move(code)) {}

BytesType const& CompiledHandler::request() const { return code_->request; }
BytesType const& CompiledHandler::reply() const { return code_->reply; }
int CompiledHandler::compute_capability() const { return code_->compute_capability; }
unsigned CompiledHandler::threads() const { return code_->facts.threads; }
std::string const& CompiledHandler::log() const { return code_->log; }
bool CompiledHandler::was_cached() const { return code_->was_cached; }
std::span<std::byte const> CompiledHandler::machine_code() const {
    return std::as_bytes(std::span(code_->cubin));
}

CompiledHandler compile_handler(int compute_capability, std::string_view text,
                                BytesType const& request, BytesType const& reply,
                                HandlerOptions const& options) {
    return detail::in_call("compile_handler", [&] {
        return detail::HandlerCode::handler(
            detail::compiled(compute_capability, text, request, reply, options));
    });
}

CompiledHandler compile_handler(Device const& device, std::string_view text,
                                BytesType const& request, BytesType const& reply,
                                HandlerOptions const& options) {
    return detail::in_call("compile_handler", [&] {
        if (device.emulated()) {
            throw UnsupportedError(
                "the device is emulated: its handlers are functions, and text is for GPUs");
        }
        auto code = detail::compiled(device.info().compute_capability.value_or(0), text, request,
                                     reply, options);
        code->load(device);
        return detail::HandlerCode::handler(std::move(code));
    });
}

}  // namespace carillon
