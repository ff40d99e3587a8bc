// SPDX-License-Identifier: Apache-2.0
// `--json[=FILE]`, which all commands that report have, and the two outputs of such a command: the
// text for people, and the document for programs.
#pragma once

#include <carillon/memory.hpp>
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
    // Removes a file that open() made and nothing was written to.
    ~JsonOption();

    void add_to(CLI::App& command_line);
    // Opens the file. A command calls this before it begins its work, so that a file that cannot be
    // written costs no measurement. The file keeps its content until write(). Throws SystemError.
    void open();
    [[nodiscard]] bool wanted() const { return !path_.empty(); }
    // Whether the documents, and not the text, go to standard output.
    [[nodiscard]] bool takes_standard_output() const;

    // Prints text for people at once: to standard error if the document goes to standard output.
    void print(std::string const& text) const;
    // Writes the one document of a command, with its version and, after an interrupt, with
    // "interrupted". A file is empty rather than half-written. Throws SystemError.
    void write(nlohmann::json document);
    // Writes one of several documents, in a line. The first replaces what the file had.
    void write_line(nlohmann::json document);

   private:
    void write(std::string const& text);
    void write_to_file(std::string const& text);

    std::string path_;  // empty: not wanted
    FileDescriptor file_;
    bool is_new_ = false;  // open() made the file
    bool written_ = false;
};

}  // namespace carillon::tool
