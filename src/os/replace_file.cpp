// SPDX-License-Identifier: Apache-2.0
#include "os/replace_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

#include "carillon/error.hpp"
#include "carillon/file_descriptor.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {
namespace {

using Path = std::filesystem::path;

FileDescriptor open_file(Path const& path, int flags) {
    return FileDescriptor(retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

// A file beside its target; the destructor removes it unless it has replaced the target.
class Draft {
   public:
    explicit Draft(Path const& target) {
        std::random_device random;
        do {
            path_ = target;
            path_ += fmt::format(".{:08x}{:08x}.part", random(), random());
            file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);  // not where a link points to
        } while (file_.get() < 0 && errno == EEXIST);
        if (file_.get() < 0) fail("make", path_);
    }
    Draft& operator=(Draft&&) = delete;
    ~Draft() {
        if (file_.get() >= 0) ::unlink(path_.c_str());
    }

    void write(std::string_view text) const {
        require_file_size("write " + path_.string(), text.size());
        while (!text.empty()) {
            auto const written =
                retried([&] { return ::write(file_.get(), text.data(), text.size()); });
            if (written < 0) fail("write", path_);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
        if (retried([&] { return ::fsync(file_.get()); }) != 0) fail("fsync", path_);
    }

    void take_the_place_of(Path const& target) {
        if (std::rename(path_.c_str(), target.c_str()) != 0) fail("rename to", target);
        file_ = {};
        sync_folder(target.has_parent_path() ? target.parent_path() : Path("."));
    }

   private:
    [[noreturn]] void fail(std::string_view what, Path const& path) const {
        int const error = errno;
        throw SystemError(fmt::format("{} {}", what, path.string()), error);
    }

    // Puts the name on the disk, too.
    void sync_folder(Path const& folder) const {
        FileDescriptor const opened = open_file(folder, O_RDONLY | O_DIRECTORY);
        if (opened.get() < 0) fail("open", folder);
        // EINVAL: a file system may not support it.
        if (retried([&] { return ::fsync(opened.get()); }) != 0 && errno != EINVAL) {
            fail("fsync", folder);
        }
    }

    Path path_;
    FileDescriptor file_;
};

}  // namespace

void replace_file(Path const& path, std::string_view text) {
    Draft draft(path);
    draft.write(text);
    draft.take_the_place_of(path);
}

}  // namespace carillon::detail
