// SPDX-License-Identifier: Apache-2.0
// Runs a handler or a kernel's body with all threads of its block, for unit tests without a GPU;
// link carillon::testing. A forgotten or divergent barrier is an error. A race shows as results
// that differ between seeds, or as a report of the thread sanitizer (docs/guide/testing.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iomanip>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/block.hpp"
#include "carillon/commands.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"

namespace carillon::testing {

struct BlockOptions {
    unsigned threads = 0;          // at most 1024; 0: the handler's own number, or 1 for a body
    std::uint64_t first_seed = 0;  // a seed decides the order of the threads
    unsigned seeds = 100;          // number of seeds, from the first one on
    unsigned block = 0;            // the value of block::index()
    // Bytes of address space for each thread, at least 16 KiB; only the used part takes memory.
    std::size_t stack_bytes = std::size_t{256} * 1024;
};

// A fault in a block's threads; the same seed shows it again. If this error or an exception of a
// thread ends a block, its waiting threads end where they are, and nothing on their stacks is
// destroyed.
class BlockError : public Error {
   public:
    BlockError(std::uint64_t seed, std::string_view cause);

    [[nodiscard]] std::uint64_t seed() const { return seed_; }

   private:
    std::uint64_t seed_;
};

// Some threads wait at a barrier, or at a vote of their warp, that the others do not reach: those
// have returned or wait elsewhere. The text names the threads and their places.
class BarrierError : public BlockError {
    using BlockError::BlockError;
};

// A seed gave another result than the first seed: the result depends on the order of the threads.
class RaceError : public BlockError {
    using BlockError::BlockError;
};

}  // namespace carillon::testing

namespace carillon::detail {

// Runs the threads of one block together, once for each seed: every thread calls `each_thread`, and
// then the caller's thread calls after(seed), if given. Throws UsageError for the options,
// OutOfMemoryError.
void run_threads(testing::BlockOptions const& options, std::function<void()> const& each_thread,
                 std::function<void(std::uint64_t seed)> const& after);

// The calling thread has returned from the handler or its idle(), and waits for the others.
void finish_request();

// Throws RaceError.
[[noreturn]] void report_race(testing::BlockOptions const& options, std::uint64_t seed,
                              std::size_t request, unsigned thread, std::string const& first_reply,
                              std::string const& reply);

// Compares bytes first, so that a NaN equals itself, then uses ==. Padding counts if the compiler
// cannot clear it.
template <class Reply>
[[nodiscard]] bool same_replies(Reply one, Reply other) {
    if constexpr (std::is_trivially_copyable_v<Reply>) {
        auto const& left = carillon::detail::without_padding(one);
        auto const& right = carillon::detail::without_padding(other);
        if (std::memcmp(std::addressof(left), std::addressof(right), sizeof(Reply)) == 0)
            return true;
    }
    if constexpr (requires {
                      { one == other } -> std::convertible_to<bool>;
                  }) {
        return one == other;
    } else {
        return false;
    }
}
template <class Reply>
[[nodiscard]] bool same_replies(Outcome<Reply> const& one, Outcome<Reply> const& other) {
    if (one.refused() || other.refused()) {
        return one.refused() && other.refused() && one.refusal().code == other.refusal().code;
    }
    return same_replies(one.reply(), other.reply());
}

// Prints by the type's own operator<<, or else prints its bytes.
template <class Reply>
[[nodiscard]] std::string text_of(Reply const& reply) {
    std::ostringstream text;
    if constexpr (requires { text << reply; }) {
        text << reply;
    } else {
        auto const* const bytes = reinterpret_cast<unsigned char const*>(std::addressof(reply));
        text << "the bytes" << std::hex << std::setfill('0');
        for (std::size_t i = 0; i != sizeof(Reply); ++i) {
            text << ' ' << std::setw(2) << unsigned{bytes[i]};
        }
    }
    return text.str();
}
template <class Reply>
[[nodiscard]] std::string text_of(Outcome<Reply> const& reply) {
    if (reply.refused()) return "a refusal with code " + std::to_string(reply.refusal().code);
    return text_of(reply.reply());
}

template <class Handler, class Request>
using ReplyOfHandler = std::conditional_t<std::is_void_v<ResultOf<Handler, Request>>, Done,
                                          ResultOf<Handler, Request>>;

// Each thread's replies to each request.
template <class Reply>
using RepliesOfThreads = std::vector<std::vector<Reply>>;

// Every thread has its own handler.
template <class Handler, class Request, class Reply>
void handle_by_thread(Handler handler, std::vector<Request> const& requests,
                      RepliesOfThreads<Reply>& replies) {
    std::vector<Reply>& own = replies[block::thread_rank()];
    begin_state(handler);
    for (std::size_t i = 0; i != requests.size(); ++i) {
        if constexpr (HasIdle<Handler>) {
            run_idle(handler);
            finish_request();
        }
        if constexpr (std::is_void_v<ResultOf<Handler, Request>>) {
            handle_by(handler, requests[i]);
            own.emplace_back();
        } else {
            own.push_back(handle_by(handler, requests[i]));
        }
        finish_request();
    }
}

// Throws RaceError if a thread returned another result with this seed.
template <class Reply>
void compare_replies(testing::BlockOptions const& options, std::uint64_t seed,
                     RepliesOfThreads<Reply> const& first, RepliesOfThreads<Reply> const& replies) {
    for (std::size_t i = 0; i != first.front().size(); ++i) {
        for (unsigned thread = 0; thread != options.threads; ++thread) {
            Reply const one = first[thread][i];  // not a reference: vector<bool> has none
            Reply const other = replies[thread][i];
            if (same_replies(one, other)) continue;
            report_race(options, seed, i, thread, text_of(one), text_of(other));
        }
    }
}

}  // namespace carillon::detail

namespace carillon::testing {

// Returns the replies of `handler` to `requests`, served in order, like a block of a kernel does.
// Every thread has a copy of the handler, all run it on the same request, and the reply is the
// first thread's result. Before each request all threads run its idle(), if it has one. Each seed
// starts from the beginning, and the results of every thread must be the same for each seed. The
// caller checks other memory that the handler writes, with one seed at a time. Throws BarrierError
// and RaceError; UsageError for the options and for shared variables that no block has room for;
// OutOfMemoryError; and what the handler throws.
template <class Handler, class Request>
[[nodiscard]] auto run_block(Handler const& handler, std::vector<Request> const& requests,
                             BlockOptions options = {}) {
    static_assert(detail::check_handler_names<Handler>());
    static_assert(detail::Handles<Handler, Request>,
                  "carillon: the handler has no operator() for these requests");
    using Reply = detail::ReplyOfHandler<Handler, Request>;
    if (options.threads == 0) options.threads = detail::threads_of<Handler>();
    detail::RepliesOfThreads<Reply> first;
    detail::RepliesOfThreads<Reply> replies;
    auto const begin = [&] {
        replies.resize(options.threads);
        for (std::vector<Reply>& each : replies) each.reserve(requests.size());
    };
    begin();
    auto const compare = [&](std::uint64_t seed) {
        if (seed == options.first_seed) {  // not copied: a reply may have members that are const
            first = std::move(replies);
            begin();
            return;
        }
        detail::compare_replies(options, seed, first, replies);
        for (std::vector<Reply>& each : replies) each.clear();
    };
    detail::in_call("testing::run_block", [&] {
        detail::run_threads(
            options, [&] { detail::handle_by_thread(handler, requests, replies); }, compare);
    });
    return first.front();
}

// Returns the reply to one request.
template <class Handler, class Request>
[[nodiscard]] auto run_block(Handler const& handler, Request const& request,
                             BlockOptions const& options = {}) {
    static_assert(detail::Handles<Handler, Request>,
                  "carillon: the handler has no operator() for this request");
    using Reply = detail::ReplyOfHandler<Handler, Request>;
    return Reply(run_block(handler, std::vector<Request>{request}, options).front());
}

// Runs a copy of `body` as body(options.block) in every thread of a block, once for each seed, see
// launch(). After each seed the caller's after(seed) checks the results and restores the initial
// state. Throws what run_block() throws except RaceError, and what `after` throws.
template <class Body>
void run_body(Body const& body, BlockOptions options = {},
              std::function<void(std::uint64_t seed)> const& after = nullptr) {
    static_assert(
        std::is_invocable_v<Body&, unsigned>,
        "carillon: a kernel body needs operator()(unsigned), which gets the block's number");
    if (options.threads == 0) options.threads = 1;
    detail::in_call("testing::run_body", [&] {
        detail::run_threads(
            options,
            [&] {
                Body copy = body;
                copy(options.block);
            },
            [&](std::uint64_t seed) {
                if (after) detail::in_callback([&] { after(seed); });
            });
    });
}

// While it lives, kernels that start on emulated devices of this process run each block with all
// its threads, in an order that `seed` decides. An exception in a block, including a BarrierError,
// ends its kernel like an exception of a handler.
class ThreadedBlocks {
   public:
    // Throws UsageError for `stack_bytes`, and while another ThreadedBlocks lives.
    explicit ThreadedBlocks(std::uint64_t seed,
                            std::size_t stack_bytes = BlockOptions().stack_bytes);
    ~ThreadedBlocks();
    ThreadedBlocks& operator=(ThreadedBlocks&&) = delete;
};

}  // namespace carillon::testing
