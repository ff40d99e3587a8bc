// SPDX-License-Identifier: Apache-2.0
// Log messages of any bytes: each gives a text.
#include "carillon/log.hpp"

#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
namespace {

// Texts of every kind of argument, under small numbers, so that messages find them.
detail::LogRegistry const& texts() {
    static detail::LogRegistry registry;
    static bool const filled = [] {
        std::uint32_t id = 0;
        for (auto const& [text, kinds] : {std::pair{"{} over {}: {} {}", "iufb"},
                                          {"{:c} {:#x} {:+}", "iuf"},
                                          {"{:>20.3e}|{:<5}|{:08b}", "fbu"},
                                          {"{:a} {:g} {:%<9}", "ffi"},
                                          {"{1} {0}", "iu"}}) {
            registry.add(id++, {text, kinds});
        }
        return true;
    }();
    (void)filled;
    return registry;
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(log, input) {
    while (!input.empty()) {
        auto message = input.take<detail::LogMessage>();
        if (message.id > 255) message.id %= 8;
        std::string text = detail::log_text(texts(), message);
        require(!text.empty() && text.size() < 4096, "a message has a text, and a short one");
        auto const level =
            static_cast<LogLevel>(message.block_and_level >> detail::log_level_shift);
        (void)detail::log_line({message.time_ns, message.block_and_level, level, std::move(text)});
    }
}
