// SPDX-License-Identifier: Apache-2.0
// A machine together with the policies that are meant for it.
#pragma once

#include <string>
#include <vector>

#include "adversary/machine/instructions.hpp"

namespace carillon::test {
using namespace detail;

struct Configuration {
    Bus bus;
    HostStores stores{StoreKind::sse2, PublishMode::two_step};
    bool read_back = false;  // between out-of-line data and what names it
};

[[nodiscard]] std::string name_of(Configuration const& configuration);

// Every way to store lines on every bus where it is sound.
[[nodiscard]] std::vector<Configuration> all_configurations();
// One configuration for each bus: for messages to the host, where only the credit depends on the
// stores.
[[nodiscard]] std::vector<Configuration> one_configuration_for_each_bus();

// The access policies of both sides.
class Policies {
   public:
    using HostFar = BasicHostMapped<AdversaryCpu>;
    using HostNear = BasicHostCached<AdversaryCpu>;
    using DeviceFar = BasicDeviceFar<AdversaryGpu>;
    using DeviceNear = BasicDeviceNear<AdversaryGpu>;

    Policies(Machine& machine, Configuration const& configuration)
        : machine_(machine), configuration_(configuration), sync_(machine) {}

    [[nodiscard]] Machine& machine() const { return machine_; }
    [[nodiscard]] RangeSync const* sync() const {
        return configuration_.bus.coherent() ? nullptr : &sync_;
    }
    [[nodiscard]] HostFar host_far() const {
        auto const* word = &machine_.device_lines()->quads[0].low;
        return HostFar(configuration_.stores, sync(), configuration_.read_back ? word : nullptr,
                       AdversaryCpu(machine_));
    }
    [[nodiscard]] HostNear host_near() const { return HostNear(sync(), AdversaryCpu(machine_)); }
    [[nodiscard]] DeviceFar device_far() const { return DeviceFar(AdversaryGpu(machine_)); }
    [[nodiscard]] DeviceNear device_near() const { return DeviceNear(AdversaryGpu(machine_)); }

   private:
    Machine& machine_;
    Configuration configuration_;
    AdversarySync sync_;
};

// Words that one side writes and the other reads, outside any line: the end of the reader's memory.
class OutOfLineWords {
   public:
    static constexpr std::uint32_t count = 64;

    OutOfLineWords(Policies const& policies, Side writer)
        : machine_(policies.machine()), sync_(policies.sync()), writer_(writer) {
        Line* const lines = writer == Side::host ? machine_.device_lines() : machine_.host_lines();
        words_ = &lines[lines_per_memory - count / cells_per_line].quads[0].low;
    }

    // The host flushes memory that is not coherent, as Memory::flush does.
    void write(std::uint32_t at, std::uint64_t value) const {
        machine_.store(writer_, words_ + at, {&value, 1});
        if (writer_ != Side::host || sync_ == nullptr) return;
        machine_.fence(Side::host);
        sync_->flush(words_ + at, sizeof(value));
    }
    [[nodiscard]] std::uint64_t read(std::uint32_t at) const {
        if (writer_ == Side::device && sync_ != nullptr) {
            sync_->invalidate(words_ + at, sizeof(std::uint64_t));
        }
        return detail::load_word(machine_, other(writer_), words_ + at,
                                 Machine::LoadOrder::relaxed);
    }

   private:
    Machine& machine_;
    RangeSync const* sync_;
    Side writer_;
    std::uint64_t* words_;
};

}  // namespace carillon::test
