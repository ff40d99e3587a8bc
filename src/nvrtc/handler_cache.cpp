// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/handler_cache.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>

#include "carillon/detail/host/message_types.hpp"
#include "os/process.hpp"
#include "os/replace_file.hpp"

namespace carillon::detail {
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
class CompiledHere {
   public:
    std::optional<Nvrtc::Compiled> find(std::string const& key) {
        std::lock_guard const lock(mutex_);
        auto const found = all_.find(key);
        return found == all_.end() ? std::nullopt : std::optional(found->second);
    }
    void keep(std::string const& key, Nvrtc::Compiled const& compiled) {
        std::lock_guard const lock(mutex_);
        all_.insert_or_assign(key, compiled);
    }
    [[nodiscard]] static CompiledHere& own() { return PerProcess<CompiledHere>::get(); }

   private:
    std::mutex mutex_;
    std::map<std::string, Nvrtc::Compiled> all_;
};

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
    if (auto here = CompiledHere::own().find(key)) return here;
    auto found = find_file(key);
    if (found) CompiledHere::own().keep(key, *found);
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
        CompiledHere::own().keep(key, compiled);
        if (folder_.empty()) return;
        namespace fs = std::filesystem;
        if (fs::create_directories(folder_)) fs::permissions(folder_, fs::perms::owner_all);
        replace_file(file_of(key), in_a_file(key, compiled));
    } catch (std::exception const&) {  // the next run compiles it again
        return;
    }
}

}  // namespace carillon::detail
