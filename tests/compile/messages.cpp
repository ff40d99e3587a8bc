// SPDX-License-Identifier: Apache-2.0
// Compiled once for each CARILLON_CASE: 0 is right, each other one is refused (CMakeLists.txt).
#include <carillon/carillon.hpp>
#include <carillon/testing.hpp>
#include <mutex>
#include <string>

struct Largest {
    char bytes[1024];
};
struct TooLarge {
    char bytes[1025];
};
struct NotTrivial {
    std::string text;
};

template <class Request, class Reply>
struct Handler {
    CARILLON_HD Reply operator()(Request const& /*request*/) const { return {}; }
};
struct HandlerWithText {
    std::string text;
    int operator()(int value) const { return value; }
};
struct HandlerWithLock {
    std::mutex lock;
    int operator()(int value) const { return value; }
};
struct BodyWithText {
    std::string text;
    void operator()(unsigned /*block*/) const {}
};

template <std::size_t bytes>
struct Sized {
    char byte[bytes];
    int operator()(int value) const { return value + byte[0]; }
};
template <std::size_t bytes>
struct SizedBody {
    char byte[bytes];
    void operator()(unsigned /*block*/) const {}
};
struct Uncallable {};
struct Silent {
    void operator()(int /*value*/) const {}
};
struct Made {  // its default constructor is none
    explicit Made(short from) : value(from) {}
    short value;
};
struct ConstMember {
    int const value;
};
struct OwnAddress {
    int value;
    OwnAddress const* operator&() const = delete;
};
template <class T>
struct Calls {
    typename carillon::HostService<T, T>::Caller caller;
    CARILLON_HD int operator()(int const& request) {
        T reply{request};
        return caller.call(T{request}, reply, 0) == carillon::HostCallResult::answered ? reply.value
                                                                                       : 0;
    }
};
struct OfMade {
    Made operator()(Made const& request) const { return request; }
};

template <class T>
void use_ring(carillon::Device const& device) {
    carillon::Ring<T, carillon::Direction::to_device> ring(device);
    (void)ring.try_push(T{});
}

template <class H>
void use_kernel(carillon::Device const& device) {
    carillon::PersistentKernel<H> const kernel(device);
}

template <class H>
void use_pool(carillon::Device const& device) {
    carillon::PersistentKernel<H, carillon::Pool> kernel(device);
    (void)kernel.client().try_submit({});
}

struct SeveralThreads : Handler<int, int> {
    static constexpr unsigned threads = 32;
};

template <class H>
auto watched(carillon::Device const& device) {
    return carillon::PersistentKernel<H, carillon::WatchedChannels>(device);
}

template <std::size_t bytes>
struct CommandOf {
    char byte[bytes];
};
template <std::size_t bytes>
struct CommandToAPool : Handler<CommandOf<bytes>, int> {
    using Commands = carillon::Commands<CommandOf<bytes>>;
};

template <int bytes>
void use_mailbox(carillon::Device const& device) {
    struct Value {
        char byte[bytes];
    };
    carillon::Mailbox<Value, carillon::Direction::to_device>(device, {}).set({});
}

template <class Request>
void use_service(carillon::Device const& device) {
    carillon::HostService<Request, int> service(device, [](Request const&) { return 0; });
    (void)service.device_handle();
}
// A ticket that is dropped keeps its place.
template <class H>
auto ticket_of(carillon::Device const& device) {
    return carillon::PersistentKernel<H>(device).channel().submit(1, std::chrono::seconds(1));
}
#pragma GCC diagnostic error "-Wunused-result"

template <class Meta>
void use_chunks(carillon::Device const& device) {
    (void)carillon::ChunkRing<Meta>(device, {}).device_handle();
}

struct Numbered {
    static constexpr std::uint32_t opcode = 0;
};
struct Large {
    std::uint32_t word[256];
};
struct Desk {
    int operator()(int const& command) { return command; }
    void operator()(Numbered const& /*command*/) {}
    void operator()(Large const& /*command*/) {}
    Large operator()(char const& /*command*/) { return {}; }
};

template <class... Command>
struct DeskOf : Desk {
    using Commands = carillon::Commands<Command...>;
    // A table of commands goes before what a handler of its own may call so.
    using Request = Large;
    using Reply = Large;
};

template <class... Command>
auto commands(carillon::Device const& device) {
    return carillon::PersistentKernel<DeskOf<Command...>>(device);
}

[[maybe_unused]] void function(unsigned /*block*/) {}

void use(carillon::Device const& device) {
#if CARILLON_CASE == 0
    use_ring<Largest>(device);
    use_kernel<Handler<Largest, Largest>>(device);
    use_pool<Handler<Largest, Largest>>(device);
    carillon::Flag<double, carillon::Direction::to_device>(device).set(1.5);
    use_mailbox<4096>(device);
    auto log = carillon::LogService(device).device_handle();
    carillon::log<"{{{:>8}}} of {:.3}">(log, 1, 2.5);
    (void)commands<Numbered>(device).channel().call(Numbered{}, {});
    (void)carillon::CommandTicket<int>(carillon::Ticket());
    (void)watched<Handler<int, int>>(device).channel();
    use_kernel<SeveralThreads>(device);
    using Pooled = carillon::PersistentKernel<CommandToAPool<1020>, carillon::Pool>;
    (void)Pooled(device).client().try_submit(CommandOf<1020>{});
    use_service<CommandOf<40>>(device);
    use_chunks<CommandOf<40>>(device);
    use_kernel<Sized<carillon::detail::handler_bytes>>(device);
    (void)carillon::launch(device, 1, SizedBody<carillon::detail::handler_bytes>{});
    use_kernel<OfMade>(device);
    (void)carillon::PersistentKernel<OfMade, carillon::Pool>(device).client();
    (void)carillon::Flag<Made, carillon::Direction::to_host>(device).get();
    carillon::Flag<OwnAddress, carillon::Direction::to_device>(device).set({});
    (void)carillon::MpmcRing<OwnAddress, carillon::Direction::to_device>(device)
        .producer()
        .try_push({});
    carillon::HostService<ConstMember, ConstMember> const service(
        device, [](ConstMember const& request) { return request; });
    using Caller = Calls<ConstMember>;
    carillon::PersistentKernel<Caller> const calling(device, {}, Caller{service.device_handle()});
#elif CARILLON_CASE == 1
    use_ring<TooLarge>(device);
#elif CARILLON_CASE == 2
    use_ring<NotTrivial>(device);
#elif CARILLON_CASE == 3
    use_kernel<Handler<TooLarge, int>>(device);
#elif CARILLON_CASE == 4
    use_kernel<Handler<int, TooLarge>>(device);
#elif CARILLON_CASE == 5
    use_kernel<Handler<int, NotTrivial>>(device);
#elif CARILLON_CASE == 6
    use_kernel<HandlerWithText>(device);
#elif CARILLON_CASE == 7
    (void)carillon::launch(device, 1, BodyWithText{});
#elif CARILLON_CASE == 8
    carillon::Ring<int, carillon::Direction::to_device> ring(device);
    (void)ring.try_pop();
#elif CARILLON_CASE == 9
    carillon::Flag<Largest, carillon::Direction::to_device>(device).set({});
#elif CARILLON_CASE == 10
    use_mailbox<4097>(device);
#elif CARILLON_CASE == 11
    carillon::Mailbox<NotTrivial, carillon::Direction::to_device>(device, {}).set({});
#elif CARILLON_CASE == 12
    (void)commands<int, NotTrivial*>(device);
#elif CARILLON_CASE == 13
    (void)commands<int, Numbered>(device);
#elif CARILLON_CASE == 14
    (void)commands<Large>(device);
#elif CARILLON_CASE == 15
    (void)commands<char>(device);
#elif CARILLON_CASE == 16
    (void)commands<int>(device).channel().call(Numbered{}, {});
#elif CARILLON_CASE == 17
    use_pool<Handler<TooLarge, int>>(device);
#elif CARILLON_CASE == 18
    use_pool<Handler<NotTrivial, int>>(device);
#elif CARILLON_CASE == 19
    auto log = carillon::LogService(device).device_handle();
    carillon::log<"{:>{}}">(log, 1, 2);
#elif CARILLON_CASE == 20
    (void)watched<SeveralThreads>(device);
#elif CARILLON_CASE == 21
    use_pool<CommandToAPool<1021>>(device);
#elif CARILLON_CASE == 22
    (void)watched<Handler<int, int>>(device).express();
#elif CARILLON_CASE == 23
    use_service<CommandOf<41>>(device);
#elif CARILLON_CASE == 24
    use_chunks<CommandOf<41>>(device);
#elif CARILLON_CASE == 25
    use_kernel<Sized<carillon::detail::handler_bytes + 1>>(device);
#elif CARILLON_CASE == 26
    (void)carillon::launch(device, 1, SizedBody<carillon::detail::handler_bytes + 1>{});
#elif CARILLON_CASE == 27
    use_kernel<Uncallable>(device);
#elif CARILLON_CASE == 28
    use_kernel<Silent>(device);
#elif CARILLON_CASE == 29
    using Kernel = carillon::PersistentKernel<Sized<1>, carillon::SharedChannels>;
    Kernel const kernel(device, {}, carillon::SharedChannels{}, Sized<1>{});
#elif CARILLON_CASE == 30
    using Kernel = carillon::PersistentKernel<Sized<1>, carillon::Pool>;
    Kernel const kernel(device, carillon::Pool{.clients = 8}, {.blocks = 2});
#elif CARILLON_CASE == 31
    (void)carillon::launch(device, 1, Uncallable{});
#elif CARILLON_CASE == 32
    ticket_of<Handler<int, int>>(device);
#elif CARILLON_CASE == 33
    carillon::PersistentKernel<Handler<int, int>>(device).channel().try_submit(1);
#elif CARILLON_CASE == 38
    carillon::PersistentKernel const kernel(device, Handler<int, int>{});
#elif CARILLON_CASE == 39
    carillon::PersistentKernel<Handler<int, int>> const kernel(device, {}, [] { return Silent{}; });
#elif CARILLON_CASE == 40
    use_kernel<HandlerWithLock>(device);
#elif CARILLON_CASE == 41
    (void)commands<int>(device).channel().call(NotTrivial{}, {});
#elif CARILLON_CASE == 42
    carillon::SharedMailbox<NotTrivial> const mailbox(device);
#elif CARILLON_CASE == 43
    carillon::OwnedByBlock<NotTrivial> const owned(0, {});
#elif CARILLON_CASE == 44
    (void)carillon::testing::run_block(Handler<int, int>{}, NotTrivial{});
#elif CARILLON_CASE == 45
    carillon::CommandTicket<Numbered> const other;
    (void)carillon::CommandTicket<int>(other);
#elif CARILLON_CASE == 46
    struct Bits {
        unsigned bits : 4;
        CARILLON_MEMBERS(bits)
    };
#elif CARILLON_CASE == 47
    carillon::PersistentKernel<Handler<int, int>> const kernel(device, 4);
#elif CARILLON_CASE == 48
    carillon::PersistentKernel<Handler<int[4], int>> const kernel(device);
#elif CARILLON_CASE == 49
    (void)carillon::Device::open(0);
#elif CARILLON_CASE == 50
    carillon::PersistentKernel const kernel(device, carillon::Pool{}, {.blocks = 2}, Sized<1>{});
#elif CARILLON_CASE == 51
    std::shared_ptr<carillon::ChannelMemory> const memory;
    carillon::PersistentKernel<Sized<1>> const kernel(device, memory, {.blocks = 2});
#elif CARILLON_CASE == 34
    (void)carillon::launch(device, 1, function);
#elif CARILLON_CASE == 35
    (void)carillon::launch_pinned(device, carillon::Pins(1), function);
#elif CARILLON_CASE == 36
    (void)carillon::launch(device, 1, [](unsigned /*block*/) { return &function; });
#elif CARILLON_CASE == 37
    (void)carillon::launch(device, 1, [](unsigned /*block*/) { return Uncallable{}; });
#endif
}
