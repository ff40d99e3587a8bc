// SPDX-License-Identifier: Apache-2.0
#include "command/json_option.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <carillon/error.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include "command/progress.hpp"
#include "measure/interrupt.hpp"
#include "report/output.hpp"

namespace carillon::tool {
namespace {

// A path may have bytes that are no UTF-8.
std::string text_of(nlohmann::json& document, int indent) {
    document["schema_version"] = json_schema_version;
    return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        ssize_t const written = ::write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// The file at the end of symbolic links, which may not exist yet.
std::string target_of(std::string const& path) {
    constexpr int most_links = 40;  // as Linux follows
    std::filesystem::path target = path;
    std::error_code error;
    for (int i = 0; i < most_links && std::filesystem::is_symlink(target, error); ++i) {
        target = target.parent_path() / std::filesystem::read_symlink(target, error);
    }
    return target;
}

// A new file beside `path`, which is removed unless it has replaced `path`.
class Beside {
   public:
    // Sets errno if there is no file then.
    explicit Beside(std::string const& path)
        : path_(path),
          name_(fmt::format("{}.{}.tmp", path, ::getpid())),
          file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
        struct stat replaced {};
        if (is_there() && ::stat(path.c_str(), &replaced) == 0) {
            (void)::fchmod(file_.get(), replaced.st_mode & 0777U);
        }
    }
    Beside(Beside const&) = delete;
    Beside& operator=(Beside const&) = delete;
    ~Beside() {
        if (is_there()) (void)::unlink(name_.c_str());
    }

    [[nodiscard]] bool is_there() const { return file_.get() >= 0; }
    // Replaces `path` by a file with this text, which it returns, or none with errno set.
    [[nodiscard]] FileDescriptor replace(std::string_view text) {
        if (!is_there() || !write_all(file_.get(), text)) return {};
        if (::rename(name_.c_str(), path_.c_str()) != 0) return {};
        return std::move(file_);
    }

   private:
    std::string path_;
    std::string name_;
    FileDescriptor file_;
};

}  // namespace

void JsonOption::add_to(CLI::App& command_line) {
    command_line
        .add_flag("--json{-}", path_,
                  "also write the result as JSON to FILE, or to standard output without FILE or "
                  "with -; the text then goes to standard error")
        ->option_text("[=FILE]");
}

void JsonOption::open() {
    if (!wanted() || takes_standard_output()) return;
    struct stat found {};
    bool const exists = ::stat(path_.c_str(), &found) == 0;
    if (exists) {
        file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
        if (file_.get() < 0) throw SystemError("write " + path_, errno);
    }
    awaits_document_ = true;
    if (exists && !S_ISREG(found.st_mode)) return;
    replaced_ = target_of(path_);
    if (Beside(replaced_).is_there()) return;
    // A file in a folder in which none can be made is written in place.
    if (!exists) throw SystemError("write " + path_, errno);
    replaced_.clear();
}

bool JsonOption::takes_standard_output() const { return wanted() && is_output(path_); }

void JsonOption::print(std::string const& text) {
    clear_progress();
    if (takes_standard_output()) {
        std::fputs(text.c_str(), stderr);
        return;
    }
    if (lost_) return;
    try {
        std::fputs(text.c_str(), stdout);
        flush_output();
    } catch (SystemError const&) {
        if (!awaits_document_) throw;
        lost_ = std::current_exception();
    }
}

void JsonOption::write(nlohmann::json document) {
    bool const early = ended_early();
    if (!wanted()) return;
    if (early) document["interrupted"] = true;
    write(text_of(document, 2));
}

void JsonOption::write_line(nlohmann::json document) {
    if (wanted()) write(text_of(document, -1));
}

void JsonOption::write(std::string const& text) {
    if (awaits_document_) {
        write_first(text);
        awaits_document_ = false;
        if (lost_) std::rethrow_exception(lost_);
    } else if (file_.get() >= 0) {
        if (!write_all(file_.get(), text)) throw SystemError("write " + path_, errno);
    } else {
        std::fputs(text.c_str(), stdout);
        flush_output();
    }
}

void JsonOption::write_first(std::string const& text) {
    if (!replaced_.empty()) return replace_by(text);
    // Has no effect on a file that is a device or a pipe.
    auto const empty = [this] { return ::ftruncate(file_.get(), 0) == 0; };
    (void)empty();
    if (write_all(file_.get(), text)) return;
    int const error = errno;
    (void)empty();
    throw SystemError("write " + path_, error);
}

void JsonOption::replace_by(std::string const& text) {
    Beside beside(replaced_);
    file_ = beside.replace(text);
    if (file_.get() < 0) throw SystemError("write " + path_, errno);
}

}  // namespace carillon::tool
