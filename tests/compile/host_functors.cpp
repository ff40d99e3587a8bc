// SPDX-License-Identifier: Apache-2.0
// Functors of the host's alone, in each place where the library calls one on the GPU: nvcc is to
// refuse them all (host_functors_test.py).
#include <carillon/carillon.hpp>

template <class Requests>
struct Handler {
    int operator()(int const& value) const { return value; }
};
struct Together {
    static constexpr unsigned threads = 32;
    int operator()(int const& value) const { return value; }
};
struct Long {
    char bytes[1000];
};
struct OfLongMessages {
    int operator()(Long const& value) const { return value.bytes[0]; }
};
struct Overloaded {
    using Request = int;
    using Reply = int;
    template <class T>
    T operator()(T const& value) const {
        return value;
    }
};
struct OfCommands {
    using Commands = carillon::Commands<int, long>;
    CARILLON_HD int operator()(int const& value) const { return value; }
    int operator()(long const& value) const { return static_cast<int>(value); }
};
struct OfABlocksState {
    struct Shared {};
    int operator()(int const& value, Shared& /*shared*/) const { return value; }
};
struct Idling {
    CARILLON_HD int operator()(int const& value) const { return value; }
    void idle() {}
};
// A temporary would find another operator() than a request that lies in a ring.
struct OfTheTwo {
    using Request = int;
    using Reply = int;
    CARILLON_HD int operator()(int&& value) const { return value; }
    int operator()(int const& value) const { return value; }
};
struct Constructed {
    int count;
    Constructed() : count(1) {}
};
inline int of_the_host() { return 1; }
struct Initialized {
    int count = of_the_host();
};
template <class State>
struct WithState {
    using Shared = State;
    CARILLON_HD int operator()(int const& value, Shared& shared) const {
        return value + shared.count;
    }
};
struct BodyOfABlock {
    void operator()(unsigned /*block*/) const {}
};
struct Body {
    void operator()(unsigned /*block*/) const {}
};
struct BodyWithPins {
    void operator()(unsigned /*block*/) const {}
};
struct UseOfLines {
    void operator()(carillon::detail::Packed<int> const& /*packed*/) const {}
};
struct Use {
    void operator()(int const& /*value*/, carillon::detail::Sequence /*number*/) const {}
};
struct Takes {
    carillon::DeviceConsumer<int>* ring;
    carillon::MpmcRing<int, carillon::Direction::to_device>::DeviceEnd* pool;
    CARILLON_HD void operator()(unsigned /*block*/) const {
        ring->try_consume(UseOfLines{});
        pool->poll(Use{});
    }
};

template <class Requests>
void serve(carillon::Device const& device) {
    carillon::PersistentKernel<Handler<Requests>, Requests> const kernel(device);
}

void use(carillon::Device const& device) {
    using carillon::PersistentKernel;
    serve<carillon::Channels>(device);
    serve<carillon::WatchedChannels>(device);
    serve<carillon::Pool>(device);
    serve<carillon::SharedChannels>(device);
    serve<carillon::SharedPool>(device);
    PersistentKernel<Together> const together(device);
    PersistentKernel<OfLongMessages> const of_long_messages(device);
    PersistentKernel<Overloaded> const overloaded(device);
    PersistentKernel<OfCommands> const of_commands(device);
    PersistentKernel<OfABlocksState> const of_a_blocks_state(device);
    PersistentKernel<Idling> const idling(device);
    PersistentKernel<OfTheTwo> const of_the_two(device);
    PersistentKernel<WithState<Constructed>> const constructed(device);
    PersistentKernel<WithState<Initialized>> const initialized(device);
    auto const of_a_block =
        carillon::launch(device, 1, [](unsigned /*block*/) { return BodyOfABlock{}; });
    auto const body = carillon::launch(device, 1, Body{});
    auto const with_pins = carillon::launch_pinned(device, carillon::Pins(1), BodyWithPins{});
    auto const takes = carillon::launch(device, 1, Takes{});
}
