// SPDX-License-Identifier: Apache-2.0
// What a block has in shared memory, and how its handler is called. Compiled once for each
// CARILLON_CASE: 0 is right, each other one is refused (CMakeLists.txt).
#include <carillon/carillon.hpp>
#include <string>

namespace block = carillon::block;

template <std::size_t size>
struct Bytes {
    char byte[size];
};

template <class State>
struct Sharing {
    using Shared = State;
    CARILLON_HD int operator()(int const& request, Shared& /*shared*/) const { return request; }
    CARILLON_HD void idle(Shared& /*shared*/) {}
};
struct NeverShared {
    using Shared = Bytes<4>;
    CARILLON_HD int operator()(int const& request) const { return request; }
};
struct Text {
    std::string text;
};
struct OutOfLineOfBase {
    static constexpr bool out_of_line = true;
};
struct IdlesForASecond {
    CARILLON_HD int operator()(int const& request) const { return request; }
    CARILLON_HD void idle(int /*seconds*/) {}
};

// What nobody could use, and would be left out without a word.
class IdlesInPrivate {
   public:
    CARILLON_HD int operator()(int const& request) const { return request; }

   private:
    void idle() {}
};
struct IdlesInManyWays {
    CARILLON_HD int operator()(int const& request) const { return request; }
    CARILLON_HD void idle(int /*seconds*/) {}
    CARILLON_HD void idle(long /*seconds*/) {}
};
class ThreadsInPrivate {
    static constexpr unsigned threads = 32;

   public:
    CARILLON_HD int operator()(int const& request) const { return request; }
};
struct ThreadsOfEachObject {
    unsigned threads;
    CARILLON_HD int operator()(int const& request) const { return request; }
};
struct ThreadsOfAFloatingPointType {
    static constexpr double threads = 32.5;
    CARILLON_HD int operator()(int const& request) const { return request; }
};
class OutOfLineInPrivate {
    static constexpr bool out_of_line = true;

   public:
    CARILLON_HD int operator()(int const& request) const { return request; }
};
struct OutOfLineOfEachObject {
    bool out_of_line;
    CARILLON_HD int operator()(int const& request) const { return request; }
};
// All that a handler says may be its base's, and it may be final.
struct Says final : OutOfLineOfBase {
    enum { threads = 32 };
    CARILLON_HD int operator()(int const& request) const { return request; }
    CARILLON_HD void idle(int /*unused*/ = 0) {}
};

template <class Handler, class Requests = carillon::Channels>
void use_kernel() {
    auto const device = carillon::Device::open("emulated");
    carillon::PersistentKernel<Handler, Requests> const kernel(device);
}

void use() {
#if CARILLON_CASE == 0
    (void)block::shared<Bytes<48 * 1024>, struct Large>();
    use_kernel<Says>();
    use_kernel<Sharing<Bytes<44 * 1024>>>();
    use_kernel<Sharing<Bytes<44 * 1024>>, carillon::Pool>();
    use_kernel<Sharing<Bytes<40 * 1024>>, carillon::SharedPool>();
#elif CARILLON_CASE == 1
    Bytes<4> own{};
    (void)block::shared(own);
#elif CARILLON_CASE == 2
    (void)block::shared<Bytes<48 * 1024 + 1>, struct Large>();
#elif CARILLON_CASE == 3
    (void)block::shared<std::string, struct Text>();
#elif CARILLON_CASE == 4
    use_kernel<Sharing<Bytes<44 * 1024 + 1>>>();
#elif CARILLON_CASE == 5
    use_kernel<Sharing<Text>>();
#elif CARILLON_CASE == 6
    use_kernel<NeverShared>();
#elif CARILLON_CASE == 7
    use_kernel<Sharing<Bytes<4>>, carillon::WatchedChannels>();
#elif CARILLON_CASE == 8
    use_kernel<IdlesForASecond>();
#elif CARILLON_CASE == 9
    use_kernel<Sharing<Bytes<40 * 1024 + 1>>, carillon::SharedPool>();
#elif CARILLON_CASE == 10
    use_kernel<IdlesInPrivate>();
#elif CARILLON_CASE == 11
    use_kernel<IdlesInManyWays>();
#elif CARILLON_CASE == 12
    use_kernel<ThreadsInPrivate>();
#elif CARILLON_CASE == 13
    use_kernel<ThreadsOfEachObject>();
#elif CARILLON_CASE == 14
    use_kernel<OutOfLineInPrivate>();
#elif CARILLON_CASE == 15
    use_kernel<OutOfLineOfEachObject>();
#elif CARILLON_CASE == 16
    use_kernel<ThreadsOfAFloatingPointType>();
#endif
}
