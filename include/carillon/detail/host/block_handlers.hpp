// SPDX-License-Identifier: Apache-2.0
// The handlers of a kernel's blocks on their way to the device: one that all blocks copy, or one
// that a function makes for each block.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "carillon/per_block.hpp"

namespace carillon::detail {

// A body for blocks that have one each. These are there until the kernel ends.
template <class Body>
struct BodyOfBlock {
    Body const* of_block;

    CARILLON_HD void operator()(unsigned block) const {
        Body own = of_block[block];
        check_device_call<void, unsigned>(own);
        own(block);
    }
};

// Throws UsageError for a shape that no device has, and ResidencyError for more blocks than this
// device has room for beside its kernels. `lasting`: see LaunchShape.
void require_launch(Device const& device, unsigned blocks, unsigned threads = 1,
                    unsigned lasting = 0);

// Makes one for each block, in the device's memory. The caller frees it once the blocks have begun:
// while a kernel lives its device's memory is not freed. Throws UsageError for two blocks with the
// same end; what Device::allocate throws, and what `make` throws.
template <class Made, class Make>
[[nodiscard]] Memory make_for_each_block(Device const& device, unsigned blocks, Make& make,
                                         BlockNumbers numbers) {
    static_assert(std::is_trivially_copyable_v<Made>,
                  "carillon: what is made for a block must be trivially copyable");
    static_assert(std::is_class_v<Made>,
                  "carillon: what is made for a block is a class with an operator(): a GPU cannot "
                  "call a function of the host's");
    Memory memory = device.allocate(blocks * sizeof(Made));
    EndsOfBlocks ends(numbers);
    for (unsigned block = 0; block < blocks; ++block) {
        Made own = in_callback([&] { return make(block); });
        ends.add(block, &own, sizeof(own));
        std::memcpy(static_cast<std::byte*>(memory.host_ptr()) + block * sizeof(own), &own,
                    sizeof(own));
    }
    memory.flush(0, memory.size());
    return memory;
}

// The argument of a kernel's body, and its memory until every block has begun.
template <class Handler>
class BlockHandlers {
    using Functor = FunctorOf<Handler>;

   public:
    // `source` is a Handler, or makes them; `lanes_apart` says that each lane of a block has a
    // copy. Throws what require_launch() and make_for_each_block() throw, and UsageError for an end
    // in a handler that is copied otherwise.
    template <class Source>
    [[nodiscard]] static BlockHandlers from(Device const& device, unsigned blocks, bool lanes_apart,
                                            Source& source) {
        if constexpr (MakesHandlers<Source, Handler>) {
            auto const make = [&](unsigned block) {
                Functor functor =
                    functor_of(in_callback([&] { return source(block); }), lanes_apart);
                if (lanes_apart) refuse_copied_ends(&functor, sizeof(functor), lanes);
                return functor;
            };
            require_launch(device, blocks);
            return BlockHandlers(
                make_for_each_block<Functor>(device, blocks, make, BlockNumbers::unknown));
        } else {
            Functor const functor = functor_of(source, lanes_apart);
            refuse_copied_ends(&functor, sizeof(functor), lanes_apart ? lanes : blocks);
            return BlockHandlers(functor);
        }
    }
    [[nodiscard]] Handlers<Functor> const& view() const { return view_; }

   private:
    static constexpr unsigned lanes = 0;  // see refuse_copied_ends

    static Functor functor_of(Handler const& handler, bool lanes_apart) {
        if (HasShared<Handler> && lanes_apart) {
            throw UsageError(
                "the lanes of a warp serve apart with a stripe of over 1: a "
                "handler's Shared is for the threads that run it together");
        }
        return Functor(handler);
    }

    explicit BlockHandlers(Functor const& of_all) : view_(of_all) {}
    explicit BlockHandlers(Memory memory)
        : memory_(std::move(memory)), view_(static_cast<Functor const*>(memory_.device_ptr())) {}

    Memory memory_;
    Handlers<Functor> view_;
};

}  // namespace carillon::detail
