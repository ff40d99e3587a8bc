// SPDX-License-Identifier: Apache-2.0
// One handler on two devices that stand in for GPUs: each starts the code that was loaded there.
#include "nvrtc/handler_code.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "device/backend.hpp"

namespace carillon::detail {
namespace {

struct LoadedHere final : LoadedCode {
    explicit LoadedHere(void* where) : device(where) {}
    [[nodiscard]] void* kernel(char const* /*name*/) const override { return device; }
    void* device;
};

struct Ended final : Execution {
    bool finished() override { return true; }
    bool gone() noexcept override { return true; }
};

struct StandIn final : Backend {
    StandIn() : Backend(std::make_shared<Residents>(), {}) { info_.compute_capability = 90; }

    std::unique_ptr<Allocation> allocate(std::size_t /*size*/) override { return {}; }
    std::unique_ptr<Allocation> allocate_host(std::size_t /*size*/) override { return {}; }
    std::unique_ptr<Allocation> allocate_shared_host(std::size_t /*size*/) override { return {}; }
    std::unique_ptr<Allocation> register_host(std::span<std::byte> /*bytes*/,
                                              std::shared_ptr<void const> /*owner*/) override {
        return {};
    }
    std::shared_ptr<LoadedCode> load(std::span<std::byte const> /*image*/) override {
        ++loads;
        return std::make_shared<LoadedHere>(this);
    }
    std::unique_ptr<Execution> start(Program const& program, unsigned /*blocks*/) override {
        others += program.loaded != this ? 1 : 0;
        return std::make_unique<Ended>();
    }

    int loads = 0;
    int others = 0;  // kernels of what another device has loaded
};

// The part of machine code that the library reads: the symbols that describe the kernels.
std::string code_of_a_handler() {
    constexpr std::string_view names("\0carillon_threads\0carillon_forms", 32);
    std::array<Elf64_Sym, 2> symbols{};
    symbols[0].st_name = 1;
    symbols[0].st_size = 1;
    symbols[1].st_name = 18;
    symbols[1].st_size = 1;
    std::array<Elf64_Shdr, 2> sections{};
    Elf64_Ehdr header{};
    header.e_shoff = sizeof(header);
    header.e_shnum = sections.size();
    sections[0].sh_type = SHT_SYMTAB;
    sections[0].sh_link = 1;
    sections[0].sh_offset = sizeof(header) + sizeof(sections);
    sections[0].sh_size = sizeof(symbols);
    sections[1].sh_offset = sections[0].sh_offset + sizeof(symbols);
    std::string code;
    auto const add = [&](auto const& part) {
        code.append(reinterpret_cast<char const*>(&part), sizeof(part));
    };
    add(header);
    add(sections);
    add(symbols);
    return code + std::string(names) + '\0';
}

TEST(HandlerCodeTest, eachDeviceStartsWhatWasLoadedThere) {
    auto const first = std::make_shared<StandIn>();
    auto const second = std::make_shared<StandIn>();
    HandlerCode code({8, ""}, {8, ""}, 90, code_of_a_handler(), "", false);
    auto const start_on = [&](std::shared_ptr<StandIn> const& on) {
        (void)code.start(DeviceAccess::device(on), {}, {}, false);
    };
    code.load(DeviceAccess::device(first));
    code.load(DeviceAccess::device(second));
    start_on(first);
    start_on(second);
    code.load(DeviceAccess::device(first));
    EXPECT_EQ(first->loads, 1);
    EXPECT_EQ(second->loads, 1);

    auto const often = [&](std::shared_ptr<StandIn> const& on) {
        for (int i = 0; i < 1000; ++i) {
            code.load(DeviceAccess::device(on));
            start_on(on);
        }
    };
    std::thread beside([&] { often(first); });
    often(second);
    beside.join();
    EXPECT_EQ(first->others, 0);
    EXPECT_EQ(second->others, 0);
}

TEST(HandlerCodeTest, anotherComputeCapabilityIsAUsageError) {
    HandlerCode code({8, ""}, {8, ""}, 75, code_of_a_handler(), "", false);
    EXPECT_THROW(code.load(DeviceAccess::device(std::make_shared<StandIn>())), UsageError);
}

}  // namespace
}  // namespace carillon::detail
