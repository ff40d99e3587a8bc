// SPDX-License-Identifier: Apache-2.0
// Every pair of access policies that a ring can run over on a CPU, chosen at run time so that one
// test covers them all.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "carillon/detail/protocol/endpoints.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
using namespace detail;

class AnyNear {
   public:
    template <class Policy>
    AnyNear(Policy policy) : policy_(policy) {}  // NOLINT: stands for any policy

    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        return std::visit([&](auto const& policy) { return policy.load_line(from, quads); },
                          policy_);
    }
    [[nodiscard]] Line load_line_ahead(Line const* from, std::size_t quads = quads_per_line) const {
        return std::visit([&](auto const& policy) { return policy.load_line_ahead(from, quads); },
                          policy_);
    }
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        return std::visit([&](auto const& policy) { return policy.load_word(from); }, policy_);
    }

   private:
    std::variant<DeviceNear, HostCached> policy_;
};

class AnyFar {
   public:
    template <class Policy>
    AnyFar(Policy policy) : policy_(policy) {}  // NOLINT: stands for any policy

    void store_line(Line* to, Line const& line, Tag previous,
                    std::size_t quads = quads_per_line) const {
        std::visit([&](auto const& policy) { policy.store_line(to, line, previous, quads); },
                   policy_);
    }
    template <std::size_t count>
    void store_lines(Line* to, Lines<count> const& lines, std::size_t quads, Tag previous) const {
        std::visit([&](auto const& policy) { policy.store_lines(to, lines, quads, previous); },
                   policy_);
    }
    void store_payloads(Line* to, void const* payloads, std::size_t count, Tag first,
                        Tag previous) const {
        std::visit(
            [&](auto const& policy) {
                policy.store_payloads(to, payloads, count, first, previous);
            },
            policy_);
    }
    void store_word(std::uint64_t* to, std::uint64_t value) const {
        std::visit([&](auto const& policy) { policy.store_word(to, value); }, policy_);
    }
    void commit(void const* where, std::size_t size) const {
        std::visit([&](auto const& policy) { policy.commit(where, size); }, policy_);
    }
    void release() const {
        std::visit([](auto const& policy) { policy.release(); }, policy_);
    }

   private:
    std::variant<DeviceFar, HostMapped> policy_;
};

static_assert(NearAccess<AnyNear> && FarAccess<AnyFar>);

enum class Side : bool { device, host };

// The producing side, the consuming side, and how the host's side stores.
struct Access {
    Side producer;
    Side consumer;
    HostStores stores;

    [[nodiscard]] static AnyNear near_of(Side side) {
        if (side == Side::host) return HostCached();
        return DeviceNear();
    }
    [[nodiscard]] AnyFar far_of(Side side) const {
        if (side == Side::host) return HostMapped(stores);
        return DeviceFar();
    }

    template <class T>
    [[nodiscard]] Producer<T, AnyFar, AnyNear> make_producer(RingView const& view) const {
        return Producer<T, AnyFar, AnyNear>(view, far_of(producer), near_of(producer));
    }
    template <class T>
    [[nodiscard]] Consumer<T, AnyNear, AnyFar> make_consumer(RingView const& view) const {
        return Consumer<T, AnyNear, AnyFar>(view, near_of(consumer), far_of(consumer));
    }

    [[nodiscard]] std::string name() const;
};

inline void PrintTo(Access const& access, std::ostream* out) { *out << access.name(); }

inline std::string Access::name() const {
    std::string const sides = std::string(producer == Side::host ? "host" : "device") + "To" +
                              (consumer == Side::host ? "Host" : "Device");
    bool const host = producer == Side::host || consumer == Side::host;
    return host ? sides + "_" + name_of(stores) : sides;
}

[[nodiscard]] inline std::vector<Access> all_accesses() {
    std::vector<Access> all{{Side::device, Side::device, {}}, {Side::device, Side::host, {}}};
    for (HostStores stores : all_stores()) {
        all.push_back({Side::host, Side::device, stores});
        all.push_back({Side::host, Side::host, stores});
    }
    return all;
}

class AccessTest : public testing::TestWithParam<Access> {
   protected:
    void SetUp() override {
        std::string const reason = why_not(GetParam().stores);
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
};

template <class Param>
std::string test_name(testing::TestParamInfo<Param> const& info) {
    return info.param.name();
}

}  // namespace carillon::test
