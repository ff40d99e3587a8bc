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
#include <string_view>

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

}  // namespace

JsonOption::~JsonOption() {
    if (is_new_ && !written_) (void)::unlink(path_.c_str());
}

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
    is_new_ = ::stat(path_.c_str(), &found) != 0;
    file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (file_.get() >= 0) return;
    is_new_ = false;
    throw SystemError("write " + path_, errno);
}

bool JsonOption::takes_standard_output() const { return wanted() && is_output(path_); }

void JsonOption::print(std::string const& text) const {
    clear_progress();
    if (takes_standard_output()) {
        std::fputs(text.c_str(), stderr);
        return;
    }
    std::fputs(text.c_str(), stdout);
    flush_output();
}

void JsonOption::write(nlohmann::json document) {
    if (!wanted()) return;
    if (interrupted()) document["interrupted"] = true;
    write(text_of(document, 2));
}

void JsonOption::write_line(nlohmann::json document) {
    if (wanted()) write(text_of(document, -1));
}

void JsonOption::write(std::string const& text) {
    if (file_.get() >= 0) return write_to_file(text);
    std::fputs(text.c_str(), stdout);
    flush_output();
}

void JsonOption::write_to_file(std::string const& text) {
    // Has no effect on a file that is a device or a pipe.
    auto const empty = [this] { return ::ftruncate(file_.get(), 0) == 0; };
    if (!written_) (void)empty();
    if (!write_all(file_.get(), text)) {
        int const error = errno;
        if (!written_) (void)empty();
        throw SystemError("write " + path_, error);
    }
    written_ = true;
}

}  // namespace carillon::tool
