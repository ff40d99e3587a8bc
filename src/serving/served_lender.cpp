// SPDX-License-Identifier: Apache-2.0
// The blocks of a kernel, or the host's end of an object, as a server's thread sees them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "carillon/error.hpp"
#include "serving/served.hpp"

namespace carillon::detail {
namespace {

class ServedLender : public ServedItem {
   public:
    ServedLender(std::string name, std::shared_ptr<Lender> lender)
        : ServedItem(std::move(name), lender->kind(), lender->types()),
          lender_(std::move(lender)) {}

    unsigned places() const override { return lender_->places(); }
    bool emulated() const override { return lender_->device().info().emulated; }
    char const* look_at_counters(unsigned place) override {
        return lender_->look_at_counters(place);
    }
    std::size_t bytes_of_place() const override { return lender_->bytes_of_place(); }
    unsigned descriptors_of_place() const override { return lender_->descriptors_of_place(); }

    std::optional<Loan> lend(std::uint32_t user, bool host_memory) override {
        auto const lent =
            lender_->begin(user, host_memory ? ChannelSharing::exported_from_host
                                             : Lender::sharing_for(lender_->device()));
        if (!lent) return {};
        try {
            SharedFiles files;
            Attached const attached = describe(*lender_, *lent->memory, files);
            return Loan{lent->place, attached, std::move(files)};
        } catch (...) {
            take_back(lent->place);
            throw;
        }
    }
    void take_back(unsigned place) override { lender_->end(place); }
    void drained(unsigned place) override { lender_->drained(place); }
    bool outstanding(unsigned place) const override { return lender_->outstanding(place); }
    bool any_ends() const override { return lender_->any_ends(); }
    bool any_lent() const override { return lender_->count() != 0; }

   protected:
    [[nodiscard]] Lender const& lender() const { return *lender_; }

   private:
    std::shared_ptr<Lender> lender_;
};

class ServedKernel final : public ServedLender {
   public:
    using ServedLender::ServedLender;

    KernelState state(bool ask_device) const override {
        return ask_device ? kernel().state() : kernel().state_word().load();
    }
    // Of a place that all blocks serve: the activity of the block that is best off.
    BlockActivity activity(unsigned place) const override {
        bool const busy = lender().outstanding(place);
        BlockActivity best = BlockActivity::ended;
        for_each_server(
            place, [&](unsigned block) { best = std::min(best, kernel().activity(block, busy)); });
        return best;
    }
    void count(unsigned place, Seen& seen) const override {
        show(lender().counters(place), seen);
        // Of all blocks that serve it together, the last heartbeat.
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
    std::string why_full() const override {
        char const* const what = together() ? "places" : "blocks";
        if (lender().any_free()) {
            return fmt::format(
                "{} of the kernel are free, but clients of other users have had all the memory "
                "that there may be while the kernel runs",
                what);
        }
        std::string const all =
            fmt::format("all {} {} of the kernel have clients", lender().places(), what);
        if (!lender().any_ends()) return all;
        return all + ", or are at the last requests of clients that went";
    }

   private:
    // Whether all blocks serve each place.
    [[nodiscard]] bool together() const { return lender().served_by() == ServedBy::any_block; }
    template <class Body>
    void for_each_server(unsigned place, Body&& body) const {
        if (!together()) return body(place);
        for (unsigned block = 0; block < kernel().blocks(); ++block) body(block);
    }

    [[nodiscard]] KernelSupervisor& kernel() const { return *lender().kernel(); }

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
};

// It ends when its owner destroys it: its ends on the device may look again until then.
class ServedEnd final : public ServedLender {
   public:
    using ServedLender::ServedLender;

    KernelState state(bool /*ask_device*/) const override { return state_of(lender()); }
    BlockActivity activity(unsigned place) const override {
        if (lender().closed()) return BlockActivity::ended;
        bool const busy = lender().counters(place).now.depth != 0;
        return busy ? BlockActivity::busy : BlockActivity::idle;
    }
    void count(unsigned place, Seen& seen) const override { show(lender().counters(place), seen); }
    std::string why_full() const override {
        if (lender().any_ends()) {
            return fmt::format(
                "the kernel has not looked at the {} often enough since its last client went: it "
                "takes what that one left, and lets go at a look after that",
                to_string(kind()));
        }
        if (!lender().any_free()) return fmt::format("the {} has a client", to_string(kind()));
        return fmt::format(
            "clients of other users have had all the memory of the {} that there may be while a "
            "kernel runs",
            to_string(kind()));
    }

   private:
    std::string why_closed(KernelState /*state*/) const override { return why_destroyed(); }
};

}  // namespace

std::unique_ptr<ServedItem> serve_lender(std::string name, std::shared_ptr<Lender> lender) {
    if (lender->kind() == ObjectKind::kernel) {
        return std::make_unique<ServedKernel>(std::move(name), std::move(lender));
    }
    return std::make_unique<ServedEnd>(std::move(name), std::move(lender));
}

}  // namespace carillon::detail
