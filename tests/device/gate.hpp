// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/device.hpp"

namespace carillon::test {
using namespace detail;

// A word in device memory that bodies wait for (bodies.hpp).
class Gate {
   public:
    explicit Gate(Device const& device)
        : memory_(device.allocate(64)),
          flag_(static_cast<std::uint64_t*>(memory_.host_ptr()), device.access(memory_)) {}
    ~Gate() { open(~std::uint64_t{0}); }  // a test that failed does not hold its kernel up
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;

    void open(std::uint64_t until) { flag_.set(until); }
    [[nodiscard]] std::uint64_t const* device_view() const {
        return static_cast<std::uint64_t const*>(memory_.device_ptr());
    }

   private:
    Memory memory_;
    FlagWriter<std::uint64_t, HostMapped> flag_;
};

}  // namespace carillon::test
