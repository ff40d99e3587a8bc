// SPDX-License-Identifier: Apache-2.0
// Threads that copy together between ordinary and mapped memory: one CPU has too few accesses in
// flight to fill the bus.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "carillon/detail/host/thread.hpp"

namespace carillon::detail {

// From any thread. Nobody waits for a helper that sleeps or is busy: the caller copies the pieces
// that nobody else takes.
class CopyTeam {
   public:
    // From this size on helpers are worth it.
    static constexpr std::size_t least_bytes = std::size_t{128} << 10;
    // How long a helper looks for the next copy before it sleeps.
    static constexpr std::chrono::microseconds awake{200};

    // Copies by up to `threads` threads, including the caller's, and at most by a quarter of the
    // processors. The first expect() starts the others.
    [[nodiscard]] static std::shared_ptr<CopyTeam> make(unsigned threads);
    // Copies by `threads` threads, however many processors there are.
    [[nodiscard]] static std::shared_ptr<CopyTeam> make_of_all(unsigned threads);
    ~CopyTeam();
    CopyTeam& operator=(CopyTeam&&) = delete;

    // Announces a copy of this size: wakes the helpers. If none can be started there are none.
    void expect(std::size_t bytes) noexcept;
    // Copies to memory of a device, by streaming stores. The helpers' stores are fenced when it
    // returns; the caller's own leave with the caller's next store fence.
    void store(std::byte* to, std::byte const* from, std::size_t size) noexcept;
    // Copies from memory of a device, by streaming loads.
    void load(std::byte* to, std::byte const* from, std::size_t size) noexcept;

   private:
    using Copy = void (*)(std::byte* to, std::byte const* from, std::size_t size);
    // A multiple of lines.
    static constexpr std::size_t piece_bytes = std::size_t{32} << 10;

    // The next piece of the current copy, and the number of that copy. If the word is still the
    // same when a helper takes a piece, the fields that the helper has read belong to that copy. It
    // is aligned as one word: otherwise Clang calls a library for the atomic accesses.
    struct alignas(8) Next {
        std::uint32_t piece;
        std::uint32_t copy;
        bool operator==(Next const&) const = default;
    };
    static constexpr std::uint32_t no_piece = ~std::uint32_t{0};

    explicit CopyTeam(unsigned helpers) : helpers_(helpers) {}

    void copy(Copy how, std::byte* to, std::byte const* from, std::size_t size) noexcept;
    // Returns false if no piece is left.
    bool take_piece() noexcept;
    void help(std::stop_token const& stop) noexcept;
    void wake() noexcept;

    alignas(64) std::atomic<std::uint32_t> done_ = 0;  // pieces
    unsigned helpers_;
    // The current copy, with pieces_.
    std::atomic<Copy> copy_ = nullptr;
    std::atomic<std::byte*> to_ = nullptr;
    std::atomic<std::byte const*> from_ = nullptr;
    std::atomic<std::size_t> size_ = 0;
    alignas(64) std::atomic<std::uint32_t> woken_ = 0;
    std::once_flag started_;
    std::mutex copying_;
    std::atomic<std::uint32_t> pieces_ = 0;
    alignas(64) std::atomic<Next> next_ = Next{no_piece, 0};
    std::vector<Thread> threads_;  // last: they end before the members that they use
};

}  // namespace carillon::detail
