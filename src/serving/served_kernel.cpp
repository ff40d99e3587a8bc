// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "carillon/error.hpp"
#include "serving/served.hpp"

namespace carillon::detail {
namespace {

class ServedPlaces final : public ServedItem {
   public:
    ServedPlaces(std::string name, std::shared_ptr<Leases> leases)
        : ServedItem(std::move(name), ObjectKind::kernel, leases->types()),
          leases_(std::move(leases)) {}

    unsigned places() const override { return leases_->places(); }
    KernelState state(bool ask_device) const override {
        return ask_device ? kernel().state() : kernel().state_word().load();
    }
    // Of places at all blocks: of the one that is best off, since it serves them all.
    BlockActivity activity(unsigned place) const override {
        bool const busy = leases_->outstanding(place);
        BlockActivity best = BlockActivity::ended;
        for_each_server(
            place, [&](unsigned block) { best = std::min(best, kernel().activity(block, busy)); });
        return best;
    }
    bool emulated() const override { return leases_->device().info().emulated; }
    void count(unsigned place, Seen& seen) const override {
        show(leases_->counters(place), seen);
        // Of all that serve it together: the last one that was heard of.
        auto youngest = std::chrono::nanoseconds::max();
        seen.beats = 0;
        for_each_server(place, [&](unsigned block) {
            BlockBeats const beats = kernel().beats(block);
            seen.beats += beats.seen;
            youngest = std::min(youngest, std::chrono::nanoseconds(beats.age));
        });
        seen.beat_age_ms = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(youngest).count());
    }
    char const* look_at_counters(unsigned place) override {
        return leases_->look_at_counters(place);
    }
    std::size_t bytes_of_place() const override {
        ChannelShape const& shape = leases_->shape();
        return ChannelTable::doorbells_end(1, shape) + ChannelTable::host_bytes(shape);
    }

    unsigned descriptors_of_place() const override { return 2; }

    std::optional<Loan> lend(std::uint32_t user, bool host_memory) override {
        auto const lent =
            leases_->begin(user, host_memory ? ChannelSharing::exported_from_host
                                             : Leases::sharing_for(leases_->device()));
        if (!lent) return {};
        try {
            SharedFiles files;
            Attached const attached = describe(*leases_, *lent->memory, files);
            return Loan{lent->place, attached, std::move(files)};
        } catch (...) {
            take_back(lent->place);
            throw;
        }
    }
    void take_back(unsigned block) override { leases_->end(block); }
    void drained(unsigned block) override { leases_->drained(block); }
    bool outstanding(unsigned place) const override { return leases_->outstanding(place); }
    bool any_ends() const override { return leases_->any_ends(); }
    bool any_lent() const override { return leases_->count() != 0; }
    std::string why_full() const override {
        char const* const what = together() ? "places" : "blocks";
        if (leases_->any_free()) {
            return fmt::format(
                "{} of the kernel are free, but clients of other users have had all the memory "
                "that there may be while the kernel runs",
                what);
        }
        if (leases_->any_ends()) {
            return fmt::format(
                "all {} {} of the kernel have clients, or are at the last requests of clients that "
                "went",
                leases_->places(), what);
        }
        return fmt::format("all {} {} of the kernel have clients", leases_->places(), what);
    }

   private:
    // Whether all blocks serve each place.
    [[nodiscard]] bool together() const { return leases_->served_by() == ServedBy::any_block; }
    template <class Body>
    void for_each_server(unsigned place, Body&& body) const {
        if (!together()) return body(place);
        for (unsigned block = 0; block < kernel().blocks(); ++block) body(block);
    }

    [[nodiscard]] KernelSupervisor& kernel() const { return *leases_->kernel(); }

    std::string why_closed(KernelState state) const override {
        constexpr char const* asked = "the kernel";
        try {
            if (state == KernelState::draining) {
                kernel().require_open(asked);
            } else {
                kernel().require_alive(asked);
            }
        } catch (Error const& error) {
            return error.call() == asked ? cause_of(error) : error.what();
        } catch (std::exception const& error) {
            return error.what();
        } catch (...) {  // a handler may throw anything
            return "its handler threw what is no exception";
        }
        return {};
    }

    std::shared_ptr<Leases> leases_;
};

}  // namespace

std::unique_ptr<ServedItem> serve_kernel(std::string name, std::shared_ptr<Leases> leases) {
    return std::make_unique<ServedPlaces>(std::move(name), std::move(leases));
}

}  // namespace carillon::detail
