// SPDX-License-Identifier: Apache-2.0
// `Flag` and `Doorbell`: signals between the CPU and a kernel of your own, in one direction each.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"
#include "carillon/ring.hpp"

namespace carillon {
namespace detail {

// The memory and the host's end of a Flag or a Doorbell: one word on its reader's side. Neither
// copied nor moved: two ends would know different values.
template <class HostEnd, class DeviceEnd, Direction direction>
class OneWord {
   public:
    explicit OneWord(Device const& device)
        : memory_(direction == Direction::to_device ? device.allocate(sizeof(Line))
                                                    : device.allocate_host(sizeof(Line))),
          host_(make_host_end(device)) {}
    OneWord& operator=(OneWord&&) = delete;

    [[nodiscard]] HostEnd& host() { return host_; }
    [[nodiscard]] HostEnd const& host() const { return host_; }
    [[nodiscard]] std::uint64_t* device_address() const {
        return static_cast<std::uint64_t*>(memory_.device_ptr());
    }
    [[nodiscard]] DeviceEnd device_handle() const { return DeviceEnd(device_address()); }

   private:
    [[nodiscard]] HostEnd make_host_end(Device const& device) const {
        auto* const word = static_cast<std::uint64_t*>(memory_.host_ptr());
        if constexpr (direction == Direction::to_device) {
            return HostEnd(word, device.access(memory_));
        } else {
            return HostEnd(word);
        }
    }

    Memory memory_;
    HostEnd host_;
};

}  // namespace detail

// A word of which only the latest value counts: a reader may miss earlier values. `T` is trivially
// copyable and at most 8 bytes. The first value is zero bytes. One writer, any number of readers.
template <class T, Direction direction>
class Flag {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    using HostEnd = std::conditional_t<to_device, detail::FlagWriter<T, HostMapped>,
                                       detail::FlagReader<T, detail::HostCached>>;
    using DeviceEnd = std::conditional_t<to_device, detail::FlagReader<T, detail::DeviceNear>,
                                         detail::FlagWriter<T, detail::DeviceFar>>;

    // Throws what Device::allocate throws.
    explicit Flag(Device const& device) try : word_(device) {
    } catch (...) {
        detail::throw_named("Flag");
    }

    // The device's end: pass it to a kernel by value.
    [[nodiscard]] DeviceEnd device_handle() const { return word_.device_handle(); }

    // Sets the value. `data` says that the value refers to device memory that the caller has
    // written. Throws VulkanError (non-coherent memory only).
    void set(T const& value, OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Flag::set", this, mark_, [&] { word_.host().set(value, data); });
    }
    // Returns the latest value.
    [[nodiscard]] T get() const requires(!to_device) {
        return detail::in_call("Flag::get", mark_, [&] { return word_.host().get(); });
    }

   private:
    detail::ProcessMark mark_;
    detail::OneWord<HostEnd, DeviceEnd, direction> word_;
};

// Counts its rings and loses none; close rings are heard together. One ringer, one listener.
template <Direction direction>
class Doorbell {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    using HostEnd = std::conditional_t<to_device, detail::DoorbellRinger<HostMapped>,
                                       detail::DoorbellListener<detail::HostCached>>;
    using DeviceEnd = std::conditional_t<to_device, detail::DoorbellListener<detail::DeviceNear>,
                                         detail::DoorbellRinger<detail::DeviceFar>>;

    // Throws what Device::allocate throws.
    explicit Doorbell(Device const& device) try : word_(device) {
    } catch (...) {
        detail::throw_named("Doorbell");
    }

    // The device's end: pass it to a kernel by value, once. Throws UsageError the second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("Doorbell::device_handle", [&] {
            void const* const word = word_.device_address();
            taken_.take("Doorbell::device_handle", where, {word, word});
            return word_.device_handle();
        });
    }

    // Rings once. `data` says that the caller has written device memory for the listener. Throws
    // VulkanError (non-coherent memory only).
    void ring(OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Doorbell::ring", this, mark_, [&] { word_.host().ring(data); });
    }
    // Returns how often it was rung since the last call.
    [[nodiscard]] std::uint64_t heard() requires(!to_device) {
        return detail::in_call("Doorbell::heard", this, mark_,
                               [&] { return word_.host().heard(); });
    }

   private:
    detail::ProcessMark mark_;
    detail::OneWord<HostEnd, DeviceEnd, direction> word_;
    mutable detail::TakenOnce taken_;
};

}  // namespace carillon
