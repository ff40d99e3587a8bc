// SPDX-License-Identifier: Apache-2.0
// Threads that copy together between ordinary and mapped memory: one CPU keeps too few of its
// accesses under way to fill the bus.
#pragma once

#include <array>
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

// From any thread. A helper that sleeps, or is busy, is not waited for: whoever copies takes the
// pieces that nobody else has.
class CopyTeam {
   public:
    // From so many bytes on helpers are worth it.
    static constexpr std::size_t least_bytes = std::size_t{128} << 10;
    // So long a helper looks for the next copy before it sleeps.
    static constexpr std::chrono::microseconds awake{200};

    // Copies by up to `threads`, of which the caller's is one, and by fewer where processors are
    // few: a quarter of them. The others are started by the first expect().
    [[nodiscard]] static std::shared_ptr<CopyTeam> make(unsigned threads);
    // The same, and never fewer.
    [[nodiscard]] static std::shared_ptr<CopyTeam> make_of_all(unsigned threads);
    ~CopyTeam();
    CopyTeam(CopyTeam const&) = delete;
    CopyTeam& operator=(CopyTeam const&) = delete;

    // A copy of so many bytes will be asked for soon: wakes the helpers. Where none can be started
    // there are none.
    void expect(std::size_t bytes) noexcept;
    // To memory of a device, by streaming stores. Where others have made some of them, those are
    // fenced when it returns; the caller's own are behind the caller's next store fence.
    void store(std::byte* to, std::byte const* from, std::size_t size) noexcept;
    // From memory of a device, by streaming loads.
    void load(std::byte* to, std::byte const* from, std::size_t size) noexcept;

   private:
    using Copy = void (*)(std::byte* to, std::byte const* from, std::size_t size);
    // Of a multiple of lines.
    static constexpr std::size_t piece_bytes = std::size_t{32} << 10;

    // The next piece of the copy that is under way, and which copy that is: what a helper has read
    // of a copy is of that copy if this word is still the same when it takes a piece. Aligned as
    // one: Clang calls a library for the atomic accesses otherwise.
    struct alignas(8) Next {
        std::uint32_t piece;
        std::uint32_t copy;
        bool operator==(Next const&) const = default;
    };
    static constexpr std::uint32_t no_piece = ~std::uint32_t{0};

    explicit CopyTeam(unsigned helpers) : helpers_(helpers) {}

    void copy(Copy how, std::byte* to, std::byte const* from, std::size_t size) noexcept;
    // Returns false where no piece is left.
    bool take_piece() noexcept;
    void help(std::stop_token const& stop) noexcept;
    void wake() noexcept;

    alignas(64) std::atomic<std::uint32_t> done_ = 0;  // pieces
    unsigned helpers_;
    // Of the copy that is under way, as pieces_.
    std::atomic<Copy> copy_ = nullptr;
    std::atomic<std::byte*> to_ = nullptr;
    std::atomic<std::byte const*> from_ = nullptr;
    std::atomic<std::size_t> size_ = 0;
    alignas(64) std::atomic<std::uint32_t> woken_ = 0;
    std::once_flag started_;
    std::mutex copying_;
    std::atomic<std::uint32_t> pieces_ = 0;
    alignas(64) std::atomic<Next> next_ = Next{no_piece, 0};
    std::vector<Thread> threads_;  // the last: they end before what they look at goes
};

}  // namespace carillon::detail
