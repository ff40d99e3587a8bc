// SPDX-License-Identifier: Apache-2.0
// `--json[=FILE]`, which all commands that report have, and the two outputs of such a command: the
// text for people, and the document for programs.
#pragma once

#include <carillon/memory.hpp>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "command/command.hpp"

namespace carillon::tool {

// The version of all documents. A member that is renamed, removed or changes its meaning makes a
// new version; a new member does not. docs/command.md has the members.
inline constexpr int json_schema_version = 1;

class JsonOption {
   public:
    JsonOption() = default;
    JsonOption(JsonOption const&) = delete;
    JsonOption& operator=(JsonOption const&) = delete;

    void add_to(CLI::App& command_line);
    // Opens the file. A command calls this before it begins its work, so that a file that cannot be
    // written costs no measurement. The file keeps its content until write(), and there is no new
    // file before. Throws SystemError.
    void open();
    [[nodiscard]] bool wanted() const { return !path_.empty(); }
    // Whether the documents, and not the text, go to standard output.
    [[nodiscard]] bool takes_standard_output() const;

    // Prints text for people at once: to standard error if the document goes to standard output.
    // Throws if standard output fails; where a file still awaits its document, write() throws this
    // afterwards.
    void print(std::string const& text);
    // Writes the one document of a command, with its version and, after an interrupt, with
    // "interrupted". A regular file has the whole document or what it had before. Throws
    // SystemError.
    void write(nlohmann::json document);
    // Writes one of several documents, in a line. The first replaces what the file had.
    void write_line(nlohmann::json document);

   private:
    void write(std::string const& text);
    void write_first(std::string const& text);
    void replace_by(std::string const& text);

    std::string path_;      // empty: not wanted
    std::string replaced_;  // the regular file, which a whole one replaces; empty: none
    FileDescriptor file_;
    bool awaits_document_ = false;  // the file is open, and nothing was written
    std::exception_ptr lost_;       // the failure of standard output before
};

}  // namespace carillon::tool
