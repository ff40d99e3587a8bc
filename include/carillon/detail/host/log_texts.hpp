// SPDX-License-Identifier: Apache-2.0
// The texts of a program's log messages, which stay on the host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/detail/kernel/log_message.hpp"

namespace carillon {
struct LogRecord;
}  // namespace carillon

namespace carillon::detail {

// Knows texts by their ids.
class LogRegistry {
   public:
    struct Entry {
        std::string text;
        std::string kinds;
        bool operator==(Entry const&) const = default;
    };

    // That of this program, which every log() in it has told of its text when main() begins.
    [[nodiscard]] static LogRegistry& of_program();

    void add(std::uint32_t id, Entry const& entry);
    [[nodiscard]] std::optional<Entry> find(std::uint32_t id) const;
    // Throws UsageError when two texts have the same id, or one cannot be formatted.
    void require_sound() const;

   private:
    std::map<std::uint32_t, Entry> entries_;
    std::string collision_;  // the first; empty for none
};

// The text of a message: its arguments put into the text, or what is wrong with it.
[[nodiscard]] std::string log_text(LogRegistry const& registry, LogMessage const& message);
// `carillon: [block 3, 12.345678901] text`; a level other than info goes ahead of the text.
[[nodiscard]] std::string log_line(LogRecord const& record);

struct LogRegistration {
    LogRegistration(std::uint32_t id, std::string_view text, std::string_view kinds) {
        LogRegistry::of_program().add(id, {std::string(text), std::string(kinds)});
    }
};

// Registers a text when the program starts, wherever this member is named.
template <LogText text, class... Arguments>
struct LogRegistered {
    using Site = LogSite<text, Arguments...>;
    static inline LogRegistration const registration{Site::id, text.view(), Site::kinds};
};

}  // namespace carillon::detail
