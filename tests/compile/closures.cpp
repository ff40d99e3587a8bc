// SPDX-License-Identifier: Apache-2.0
// The calls of public headers that have lambdas in them, each instantiated (closures_test.py).
#include "carillon/carillon.hpp"

namespace carillon {

struct Quote {
    int bid;
    int ask;
};
struct Level {
    int price;
};

template class Client<Quote, Level>;
template class Client<Quote, Level, Pool>;
template class Client<Bytes, Bytes>;
template class Ring<Quote, Direction::to_device>;
template class Ring<Quote, Direction::to_host>;
template class Ring<Bytes, Direction::to_device>;
template class Ring<Bytes, Direction::to_host>;
template class Mailbox<Quote, Direction::to_device>;
template class Mailbox<Quote, Direction::to_host>;
template class Mailbox<Bytes, Direction::to_device>;
template class ChunkRing<Quote>;
template class ChunkRing<NoMeta>;
template class MpmcRing<Quote, Direction::to_device>;
template class MpmcRing<Quote, Direction::to_host>;
template class Flag<int, Direction::to_device>;
template class Flag<int, Direction::to_host>;
template class Doorbell<Direction::to_device>;
template class Doorbell<Direction::to_host>;
template class SharedMailbox<Quote, Direction::to_device>;
template class SharedMailbox<Quote, Direction::to_host>;
template class SharedRing<Quote, Direction::to_device>;
template class SharedRing<Quote, Direction::to_host>;
template class SharedChunkRing<Quote>;

void connect_to_all(Connection const& owner, Server& server,
                    SharedRing<Quote, Direction::to_host> const& ring) {
    server.add("ring", ring);
    (void)owner.channel<Quote, Level>("kernel");
    (void)owner.channel<Bytes, Bytes>("kernel", {4}, {4});
    (void)owner.mailbox<Quote>("mailbox");
    (void)owner.mailbox<Quote, Direction::to_host>("mailbox");
    (void)owner.ring<Quote, Direction::to_device>("ring");
    (void)owner.ring<Quote, Direction::to_host>("ring");
    (void)owner.chunk_ring<Quote>("chunks");
}

}  // namespace carillon
