// SPDX-License-Identifier: Apache-2.0
#include "rate/host_ring.hpp"

namespace carillon::tool {
namespace {

class Contest {
   public:
    explicit Contest(HostRingOptions const& options) : options_(options) {}

    template <class Queue>
    void round(std::size_t queue) {
        auto const count = static_cast<double>(options_.messages);
        results_[queue].name = Queue::name;
        results_[queue].per_second.push_back(count * 1e9 /
                                             stream_ns<Queue>(cores_, wait_, options_.messages));
        ping_pong<Queue>(cores_, wait_, options_.round_trips, samples_[queue]);
    }

    [[nodiscard]] HostRingResult result() {
        for (std::size_t i = 0; i < results_.size(); ++i) {
            results_[i].round_trips = summarize(results_[i].name, samples_[i]);
        }
        return {cores_.here == cores_.there, results_};
    }

   private:
    static constexpr std::size_t queues = 1 + CARILLON_HAVE_BOOST_LOCKFREE;

    HostRingOptions options_;
    TwoCores cores_ = TwoCores::choose();
    HostWait wait_ = HostWait::for_kernel(true, 1);
    std::vector<HostQueueResult> results_ = std::vector<HostQueueResult>(queues);
    std::array<std::vector<std::uint32_t>, queues> samples_;
};

}  // namespace

HostRingResult run_host_ring(HostRingOptions const& options) {
    Contest contest(options);
    for (std::uint32_t round = 0; round < options.rounds; ++round) {
        contest.round<OurHostRing>(0);
#if CARILLON_HAVE_BOOST_LOCKFREE
        contest.round<BoostQueue>(1);
#endif
    }
    return contest.result();
}

}  // namespace carillon::tool
