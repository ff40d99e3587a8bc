// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/data.hpp"

#include "kernels/verify/rows.hpp"
#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t capacity_of_lines = 16;
constexpr std::uint32_t capacity_of_rows = data_words;  // as a SharedRowReceiver has room for

struct DataRings {
    VerifyStage const& stage;
    DataTest const& test;
    ChannelMemory memory;
    Memory data;
    detail::HostMapped far;

    DataRings(VerifyStage const& on, DataTest const& what)
        : stage(on),
          test(what),
          memory(on.device, count(), what.rows ? capacity_of_rows : capacity_of_lines),
          data(what.direction == Direction::to_device ? on.device.allocate(bytes())
                                                      : on.device.allocate_host(bytes())),
          far(on.device.access(memory.device_memory())) {}

    [[nodiscard]] unsigned count() const { return stage.threads * stage.rings_per_thread(); }
    [[nodiscard]] std::size_t bytes() const {
        return count() * data_words_of_ring(memory.capacity()) * sizeof(std::uint64_t);
    }
    [[nodiscard]] std::uint64_t* data_of_ring(unsigned ring) const {
        return data_of(data.host_ptr(), ring, memory.capacity());
    }
    [[nodiscard]] detail::ChannelView host_view(unsigned ring) const {
        return memory.host_view().channel(ring);
    }
    // The rings of one thread.
    template <class Use>
    void for_each(unsigned thread, Use&& use) const {
        unsigned const first = thread * stage.rings_per_thread();
        for (unsigned i = 0; i < stage.rings_per_thread(); ++i) use(first + i);
    }
};

Findings send_data(DataRings const& rings, unsigned thread, Clock::time_point deadline) {
    std::vector<DataSender<detail::HostMapped, detail::HostCached>> senders;
    rings.for_each(thread, [&](unsigned ring) {
        detail::ChannelView const view = rings.host_view(ring);
        senders.emplace_back(view.requests, view.replies, rings.data_of_ring(ring),
                             rings.test.order, rings.far, detail::HostCached());
    });
    detail::RangeSync const* const sync = rings.data.range_sync();
    auto const flush = [&](void const* where, std::size_t size) {
        if (sync != nullptr) sync->flush(where, size);
    };
    std::uint64_t in_flight = 0;
    for (bool sending = true; sending || in_flight != 0;) {
        bool progress = false;
        in_flight = 0;
        for (auto& each : senders) {
            if (sending) {
                progress |= rings.test.rows ? each.try_send_row<longest_row>(flush) != 0
                                            : each.try_send(flush);
            }
            progress |= each.try_receipt();
            in_flight += each.in_flight();
        }
        if (!progress) rings.stage.rest();
        auto const now = Clock::now();
        sending = now < deadline && !interrupted();
        if (now > deadline + arrival_patience) break;
    }
    Findings findings;
    if (in_flight != 0) findings.add({Fault::missing, thread, 0, 0, 0, in_flight});
    return findings;
}

struct HostReceiver {
    DataReceiver<detail::HostCached, detail::HostMapped> receiver;
    std::uint64_t const* end;

    HostReceiver(DataRings const& rings, unsigned ring)
        : receiver(rings.host_view(ring).replies, rings.host_view(ring).requests,
                   rings.data_of_ring(ring), ring, detail::HostCached(), rings.far),
          end(&rings.host_view(ring).status->ended) {}

    [[nodiscard]] bool at_end() const {
        return receiver.next() == detail::HostCached().load_word(end);
    }
};

Findings receive_data(DataRings const& rings, unsigned thread, Clock::time_point deadline) {
    Findings findings;
    std::vector<HostReceiver> open;
    rings.for_each(thread, [&](unsigned ring) { open.emplace_back(rings, ring); });
    while (!open.empty()) {
        bool received = false;
        for (HostReceiver& each : open) received |= each.receiver.try_receive(findings);
        if (received) continue;
        rings.stage.rest();
        std::erase_if(open, [](HostReceiver const& each) { return each.at_end(); });
        if (Clock::now() < deadline + arrival_patience) continue;
        for (HostReceiver const& each : open) {
            findings.add({Fault::missing, thread, each.receiver.next(), 0,
                          detail::HostCached().load_word(each.end), each.receiver.next()});
        }
        break;
    }
    return findings;
}

template <class Receiver>
void start_receiving(LitmusKernel& kernel, DataRings const& rings) {
    kernel.start(ReceiveData<Receiver>{rings.memory.device_view(), rings.data.device_ptr(),
                                       kernel.station()});
}

Findings data_to_device(DataRings const& rings, std::chrono::nanoseconds time) {
    LitmusKernel kernel(rings.stage, rings.count(), time);
    DataTest const& test = rings.test;
    if (test.rows && test.read_early) {
        start_receiving<RowReceiver<detail::DeviceNear, true>>(kernel, rings);
    } else if (test.rows && test.shared) {
        start_receiving<SharedRowReceiver>(kernel, rings);
    } else if (test.rows) {
        test.relaxed_load ? start_receiving<RowReceiver<RelaxedNear>>(kernel, rings)
                          : start_receiving<RowReceiver<detail::DeviceNear>>(kernel, rings);
    } else {
        test.relaxed_load
            ? start_receiving<DataReceiver<RelaxedNear, detail::DeviceFar>>(kernel, rings)
            : start_receiving<DataReceiver<detail::DeviceNear, detail::DeviceFar>>(kernel, rings);
    }
    auto const deadline = Clock::now() + time;
    Findings found = on_threads(
        rings.stage.threads, [&](unsigned thread) { return send_data(rings, thread, deadline); });
    found += kernel.end();
    return found;
}

template <class Far>
void start_sending(LitmusKernel& kernel, DataRings const& rings) {
    kernel.start(SendData<Far>{rings.memory.device_view(), rings.data.device_ptr(),
                               rings.test.order, kernel.station()});
}

Findings data_to_host(DataRings const& rings, std::chrono::nanoseconds time) {
    LitmusKernel kernel(rings.stage, rings.count(), time);
    rings.test.bulk ? start_sending<detail::DeviceBulkFar>(kernel, rings)
                    : start_sending<detail::DeviceFar>(kernel, rings);
    auto const deadline = Clock::now() + time;
    return on_threads_until(kernel, deadline, rings.stage.threads,
                            [&](unsigned thread) { return receive_data(rings, thread, deadline); });
}

}  // namespace

Findings run_data(VerifyStage const& stage, DataTest const& test, std::chrono::nanoseconds time) {
    DataRings const rings(stage, test);
    return test.direction == Direction::to_device ? data_to_device(rings, time)
                                                  : data_to_host(rings, time);
}

}  // namespace carillon::tool
