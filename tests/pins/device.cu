// SPDX-License-Identifier: Apache-2.0
// Kernels whose PTX ptx_test.py checks: each is one use of the protocol by a device thread.
#include <carillon/detail/kernel/block_control.hpp>
#include <carillon/detail/kernel/serve.hpp>
#include <carillon/detail/machine/device_copy.hpp>
#include <carillon/detail/machine/group.hpp>
#include <carillon/detail/protocol/endpoints.hpp>
#include <carillon/detail/protocol/mpmc_ring_protocol.hpp>

namespace {

using carillon::detail::DeviceConsumer;
using carillon::detail::DeviceProducer;
using carillon::detail::Line;
using carillon::detail::OutOfLine;
using carillon::detail::RingView;

struct Words {
    std::uint32_t word[12];
};

struct Clock {
    __device__ void idle(std::uint32_t) const {}
    __device__ void sleep(std::uint32_t) const {}
    __device__ std::uint64_t now_ns() const { return 0; }
    __device__ std::uint64_t ticks() const { return 0; }
    __device__ std::uint64_t sm() const { return 0; }
};

}  // namespace

extern "C" __global__ void poll_line(Line const* slot, Line* out) {
    *out = carillon::detail::DeviceNear().load_line(slot);
}

extern "C" __global__ void poll_word(std::uint64_t const* word, std::uint64_t* out) {
    *out = carillon::detail::DeviceNear().load_word(word);
}

// The loop that waits for a line; a credit that is held goes back on the way.
extern "C" __global__ void poll_loop(DeviceConsumer<Words> consumer, Line* out) {
    while (!consumer.try_consume([&](Line const& line) { *out = line; })) {
    }
}

extern "C" __global__ void publish(DeviceProducer<Words> producer, Line const* in, bool* done) {
    *done = producer.try_put(*in);
}

extern "C" __global__ void publish_data(DeviceProducer<Words> producer, Line const* in, int* data,
                                        bool* done) {
    *data = 1;
    *done = producer.try_put(*in, OutOfLine::written);
}

extern "C" __global__ void set_flag(
    carillon::detail::FlagWriter<int, carillon::detail::DeviceFar> flag) {
    flag.set(1);
}

extern "C" __global__ void set_flag_data(
    carillon::detail::FlagWriter<int, carillon::detail::DeviceFar> flag, int* data) {
    *data = 1;
    flag.set(1, OutOfLine::written);
}

// A warp's poll of an MPMC ring: a stripe is claimed, four lines a lane are looked at.
extern "C" __global__ void poll_mpmc(
    carillon::detail::MpmcConsumer<Words, carillon::detail::DeviceNear, carillon::detail::DeviceFar,
                                   carillon::detail::WarpLanes>
        consumer,
    Words* out) {
    while (!consumer.poll([&](Words const& words, carillon::detail::Sequence) { *out = words; })) {
    }
}

extern "C" __global__ void publish_mpmc(
    carillon::detail::LanesProducer<Words, carillon::detail::DeviceFar,
                                    carillon::detail::DeviceNear, carillon::detail::WarpLanes>
        producer,
    Words const* in, bool* done) {
    *done = producer.try_push(*in);
}

using carillon::detail::DeviceFar;
using carillon::detail::DeviceNear;
using carillon::detail::WarpLanes;

// A warp's ends of a ring: every lane looks at the line, one returns the credit; the lanes store a
// quad each, or one the line, behind its fence.
extern "C" __global__ void poll_lanes(
    carillon::detail::Consumer<Words, DeviceNear, DeviceFar, WarpLanes> consumer, Line* out) {
    while (!consumer.try_consume([&](Line const& line) { *out = line; })) {
    }
}

using ProducingLanes = carillon::detail::Producer<Words, DeviceFar, DeviceNear,
                                                  carillon::detail::NoDoorbell, WarpLanes>;

extern "C" __global__ void publish_quads(ProducingLanes producer, Words const* in, bool* done) {
    struct Three {
        std::uint32_t word[3];
    };
    *done = producer.try_push_quads(1, [&](std::size_t i) {
        std::uint32_t const* const word = in->word + 3 * i;
        return Three{word[0], word[1], word[2]};
    });
}

extern "C" __global__ void publish_lanes_data(ProducingLanes producer, Words const* in, int* data,
                                              bool* done) {
    *data = 1;
    *done = producer.try_push(*in, OutOfLine::written);
}

// The copy that a block makes for a DeviceWriter.
extern "C" __global__ void pull(void* to, void const* from, std::size_t size) {
    carillon::detail::device_copy::Pull::copy(to, from, size);
}

struct Same {
    __device__ Words operator()(Words const& words) const { return words; }
};

extern "C" __global__ void serve_loop(carillon::detail::DeviceChannel<Words, Words> channel,
                                      carillon::detail::ControlLine* control,
                                      carillon::detail::StatusLine* status) {
    Same handler;
    carillon::detail::serve(channel, handler,
                            carillon::detail::BasicBlockControl<carillon::detail::DeviceNear,
                                                                carillon::detail::DeviceFar, Clock>(
                                control, status, 0, Clock()));
}
