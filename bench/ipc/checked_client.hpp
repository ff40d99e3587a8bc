// SPDX-License-Identifier: Apache-2.0
// Sends requests and judges each reply by its request, and by the block's count of requests if a
// block serves it alone. So it sees every request that is lost, repeated, or out of turn.
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "ipc/shared_kernel.hpp"
#include "ipc/talk.hpp"
#include "kernels/ipc_kernels.hpp"
#include "measure/interrupt.hpp"
#include "measure/latency.hpp"

namespace carillon::tool {

template <class Client>
class CheckedClient {
   public:
    // `number`: another for each client, below 65536.
    CheckedClient(Client& client, std::uint64_t number, Blocks blocks = Blocks::one_each)
        : client_(client), number_(number), blocks_(blocks) {}

    // How long a call took, in nanoseconds. Throws Error for a wrong reply, as all else here.
    std::uint32_t call() {
        using Clock = std::chrono::steady_clock;
        IpcRequest const request = make_ipc_request(number_, sent_ + 1);
        auto const start = Clock::now();
        IpcReply const reply = client_.call(request, patience);
        auto const took = Clock::now() - start;
        ++sent_;
        check(sent_, reply);
        return static_cast<std::uint32_t>(took.count());
    }
    // Until an interrupt.
    void call(std::uint32_t count, Samples& samples) {
        for (std::uint32_t i = 0; i < count && !interrupted(); ++i) samples.push_back(call());
    }

    void submit() {
        outstanding_.push_back(
            {client_.submit(make_ipc_request(number_, sent_ + 1), patience), sent_ + 1});
        ++sent_;
    }
    // The reply to the oldest.
    void take() {
        Outstanding const oldest = outstanding_.front();
        check(oldest.number, client_.wait(oldest.ticket, patience));
        outstanding_.pop_front();
    }
    void burst(unsigned count) {
        for (unsigned i = 0; i < count; ++i) submit();
        while (!outstanding_.empty()) take();
    }
    // After the owner's end: takes the replies that had come.
    void settle() {
        while (!outstanding_.empty()) {
            try {
                take();
            } catch (OwnerGoneError const&) {
                ++unknown_;
                outstanding_.pop_front();
            }
        }
    }

    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t answered() const { return answered_; }
    [[nodiscard]] std::uint64_t unknown() const { return unknown_; }  // neither answered nor not
    // The block's count of requests at the last reply.
    [[nodiscard]] std::uint64_t count() const { return count_; }

   private:
    struct Outstanding {
        Ticket ticket;
        std::uint64_t number;
    };

    void check(std::uint64_t number, IpcReply const& reply) {
        if (reply != make_soak_reply(make_ipc_request(number_, number), reply.count)) {
            throw Error("ipc", "request " + std::to_string(number) + " had a wrong reply, of " +
                                   std::to_string(reply.number));
        }
        if (blocks_ == Blocks::one_each && answered_ != 0 && reply.count != count_ + 1) {
            throw Error("ipc", "after request " + std::to_string(count_) +
                                   " of its block came request " + std::to_string(reply.count));
        }
        count_ = reply.count;
        ++answered_;
    }

    Client& client_;
    std::uint64_t number_;
    Blocks blocks_;
    std::uint64_t sent_ = 0;
    std::uint64_t answered_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t count_ = 0;
    std::deque<Outstanding> outstanding_;
};

}  // namespace carillon::tool
