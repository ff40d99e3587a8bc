// SPDX-License-Identifier: Apache-2.0
// Log messages from handlers and kernels. The device sends a number for the text, and its arguments
// as they are; the host puts them together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/access/device.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/mpmc_ring.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/device.hpp"
#include "carillon/host_service.hpp"
#include "carillon/memory.hpp"

namespace carillon {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] std::string_view to_string(LogLevel level);

// A text as a template argument.
template <std::size_t size>
struct LogText {
    char text[size]{};

    // Not explicit: log<"a text"> is meant to work.
    constexpr LogText(char const (&literal)[size]) {  // NOLINT(google-explicit-constructor)
        for (std::size_t i = 0; i < size; ++i) text[i] = literal[i];
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, size - 1}; }
};

struct LogRecord {
    std::uint64_t time_ns;  // of the device's clock (DeviceClock::now_ns)
    unsigned block;         // its number in its launch
    LogLevel level;
    std::string text;
};

using LogSink = std::function<void(LogRecord const&)>;

struct LogOptions {
    std::uint32_t capacity = 1024;  // messages that the host has not taken; a power of two from 32
    // Gets every message, one after the other, on the log's thread; what it throws is kept. None:
    // a line on stderr, `carillon: [block 3, 12.345678901] text`.
    LogSink sink = nullptr;
    ServiceThreadOptions thread{};
};

inline constexpr std::size_t most_log_arguments = 4;

namespace detail {

// What crosses the bus: 48 bytes.
struct LogMessage {
    std::uint32_t id;               // of text and kinds
    std::uint32_t block_and_level;  // the level in the two highest bits
    std::uint64_t time_ns;
    std::uint64_t arguments[most_log_arguments];
};
static_assert(sizeof(LogMessage) == payload_bytes);

inline constexpr unsigned log_level_shift = 30;

// How an argument's 8 bytes are meant: 'b', a bool; 'i' and 'u', integers; 'f', a double.
template <class T>
CARILLON_HD constexpr char log_kind() {
    static_assert(std::is_arithmetic_v<T>,
                  "carillon: a log argument must be an integer, a bool or a floating-point number");
    if constexpr (std::is_same_v<T, bool>) return 'b';
    if constexpr (std::is_floating_point_v<T>) return 'f';
    return std::is_signed_v<T> ? 'i' : 'u';
}

template <class T>
[[nodiscard]] CARILLON_HD std::uint64_t log_word(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        return __builtin_bit_cast(std::uint64_t, static_cast<double>(value));
    } else {
        return static_cast<std::uint64_t>(value);  // extends the sign where there is one
    }
}

// FNV-1a of 32 bits.
CARILLON_HD constexpr std::uint32_t log_hash(char const* text, std::size_t size,
                                             std::uint32_t hash = 0x811c9dc5U) {
    for (std::size_t i = 0; i < size; ++i) {
        hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x01000193U;
    }
    return hash;
}

// The {} and {:...} in a text, in which {{ and }} stand for braces.
CARILLON_HD constexpr std::size_t log_placeholders(char const* text, std::size_t size) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (text[i] != '{') continue;
        if (i + 1 < size && text[i + 1] == '{') {
            ++i;
        } else {
            ++count;
        }
    }
    return count;
}

// Whether a {} stands within another, as a width does that is an argument.
CARILLON_HD constexpr bool log_nests(char const* text, std::size_t size) {
    bool inside = false;
    for (std::size_t i = 0; i < size; ++i) {
        bool const doubled = i + 1 < size && text[i + 1] == text[i];
        if (inside) {
            if (text[i] == '{') return true;
            inside = text[i] != '}';
        } else if (text[i] == '{' && doubled) {
            ++i;
        } else {
            inside = text[i] == '{';
        }
    }
    return false;
}

// What a call of log() says beside its arguments.
template <LogText text, class... Arguments>
struct LogSite {
    static constexpr std::size_t length = sizeof(text.text) - 1;
    static constexpr char kinds[sizeof...(Arguments) + 1] = {log_kind<Arguments>()..., '\0'};
    static constexpr std::uint32_t id = log_hash(kinds, sizeof(kinds), log_hash(text.text, length));

    static_assert(sizeof...(Arguments) <= most_log_arguments,
                  "carillon: a log message has at most 4 arguments: it travels in one line");
    static_assert(log_placeholders(text.text, length) == sizeof...(Arguments),
                  "carillon: a log text has a {} for each argument");
    static_assert(!log_nests(text.text, length),
                  "carillon: a log text's widths and precisions are not arguments: a kernel could "
                  "ask for gigabytes of spaces");
};

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
    void check() const;

   private:
    mutable std::mutex mutex_;
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

}  // namespace detail

class DeviceLog;

CARILLON_POLICY_CODE
template <LogText text, LogLevel level = LogLevel::info, class... Arguments>
CARILLON_HD void log(DeviceLog& to, Arguments... arguments);

// What a handler or a kernel's body keeps to log through: pass it by value.
class DeviceLog {
   public:
    // `dropped`: a word of device memory that counts messages without room.
    DeviceLog(MpmcRingView const& ring, std::uint64_t* dropped) : ring_(ring), dropped_(dropped) {}

   private:
    CARILLON_POLICY_CODE
    template <LogText text, LogLevel level, class... Arguments>
    CARILLON_HD friend void log(DeviceLog& to, Arguments... arguments);

    CARILLON_POLICY_CODE
    CARILLON_HD void send(detail::LogMessage& message, LogLevel level) {
        message.block_and_level = block::index() | static_cast<std::uint32_t>(level)
                                                       << detail::log_level_shift;
        message.time_ns = DeviceClock().now_ns();
        if (!ring_.try_push(message)) [[unlikely]]
            (void)DeviceNear().fetch_add(dropped_, 1);
    }

    LanesProducer<detail::LogMessage, DeviceFar, DeviceNear, OneThread> ring_;
    std::uint64_t* dropped_;
};

// Sends a message, from any thread of any block: log<"price {} over limit {}">(to, price, limit).
// Texts are as for fmt::format. It never waits: without room the message is dropped and counted.
CARILLON_POLICY_CODE
template <LogText text, LogLevel level, class... Arguments>
CARILLON_HD void log(DeviceLog& to, Arguments... arguments) {
    constexpr std::uint32_t id = detail::LogSite<text, Arguments...>::id;
#if !defined(__CUDA_ARCH__)
    (void)&detail::LogRegistered<text, Arguments...>::registration;
#endif
    detail::LogMessage message{id, 0, 0, {detail::log_word(arguments)...}};
    to.send(message, level);
}

// Takes what device threads log, and hands it to a sink on a thread of its own.
class LogService {
   public:
    // Throws UsageError for the options, for two texts of this program with the same id and for one
    // that cannot be formatted; and what Device::allocate throws.
    explicit LogService(Device const& device, LogOptions options = {});

    [[nodiscard]] DeviceLog device_handle() const;

    // Waits until what was logged before has been handed to the sink, which the destructor does
    // too, for at most thread.stop_timeout. Throws TimeoutError.
    void flush(std::chrono::nanoseconds timeout) const {
        server("LogService::flush").flush(timeout);
    }

    // Messages for which there was no room. Asked across the bus.
    [[nodiscard]] std::uint64_t dropped() const;
    // How often the sink threw; and the first that it threw, if there is one, thrown here.
    [[nodiscard]] std::uint64_t failures() const {
        return server("LogService::failures").failures();
    }
    void rethrow_failure() const { server("LogService::rethrow_failure").rethrow_failure(); }

   private:
    [[nodiscard]] detail::RequestServer& server(std::string_view call) const {
        return detail::owned(server_, call);
    }

    Memory dropped_;
    detail::OwnedByProcess<detail::RequestServer> server_;
};

}  // namespace carillon
