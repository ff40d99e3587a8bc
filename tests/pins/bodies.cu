// SPDX-License-Identifier: Apache-2.0
// Kernels whose machine code sass_test.py checks: the bodies of persistent kernels with messages of
// all sizes, and a user's own kernels.
#include <carillon/detail/kernel/channel_bodies.hpp>
#include <carillon/detail/kernel/copy_blocks.hpp>
#include <carillon/detail/kernel/pool_body.hpp>
#include <carillon/detail/kernel/watch.hpp>

namespace {

using carillon::detail::DeviceChannel;
using carillon::detail::DeviceConsumer;
using carillon::detail::Line;
using carillon::detail::PoolBody;
using carillon::detail::ServeBody;
using carillon::detail::ServeTogetherBody;
using carillon::detail::SharedPoolBody;
using carillon::detail::WatchBody;

struct Byte {
    unsigned char value;
};

template <unsigned bytes>
struct Words {
    std::uint32_t word[bytes / sizeof(std::uint32_t)];
};

template <class Message>
struct Echo {
    CARILLON_HD Message operator()(Message const& message) const { return message; }
};

template <class Message>
struct EchoOfManyThreads : Echo<Message> {
    static constexpr unsigned threads = 128;
};

// Reads 4 bytes of 48.
struct OneField {
    CARILLON_HD std::uint32_t operator()(Words<48> const& request) const {
        return 3 * request.word[7];
    }
};

// The README's handler: a request of 16 bytes, a reply of 8.
struct Reprice {
    CARILLON_HD std::uint64_t operator()(Words<16> const& request) const {
        return std::uint64_t{request.word[0]} * request.word[1];
    }
};

// Computes with its whole request: ptxas may compute early what depends on the tags.
struct Mixed {
    CARILLON_HD Words<48> operator()(Words<48> const& request) const {
        Words<48> reply{};
        for (unsigned i = 0; i < 12; ++i) {
            reply.word[i] = request.word[i] * request.word[(5 * i + 1) % 12] + i;
        }
        return reply;
    }
};

}  // namespace

#define CARILLON_KERNEL(name, ...) \
    extern "C" __global__ void name(__VA_ARGS__ body) { body(blockIdx.x); }
#define CARILLON_ECHO(name, ...) \
    CARILLON_KERNEL(name, ServeBody<Echo<__VA_ARGS__>, __VA_ARGS__, __VA_ARGS__>)

CARILLON_ECHO(echo_1, Byte)
CARILLON_ECHO(echo_8, Words<8>)
CARILLON_ECHO(echo_12, Words<12>)
CARILLON_ECHO(echo_16, Words<16>)
CARILLON_ECHO(echo_24, Words<24>)
CARILLON_ECHO(echo_40, Words<40>)
CARILLON_ECHO(echo_48, Words<48>)
CARILLON_ECHO(echo_56, Words<56>)
CARILLON_KERNEL(one_field, ServeBody<OneField, Words<48>, std::uint32_t>)
CARILLON_KERNEL(mixed, ServeBody<Mixed, Words<48>, Words<48>>)
CARILLON_KERNEL(reprice, ServeBody<Reprice, Words<16>, std::uint64_t>)
CARILLON_KERNEL(together, ServeTogetherBody<EchoOfManyThreads<Words<8>>, Words<8>, Words<8>>)
CARILLON_KERNEL(pool, PoolBody<Reprice, Words<16>, std::uint64_t>)
CARILLON_KERNEL(pool_together, PoolBody<EchoOfManyThreads<Words<8>>, Words<8>, Words<8>>)
CARILLON_KERNEL(shared_pool, SharedPoolBody<Reprice, Words<16>, std::uint64_t>)
CARILLON_KERNEL(shared_pool_48, SharedPoolBody<OneField, Words<48>, std::uint32_t>)
CARILLON_KERNEL(watch, WatchBody<Reprice, Words<16>, std::uint64_t>)
CARILLON_KERNEL(reader, carillon::detail::ReaderBody)

// A user's own kernel, which looks at parts of its messages.
extern "C" __global__ void own_ring(DeviceConsumer<Words<24>> ring, std::uint32_t* sum) {
    for (;;) {
        Words<24> taken;
        if (!ring.try_pop(taken)) continue;
        if (taken.word[0] == 0) break;
        *sum += taken.word[3];
    }
}

extern "C" __global__ void own_channel(DeviceChannel<Words<40>, Words<8>> channel) {
    for (;;) {
        Words<40> taken;
        if (!channel.requests.try_pop(taken)) continue;
        if (taken.word[0] == 0) break;
        while (!channel.replies.try_push({taken.word[1], taken.word[9]})) {
        }
    }
}

// The first message that comes, and no other.
extern "C" __global__ void own_wait(DeviceConsumer<Words<8>> ring, std::uint32_t* first) {
    Words<8> taken;
    while (!ring.try_pop(taken)) {
    }
    *first = taken.word[1];
}

// The control, which the test must find at fault: a poll whose loads nothing keeps whole.
extern "C" __global__ void control(Line const* slot, std::uint32_t* out) {
    Line line;
    do {
        line = carillon::detail::DeviceNear().load_line(slot);
    } while (!has_arrived(line, 1));
    *out = static_cast<std::uint32_t>(line.quads[0].low);
}
