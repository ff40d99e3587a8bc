// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block: the first thread that asks for a variable makes it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "carillon/block.hpp"

namespace carillon::detail {

class BlockMemory {
   public:
    static constexpr std::size_t most_bytes = block::most_shared_bytes;
    static constexpr std::size_t most_variables = 256;

    BlockMemory() = default;
    ~BlockMemory();
    BlockMemory(BlockMemory const&) = delete;
    BlockMemory& operator=(BlockMemory const&) = delete;

    // Removes all variables, and sets every byte to `pattern`.
    void begin(std::byte pattern);
    // The variable of `site`. Throws UsageError if there is no room.
    [[nodiscard]] void* variable(void const* site, std::size_t bytes, std::size_t alignment);

   private:
    struct Variable {
        void const* site;
        std::size_t at;
    };
    static constexpr std::size_t most_alignment =
        1024;                                    // the alignment that TMA needs for its tiles
    static constexpr std::size_t red_zone = 32;  // behind a variable, forbidden
    // A variable's size is a multiple of its alignment: the gaps take no more than the variables.
    static constexpr std::size_t room = 2 * most_bytes + most_variables * 2 * red_zone;

    struct alignas(most_alignment) Room {
        std::array<std::byte, room> bytes;
    };
    [[nodiscard]] void* add(void const* site, std::size_t bytes, std::size_t alignment);

    std::unique_ptr<Room> room_ = std::make_unique<Room>();
    std::array<Variable, most_variables> variables_{};
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;  // of all variables
    std::size_t end_ = 0;    // of the last variable and its red zone
};

}  // namespace carillon::detail
