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

// Maps ids to texts.
class LogRegistry {
   public:
    struct Entry {
        std::string text;
        std::string kinds;
        bool operator==(Entry const&) const = default;
    };

    // The registry of this program: before main() every log() has registered its text.
    [[nodiscard]] static LogRegistry& of_program();

    void add(std::uint32_t id, Entry const& entry);
    [[nodiscard]] std::optional<Entry> find(std::uint32_t id) const;
    // Throws UsageError if two texts have the same id, or one cannot be formatted.
    void require_sound() const;

   private:
    std::map<std::uint32_t, Entry> entries_;
    std::string collision_;  // the first collision; empty for none
};

// The text of a message with its arguments, or a description of its fault.
[[nodiscard]] std::string log_text(LogRegistry const& registry, LogMessage const& message);
// `carillon: [block 3, 12.345678901] text`, with the level before the text unless it is info.
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
