// SPDX-License-Identifier: Apache-2.0
// What a block has in shared memory. Compiled once for each CARILLON_CASE: 0 is right, each other
// one is refused (CMakeLists.txt).
#include <carillon/carillon.hpp>
#include <string>

namespace block = carillon::block;

template <std::size_t size>
struct Bytes {
    char byte[size];
};

void use() {
#if CARILLON_CASE == 0
    (void)block::shared<Bytes<48 * 1024>, struct Large>();
#elif CARILLON_CASE == 1
    Bytes<4> own{};
    (void)block::shared(own);
#elif CARILLON_CASE == 2
    (void)block::shared<Bytes<48 * 1024 + 1>, struct Large>();
#elif CARILLON_CASE == 3
    (void)block::shared<std::string, struct Text>();
#endif
}
