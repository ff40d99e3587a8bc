// SPDX-License-Identifier: Apache-2.0
// The texts of a program's log messages: the registry of their numbers, and how a record becomes a
// line.
#include "carillon/detail/kernel/log_message.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <array>
#include <mutex>

#include "carillon/error.hpp"
#include "carillon/log_record.hpp"
#include "os/process.hpp"

namespace carillon {
namespace detail {
namespace {

// The text formatted by fmt. Throws fmt::format_error.
std::string format(LogRegistry::Entry const& entry, std::uint64_t const* words) {
    fmt::dynamic_format_arg_store<fmt::format_context> arguments;
    for (std::size_t i = 0; i < entry.kinds.size() && i < log_arguments; ++i) {
        char const kind = entry.kinds[i];
        std::uint64_t const word = words[i];
        auto const number = __builtin_bit_cast(double, word);
        if (kind == 'b') arguments.push_back(word != 0);
        if (kind == 'c') arguments.push_back(static_cast<char>(word));
        if (kind == 'd') arguments.push_back(number);
        if (kind == 'f') arguments.push_back(static_cast<float>(number));  // it has fewer digits
        if (kind == 'i') arguments.push_back(static_cast<std::int64_t>(word));
        if (kind == 'u') arguments.push_back(word);
    }
    return fmt::vformat(entry.text, arguments);
}

}  // namespace

LogRegistry& LogRegistry::of_program() {
    static auto& registry = *new LogRegistry;  // never destroyed: static objects may go later
    return registry;
}

bool LogRegistry::add(std::uint32_t id, Entry const& entry) {
    std::lock_guard const lock(ForkMutex<LogRegistry>::get());
    auto const [known, is_new] = entries_.emplace(id, entry);
    if (is_new || known->second == entry || !collision_.empty()) return true;
    collision_ = fmt::format(
        R"(the log texts "{}" and "{}" have the same number, {:#010x}: change one of them)",
        known->second.text, entry.text, id);
    return true;
}

std::optional<LogRegistry::Entry> LogRegistry::find(std::uint32_t id) const {
    std::lock_guard const lock(ForkMutex<LogRegistry>::get());
    auto const known = entries_.find(id);
    if (known == entries_.end()) return {};
    return known->second;
}

void LogRegistry::require_sound() const {
    std::lock_guard const lock(ForkMutex<LogRegistry>::get());
    if (!collision_.empty()) throw UsageError(collision_);
    std::array<std::uint64_t, log_arguments> const zeros{};
    for (auto const& [id, entry] : entries_) {
        try {
            (void)format(entry, zeros.data());
        } catch (fmt::format_error const& error) {
            throw UsageError(fmt::format(R"(the log text "{}" cannot be formatted: {})", entry.text,
                                         error.what()));
        }
    }
}

std::string log_text(LogRegistry const& registry, LogMessage const& message) {
    auto const entry = registry.find(message.id);
    if (!entry) return fmt::format("a message with an unknown text, {:#010x}", message.id);
    try {
        return format(*entry, message.arguments);
    } catch (fmt::format_error const& error) {
        return fmt::format("{} ({})", entry->text, error.what());
    }
}

std::string log_line(LogRecord const& record) {
    constexpr std::uint64_t second = 1'000'000'000;
    std::string const level =
        record.level == LogLevel::info ? "" : fmt::format("{}: ", to_string(record.level));
    return fmt::format("carillon: [block {}, {}.{:09}] {}{}", record.block, record.time_ns / second,
                       record.time_ns % second, level, record.text);
}

}  // namespace detail

std::string_view to_string(LogLevel level) {
    static constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};
    return names.at(static_cast<std::size_t>(level));
}

}  // namespace carillon
