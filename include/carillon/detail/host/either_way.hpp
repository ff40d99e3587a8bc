// SPDX-License-Identifier: Apache-2.0
// For bindings to other languages: rings and mailboxes of bytes whose direction is known only at
// run time, and their ends on the device.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "carillon/bytes.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "carillon/ring.hpp"

namespace carillon::detail {

template <Direction direction>
using Way = std::integral_constant<Direction, direction>;

// An object of one of the two types; never moved.
template <class ToDevice, class ToHost>
class EitherWay {
   public:
    // `name` is the user's word for the object. `make(Way<direction>())` makes it.
    template <class Make>
    EitherWay(char const* name, Direction direction, Make const& make) : name_(name) {
        if (direction == Direction::to_device) {
            one_.template emplace<0>(new ToDevice(make(Way<Direction::to_device>())));
        } else {
            one_.template emplace<1>(new ToHost(make(Way<Direction::to_host>())));
        }
    }

    [[nodiscard]] Direction direction() const {
        return one_.index() == 0 ? Direction::to_device : Direction::to_host;
    }
    // Throw UsageError for the other direction, in which this side `does` something else.
    [[nodiscard]] ToDevice& to_device(char const* does) const {
        if (auto* const one = std::get_if<0>(&one_)) return **one;
        throw UsageError(std::string("the ") + name_ + " goes to the host: this side " + does);
    }
    [[nodiscard]] ToHost& to_host(char const* does) const {
        if (auto* const one = std::get_if<1>(&one_)) return **one;
        throw UsageError(std::string("the ") + name_ + " goes to the device: this side " + does);
    }
    // Calls `use` with the object.
    template <class Use>
    decltype(auto) visit(Use const& use) const {
        return std::visit([&](auto const& one) -> decltype(auto) { return use(*one); }, one_);
    }
    // The device's end, for a thread instead of a kernel. Throws what device_handle() throws.
    [[nodiscard]] auto emulated_end() const {
        using Ends = EitherWay<typename ToDevice::DeviceEnd, typename ToHost::DeviceEnd>;
        return Ends(name_, direction(), [&]<Direction direction>(Way<direction> /*way*/) {
            constexpr std::size_t index = direction == Direction::to_device ? 0 : 1;
            return std::get<index>(one_)->device_handle(CodeLocation::elsewhere());
        });
    }

   private:
    char const* name_;
    std::variant<std::unique_ptr<ToDevice>, std::unique_ptr<ToHost>> one_;
};

template <template <class, Direction> class Object>
using ObjectOfBytes =
    EitherWay<Object<Bytes, Direction::to_device>, Object<Bytes, Direction::to_host>>;
template <template <class, Direction> class Object>
using EndOfBytes = EitherWay<typename Object<Bytes, Direction::to_device>::DeviceEnd,
                             typename Object<Bytes, Direction::to_host>::DeviceEnd>;

}  // namespace carillon::detail
