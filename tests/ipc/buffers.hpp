// SPDX-License-Identifier: Apache-2.0
// Stores whose memory is any device's, and buffers of one byte again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/device_fixture.hpp"
#include "ipc/fixtures.hpp"

namespace carillon::test {

inline constexpr std::size_t some_bytes = 100'000;

inline std::uint64_t put(Store const& store, std::byte content, std::size_t bytes = some_bytes) {
    Buffer made = store.create("", bytes);
    made.write(std::vector(bytes, content));
    return made.seal().id();
}

inline std::byte last_byte(Buffer const& buffer) {
    std::byte last{};
    buffer.read(std::span(&last, 1), buffer.size() - 1);
    return last;
}

// C reaches its buffers on the device.
class StoreClientTest : public AtPath<DeviceTest, Store> {
   protected:
    [[nodiscard]] Store connect(ConnectOptions options = {.timeout = patience}) const {
        options.device = std::make_shared<Device>(device());
        return AtPath::connect(options);
    }
};

// P has a store, and serves it when the test says so.
class StoreOwnerTest : public StoreClientTest {
   protected:
    void SetUp() override {
        StoreClientTest::SetUp();
        if (!IsSkipped()) store_.emplace(device(), StoreOptions{.bytes = std::size_t{64} << 20});
    }
    [[nodiscard]] Store& store() { return *store_; }
    [[nodiscard]] Server serve(ServeOptions const& options = {}) {
        return store().serve(path(), quiet(options));
    }
    void end_store() { store_.reset(); }

   private:
    std::optional<Store> store_;
};

}  // namespace carillon::test
