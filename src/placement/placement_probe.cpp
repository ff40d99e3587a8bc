// SPDX-License-Identifier: Apache-2.0
#include "placement/placement_probe.hpp"

#include <algorithm>
#include <cstring>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// The longest trip; a GPU that is busy otherwise keeps blocks from starting.
constexpr std::chrono::seconds trip_limit{1};
constexpr std::chrono::milliseconds start_limit{500};
constexpr std::chrono::seconds end_limit{5};

}  // namespace

double median_of(ProbeSamples& samples) {
    if (samples.empty()) return 0;
    auto const middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
}

Prober::Prober(Device const& device, ChannelMemory& memory, Pins const& pins, LaunchProbe launch,
               std::chrono::nanoseconds limit)
    : memory_(memory),
      table_(memory.host_view()),
      far_(device.access(memory.device_memory())),
      wait_(HostWait::for_kernel(device.traits(), pins.roles())),
      roles_(pins.roles()) {
    if (pins.roles() > memory.channels() || pins.roles() > most_probe_roles) {
        throw UsageError("more blocks than channels to probe");
    }
    // No trip has the tag 0.
    std::memset(memory.device_memory().host_ptr(), 0, memory.device_memory().size());
    std::memset(memory.host_memory().host_ptr(), 0, memory.host_memory().size());
    memory.device_memory().flush(0, memory.device_memory().size());
    table_.locations = nullptr;
    ChannelTable on_device = memory.device_view();
    on_device.locations = nullptr;
    for (unsigned i = 0; i < pins.roles(); ++i) roles_[i].tag = first_probe_tag(i);
    ProbeBody const body{on_device, static_cast<std::uint64_t>(limit.count()),
                         device.oversubscribed(pins.roles())};
    running_ = launch(device, pins, body);
    try {
        await_start();
    } catch (...) {
        ask_to_stop();
        throw;
    }
}

Prober::~Prober() {
    if (stopped_) return;  // nothing was thrown
    try {
        ask_to_stop();
    } catch (...) {  // the driver could not flush: the blocks end by themselves
    }
}

void Prober::await_start() {
    auto const all_started = [&] {
        for (unsigned i = 0; i < roles_.size(); ++i) {
            if (!started(i)) return false;
        }
        return true;
    };
    HostWait const wait(HostWait::Style::yield);
    (void)wait.until(all_started, start_limit, [&] { (void)running_.finished(); });
}

bool Prober::started(unsigned role) const {
    return HostCached().load_word(&table_.channel(role).status->started) != 0;
}

std::uint32_t Prober::sm(unsigned role) const {
    StatusLine const* const status = table_.channel(role).status;
    return static_cast<std::uint32_t>(HostCached().load_word(&status->sm));
}

std::uint32_t Prober::line_of(std::uint32_t part, std::size_t bytes, Tag trip) const {
    // An odd step visits every slot, but neighbours not in sequence.
    constexpr Tag step = 55;
    auto const lines = static_cast<std::uint32_t>(bytes / sizeof(Line));
    return part * lines + ((trip * step) & (memory_.capacity() - 1));
}

std::uint32_t Prober::trip(Role& role, std::uint32_t reply, std::uint32_t next) {
    Tag const tag = ++role.tag;
    Line* const to = reinterpret_cast<Line*>(table_.in_device_memory) + role.at;
    Line const* const from = reinterpret_cast<Line const*>(table_.in_host_memory) + reply;
    HostCached const near;
    auto const start = Clock::now();
    far_.store_line(to, pack(ProbeTrip{reply, next}, tag), 0);
    far_.commit(to, sizeof(Line));
    auto const answered = [&] { return has_arrived(near.load_line(from), tag); };
    if (!wait_.until(answered, trip_limit)) {
        throw TimeoutError("the device did not answer a probe within ", trip_limit, "");
    }
    role.at = next;
    return static_cast<std::uint32_t>((Clock::now() - start).count());
}

void Prober::walk(unsigned role, std::span<ChannelLocation const> locations,
                  std::span<ProbeSamples> samples) {
    Role& walker = roles_[role];
    auto const request_at = [&](std::size_t i) {
        std::size_t const bytes = ChannelTable::request_bytes(memory_.shape());
        return line_of(locations[i].in_device_memory, bytes, walker.tag);
    };
    auto const reply_at = [&](std::size_t i) {
        std::size_t const bytes = ChannelTable::host_bytes(memory_.shape());
        return line_of(locations[i].in_host_memory, bytes, walker.tag);
    };
    if (locations.empty()) return;
    // The walk begins where the last trip led: one more trip leads to its start.
    (void)trip(walker, reply_at(0), request_at(0));
    for (std::size_t i = 0; i < locations.size(); ++i) {
        std::uint32_t const next = i + 1 < locations.size() ? request_at(i + 1) : walker.at;
        samples[i].push_back(trip(walker, reply_at(i), next));
    }
}

void Prober::ask_to_stop() {
    for (unsigned i = 0; i < roles_.size(); ++i) {
        FlagWriter<bool, HostMapped>(&table_.channel(i).control->stop, far_).set(true);
    }
}

void Prober::stop() {
    ask_to_stop();
    if (!running_.wait(end_limit)) {
        throw TimeoutError("the probe's blocks have not ended within ", end_limit, "");
    }
    stopped_ = true;
    memory_.reset();
}

}  // namespace carillon::detail
