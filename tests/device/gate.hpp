// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "carillon/device.hpp"

namespace carillon::test {

// A word in device memory that bodies wait for (bodies.hpp).
class Gate {
   public:
    explicit Gate(Device const& device) : memory_(device.allocate(64)), stores_(device.stores()) {}
    ~Gate() { open(~std::uint64_t{0}); }  // a test that failed does not hold its kernel up
    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;

    void open(std::uint64_t until) {
        auto* const word = static_cast<std::uint64_t*>(memory_.host());
        HostMapped const far(stores_, memory_.range_sync());
        far.store_word(word, until);
        far.commit(word, sizeof(*word));
    }
    [[nodiscard]] std::uint64_t const* on_device() const {
        return static_cast<std::uint64_t const*>(memory_.device());
    }

   private:
    Memory memory_;
    HostStores stores_;
};

}  // namespace carillon::test
