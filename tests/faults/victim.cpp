// SPDX-License-Identifier: Apache-2.0
// A program in which a fault happens, for faults_test.py: victim DEVICE FAULT. It prints a line for
// each thing that its callers saw, and ends with 0 if it could end in order.
#include <carillon/carillon.hpp>
#include <cstdio>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#if defined(__CUDACC__)
#include <cassert>
#endif

namespace carillon::test {

using namespace std::chrono_literals;

enum class Fault : std::uint32_t { none, trap, address, assertion, loop };

struct Request {
    Fault fault;
    std::uint32_t number;
};

// Makes the fault of its request. On the emulated device a fault would end this process, so it
// throws instead. The loop ends after a while, since others use the machine too.
struct Handler {
    CARILLON_HD std::uint32_t operator()(Request const& request) const {
        if (request.fault == Fault::loop) {
            DeviceClock const clock(true);
            std::uint64_t const began = clock.now_ns();
            for (std::uint32_t polls = 0; clock.now_ns() - began < 2'500'000'000;) {
                clock.idle(++polls);
            }
        } else if (request.fault != Fault::none) {
            return fail(request.fault);
        }
        return request.number + 1;
    }

   private:
    // A bad store would be found out later: the handler would have answered by then.
    CARILLON_HD static std::uint32_t fail(Fault fault) {
#if defined(__CUDA_ARCH__)
        if (fault == Fault::trap) __trap();
        if (fault == Fault::assertion) __assert_fail("handler", __FILE__, __LINE__, "fail");
        return *reinterpret_cast<std::uint32_t const volatile*>(std::uintptr_t{64});
#else
        throw std::domain_error("fault " + std::to_string(static_cast<int>(fault)));
#endif
    }
};

namespace {

using Kernel = PersistentKernel<Handler>;
using Clock = std::chrono::steady_clock;

constexpr char const* names[] = {"none", "trap", "address", "assertion", "loop"};

long ms_since(Clock::time_point start) {
    return static_cast<long>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

// Prints the exception of `call`, and after how many ms it came.
template <class Call>
void tell(char const* what, Call&& call) {
    auto const start = Clock::now();
    std::string said = "nothing";
    char const* type = "none";
    try {
        call();
    } catch (DeviceFaultError const& error) {
        type = "DeviceFaultError";
        said = error.code_name();
    } catch (TimeoutError const& error) {
        type = "TimeoutError";
        said = error.what();
    } catch (StoppedError const& error) {
        type = "StoppedError";
        said = error.what();
    } catch (std::domain_error const& error) {
        type = "domain_error";
        said = error.what();
    } catch (std::exception const& error) {
        type = "exception";
        said = error.what();
    }
    std::printf("%s\t%s\t%ld\t%s\n", what, type, ms_since(start), said.c_str());
    std::fflush(stdout);
}

void ask(Kernel& kernel, unsigned channel, Fault fault, std::chrono::nanoseconds timeout) {
    if (kernel.channel(channel).call({fault, 41}, timeout) != 42) throw Error("call", "wrong");
}

// Breaks one block. The callers of both blocks, later callers, and a new kernel report what they
// see.
void break_it(Device const& device, Fault fault) {
    bool const loop = fault == Fault::loop;
    auto left = Clock::now();
    {
        Kernel kernel(device, {.blocks = 2, .stop_timeout = 200ms});
        tell("before", [&] { ask(kernel, 1, Fault::none, 10s); });
        tell("fault", [&] { ask(kernel, 0, fault, loop ? 50ms : 10s); });
        tell("neighbour", [&] { ask(kernel, 1, Fault::none, 10s); });
        tell("stop", [&] { kernel.stop(100ms); });
        tell("later", [&] { (void)kernel.channel(1).try_submit({Fault::none, 1}); });
        std::printf("state\t%s\t0\t\n", std::string(to_string(kernel.state())).c_str());
        left = Clock::now();
    }
    std::printf("destructor\tnone\t%ld\t\n", ms_since(left));
    tell("new kernel", [&] {
        Kernel next(device, {.stop_timeout = 200ms});
        ask(next, 0, Fault::none, 10s);
    });
}

// Breaks a kernel while a kernel on another device of this process goes on.
void break_one_of_two(Device const& device) {
    std::optional<Device> opened;
    try {
        opened = Device::open(device.emulated() ? "emulated" : "cuda:1");
    } catch (DeviceNotFoundError const& error) {
        std::printf("skipped\tnone\t0\t%s\n", error.what());
        return;
    }
    Device const& other = *opened;
    Kernel there(other, {.stop_timeout = 200ms});
    tell("elsewhere before", [&] { ask(there, 0, Fault::none, 10s); });
    break_it(device, Fault::trap);
    tell("elsewhere", [&] {
        for (int i = 0; i < 1000; ++i) ask(there, 0, Fault::none, 10s);
    });
    tell("elsewhere stop", [&] { there.stop(10s); });
    tell("elsewhere new kernel", [&] {
        Kernel next(other);
        ask(next, 0, Fault::none, 10s);
    });
}

// Calls until something goes wrong.
void keep_calling(Device const& device, std::chrono::nanoseconds host_limit) {
    Kernel kernel(device, {.blocks = 4, .stop_timeout = 200ms, .host_limit = host_limit});
    tell("ready", [&] { ask(kernel, 0, Fault::none, 10s); });
    tell("end", [&] {
        for (unsigned i = 0;; ++i) ask(kernel, i % 4, Fault::none, 10s);
    });
}

int run(std::string const& selector, std::string const& what) {
    std::optional<Device> device;
    try {
        device = Device::open(selector);
    } catch (DeviceNotFoundError const& error) {
        std::printf("skipped\tnone\t0\t%s\n", error.what());
        return 77;
    }
    if (what == "call") {
        keep_calling(*device, 300ms);
    } else if (what == "one of two") {
        break_one_of_two(*device);
    } else {
        for (std::uint32_t fault = 1; fault < std::size(names); ++fault) {
            if (what == names[fault]) break_it(*device, static_cast<Fault>(fault));
        }
    }
    std::printf("done\tnone\t0\t\n");
    return 0;
}

}  // namespace
}  // namespace carillon::test

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    try {
        return carillon::test::run(argv[1], argv[2]);
    } catch (std::exception const& error) {
        std::printf("uncaught\texception\t0\t%s\n", error.what());
        return 1;
    }
}
