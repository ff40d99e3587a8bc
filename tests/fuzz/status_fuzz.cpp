// SPDX-License-Identifier: Apache-2.0
// The status lines of a kernel that writes anything, through all functions of the host that read
// them.
#include "carillon/detail/host/kernel_supervisor.hpp"

#include "carillon/error.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr unsigned status_blocks = 2;

// A host without a kernel: the lines are this program's to write.
struct Watched {
    Device device = Device::open("emulated");
    std::shared_ptr<ChannelMemory> memory = std::make_shared<ChannelMemory>(device, 4, 4);
    std::shared_ptr<detail::KernelSupervisor> host = detail::KernelSupervisor::make(
        device, memory, {.blocks = status_blocks, .start_timeout = std::chrono::nanoseconds(0)}, 2);

    StatusLine& status(unsigned block) { return *memory->host_view().channel(2 * block).status; }
};

void look(detail::KernelSupervisor& host, unsigned block) {
    (void)host.sm(block);
    require(host.doorbell_page(block) < 2, "a block has two pages for doorbells");
    for (bool const outstanding : {false, true}) {
        (void)to_string(host.activity(block, outstanding));
    }
    (void)to_string(host.state());
    for (auto const& call : {+[](detail::KernelSupervisor& each) { each.run(RunningKernel()); },
                             +[](detail::KernelSupervisor& each) { each.require_alive(); }}) {
        try {
            call(host);
        } catch (Error const&) {  // it has not started, or has ended: that is for the line to say
        }
    }
}

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(status, input) {
    static Watched watched;
    for (unsigned block = 0; block < status_blocks; ++block) {
        watched.status(block) = input.take<StatusLine>();
    }
    for (unsigned block = 0; block < status_blocks; ++block) look(*watched.host, block);
}
