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
struct IdlesForASecond {
    CARILLON_HD int operator()(int const& request) const { return request; }
    CARILLON_HD void idle(int /*seconds*/) {}
};

template <class Handler, class Requests = carillon::Channels>
void use_kernel() {
    auto const device = carillon::Device::open("emulated");
    carillon::PersistentKernel<Handler, Requests> const kernel(device);
}

void use() {
#if CARILLON_CASE == 0
    (void)block::shared<Bytes<48 * 1024>, struct Large>();
    use_kernel<Sharing<Bytes<44 * 1024>>>();
    use_kernel<Sharing<Bytes<44 * 1024>>, carillon::Pool>();
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
#endif
}
