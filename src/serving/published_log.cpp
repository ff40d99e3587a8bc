// SPDX-License-Identifier: Apache-2.0
#include "serving/published_log.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <string_view>

#include "carillon/error.hpp"
#include "serving/message_fields.hpp"

namespace carillon::detail {
namespace {

constexpr std::uint32_t most_shared_messages = 1U << 16U;

}  // namespace

PublishedLog::PublishedLog(Device const& device, std::uint32_t capacity)
    : device_(device), capacity_(capacity) {
    if (std::has_single_bit(capacity) && capacity >= 2 && capacity <= most_shared_messages) return;
    throw UsageError(
        fmt::format("LogOptions::shared_capacity {}: it is a power of two from 2 to {}", capacity,
                    most_shared_messages));
}

PublishedLog::~PublishedLog() {
    if (object_ != nullptr) object_->close();
}

std::shared_ptr<PublishedObject> PublishedLog::object() {
    std::lock_guard const lock(mutex_);
    if (object_ == nullptr) {
        ObjectShape const shape{capacity_, mailbox_lines<PublishedMessage>, 0};
        object_ = std::make_shared<PublishedObject>(device_, ObjectKind::log, shape, type(),
                                                    Sequence{1}, false);
        writer_.emplace(object_->host_view(), HostMapped(HostStores{}));
        shared_.store(true, std::memory_order_release);
    }
    return object_;
}

void PublishedLog::write(LogRecord const& record) {
    if (!shared_.load(std::memory_order_acquire)) return;
    PublishedMessage message{};
    std::string_view const text = cut(record.text, sizeof(message.text));
    message.time_ns = record.time_ns;
    message.block = record.block;
    message.level = static_cast<std::uint16_t>(record.level);
    message.bytes = static_cast<std::uint16_t>(text.size());
    std::memcpy(message.text, text.data(), text.size());
    writer_->set(message);
}

}  // namespace carillon::detail
