// SPDX-License-Identifier: Apache-2.0
// What the fixtures between processes have in common: a path at which P serves and C connects, and
// what P serves there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/ipc_handlers.hpp"
#include "ipc/peer_process.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

// Options of an owner that writes nothing to stderr.
inline ServeOptions quiet(ServeOptions options = {}) {
    if (!options.log) options.log = [](std::string const& /*line*/) {};
    return options;
}

// Holds each request until the test lets all go on.
struct Gate {
    std::atomic<bool> begun = false;
    std::atomic<bool> open = false;
};
struct HeldHandler {
    Gate* gate;

    Told operator()(Ask const& ask) const {
        gate->begun = true;
        while (!gate->open) std::this_thread::yield();
        return {2 * ask.value, 0};
    }
};

// What an owner logs. It outlives the owner's server.
class LoggedLines {
   public:
    void add(std::string const& line) {
        std::lock_guard const lock(mutex_);
        lines_.push_back(line);
    }
    [[nodiscard]] std::function<void(std::string const&)> log() {
        return [this](std::string const& line) { add(line); };
    }
    [[nodiscard]] std::vector<std::string> now() const {
        std::lock_guard const lock(mutex_);
        return lines_;
    }
    // Waits for a line that has this text.
    [[nodiscard]] bool come(std::string const& text) const {
        auto const has = [&](std::string const& line) {
            return line.find(text) != std::string::npos;
        };
        return eventually([&] { return std::ranges::any_of(now(), has); });
    }

   private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

// `Owner`: what C connects to by default.
template <class Base = testing::Test, class Owner = Connection, class Path = SocketPath>
class AtPath : public Base {
   protected:
    [[nodiscard]] std::string path() const { return path_.get(); }
    [[nodiscard]] std::filesystem::path const& folder() const { return path_.folder(); }
    template <class Reached = Owner>
    [[nodiscard]] Reached connect(ConnectOptions const& options = {.timeout = patience}) const {
        return Reached(path(), options);
    }

   private:
    Path path_;
};

// P has a device that needs no GPU. nvcc compiles none of these fixtures' tests.
template <class Base = testing::Test, class Owner = Connection>
class WithDevice : public AtPath<Base, Owner> {
   protected:
    explicit WithDevice(std::string const& selector = "emulated")
        : device_(Device::open(selector)) {}

    [[nodiscard]] Device const& device() const { return device_; }
    // A kernel whose blocks sleep while they wait.
    template <class Handler = CountingHandler, class Requests = SharedChannels>
    [[nodiscard]] PersistentKernel<Handler, Requests> kernel(KernelOptions options = {},
                                                             Handler const& handler = {}) const {
        options.idle = IdlePolicy::park();
        return PersistentKernel<Handler, Requests>(device_, options, handler);
    }

   private:
    Device device_;
};

// P has a server at the path.
template <class Base = testing::Test>
class WithServer : public WithDevice<Base> {
   protected:
    explicit WithServer(ServeOptions const& options = {}, std::string const& selector = "emulated")
        : WithDevice<Base>(selector), server_(std::in_place, this->path(), options) {}

    [[nodiscard]] Server& server() { return *server_; }
    void end_server() { server_.reset(); }
    // Waits until P has heard that so many clients are left.
    void await_clients(std::size_t count) const {
        EXPECT_TRUE(eventually([&] { return server_->clients().size() == count; }));
    }

   private:
    std::optional<Server> server_;
};

// P serves one kernel.
template <class Requests = SharedChannels>
class WithKernel : public WithDevice<> {
   protected:
    explicit WithKernel(KernelOptions const& options = {.blocks = 2, .capacity = 8},
                        ServeOptions const& serving = {})
        : kernel_(kernel<CountingHandler, Requests>(options)),
          server_(kernel_.serve(path(), serving)) {}

    [[nodiscard]] Server const& server() const { return server_; }

   private:
    PersistentKernel<CountingHandler, Requests> kernel_;
    Server server_;
};

// P has a kernel of two blocks and a store, and serves both when the test says so.
class WithKernelAndStore : public WithDevice<> {
   protected:
    [[nodiscard]] Server serve(ServeOptions const& options = {},
                               NameArgument name = "kernel") const {
        Server server = kernel_.serve(path(), options, name);
        server.add(store_);
        return server;
    }
    [[nodiscard]] PersistentKernel<CountingHandler, SharedChannels>& served() { return kernel_; }
    [[nodiscard]] Store const& store() const { return store_; }

   private:
    PersistentKernel<CountingHandler, SharedChannels> kernel_ = kernel({.blocks = 2});
    Store store_{device(), {.bytes = 1U << 20U}};
};

}  // namespace carillon::test
