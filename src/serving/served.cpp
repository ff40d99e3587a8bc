// SPDX-License-Identifier: Apache-2.0
// The blocks of a kernel, the host's end of an object, and what clients only read, as a server's
// thread sees them.
#include "serving/served.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace carillon::detail {
namespace {

// The host's end of an object. It ends when its owner destroys it: its ends on the device may look
// again until then.
class ServedEnd : public ServedItem {
   public:
    ServedEnd(std::string name, std::shared_ptr<Lender> lender)
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

    KernelState state(bool /*ask_device*/) const override { return state_of(*lender_); }
    BlockActivity activity(unsigned place) const override {
        if (lender_->closed()) return BlockActivity::ended;
        bool const busy = lender_->counters(place).now.depth != 0;
        return busy ? BlockActivity::busy : BlockActivity::idle;
    }
    void count(unsigned place, Seen& seen) const override { show(lender_->counters(place), seen); }
    std::string why_full() const override {
        if (lender_->any_ends()) {
            return fmt::format(
                "the kernel has not looked at the {} often enough since its last client went: it "
                "takes what that one left, and lets go at a look after that",
                to_string(kind()));
        }
        if (!lender_->any_free()) return fmt::format("the {} has a client", to_string(kind()));
        return fmt::format(
            "clients of other users have had all the memory of the {} that there may be while a "
            "kernel runs",
            to_string(kind()));
    }

   protected:
    [[nodiscard]] Lender const& lender() const { return *lender_; }

   private:
    std::string why_closed(KernelState /*state*/) const override { return why_destroyed(); }

    std::shared_ptr<Lender> lender_;
};

class ServedKernel final : public ServedEnd {
   public:
    using ServedEnd::ServedEnd;

    KernelState state(bool ask_device) const override {
        return ask_device ? kernel().state() : kernel().state_word().load();
    }
    // If all blocks serve the place, the activity of the block that is best off.
    BlockActivity activity(unsigned place) const override {
        bool const busy = lender().outstanding(place);
        BlockActivity best = BlockActivity::ended;
        for_each_server(
            place, [&](unsigned block) { best = std::min(best, kernel().activity(block, busy)); });
        return best;
    }
    void count(unsigned place, Seen& seen) const override {
        show(lender().counters(place), seen);
        // If all blocks serve it together, the last heartbeat counts.
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
        return fmt::format(
            "all {} {} of the kernel have clients{}", lender().places(), what,
            lender().any_ends() ? ", or are at the last requests of clients that went" : "");
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
        try {
            if (state == KernelState::draining) {
                kernel().require_open();
            } else {
                kernel().require_alive();
            }
        } catch (std::exception const& error) {
            return error.what();
        } catch (...) {  // a handler may throw anything
            return "its handler threw what is no exception";
        }
        return {};
    }
};

// Lends to as many clients at once as there may be connections: each only reads, so nothing has to
// wait for it, or look at it, when it goes.
class ServedPublished final : public ServedItem {
   public:
    ServedPublished(std::string name, std::shared_ptr<PublishedObject> object)
        : ServedItem(std::move(name), object->kind(), object->types()),
          object_(std::move(object)) {}

    // The most clients that there were at once: a caller that counts through them finds none gone.
    unsigned places() const override { return static_cast<unsigned>(lent_.size()); }
    unsigned most_places() const override { return most_readers; }
    KernelState state(bool /*ask_device*/) const override { return state_of(*object_); }
    BlockActivity activity(unsigned /*place*/) const override {
        return object_->closed() ? BlockActivity::ended : BlockActivity::idle;
    }
    bool emulated() const override { return object_->device().info().emulated; }
    // The first place counts what the owner has published, for all readers.
    void count(unsigned place, Seen& seen) const override {
        if (place == 0) show({{.submitted = object_->published()}, {}}, seen);
    }
    std::size_t bytes_of_place() const override { return object_->bytes(); }
    unsigned descriptors_of_place() const override { return 1; }

    std::optional<Loan> lend(std::uint32_t /*user*/, bool /*host_memory*/) override {
        auto const free = std::ranges::find(lent_, false);
        if (free == lent_.end() && lent_.size() == most_readers) return {};
        SharedFiles files;
        Attached const attached = describe(*object_, files);
        auto const place = static_cast<unsigned>(std::distance(lent_.begin(), free));
        if (free == lent_.end()) lent_.push_back(false);
        lent_[place] = true;
        return Loan{place, attached, std::move(files)};
    }
    void take_back(unsigned place) override { lent_.at(place) = false; }
    void drained(unsigned /*place*/) override {}
    bool outstanding(unsigned /*place*/) const override { return false; }
    bool any_ends() const override { return false; }
    bool any_lent() const override { return false; }  // nothing waits for a reader
    std::string why_full() const override { return "it has as many clients as can be numbered"; }

   private:
    static constexpr unsigned most_readers = 1U << 15;  // fewer than a message can say

    std::string why_closed(KernelState /*state*/) const override { return why_destroyed(); }

    std::shared_ptr<PublishedObject> object_;
    std::vector<bool> lent_ = std::vector<bool>(1);
};

}  // namespace

void ServedItem::show(LeasedCounters const& counters, Seen& seen) {
    seen.counters = counters.now;
    seen.gone = counters.gone;
}

KernelState ServedItem::state_of(ClosedByOwner const& object) {
    return object.closed() ? KernelState::stopped : KernelState::running;
}

std::string ServedItem::why_destroyed() const {
    return fmt::format("the owner has destroyed the {}", to_string(kind_));
}

std::optional<std::string> ServedItem::closed() const {
    if (told_ != KernelState::running) return text_;
    KernelState const state = this->state(false);
    if (state == KernelState::running) return {};
    return why_closed(state);
}

bool ServedItem::look(bool ask_device) {
    if (ended()) return news_;
    KernelState const state = this->state(ask_device);
    if (state == told_) return news_;
    text_ = why_closed(state);
    told_ = state;
    told_at_ = std::chrono::steady_clock::now();
    return news_ = true;
}

std::unique_ptr<ServedItem> serve_lender(std::string name, std::shared_ptr<Lender> lender) {
    if (lender->kind() == ObjectKind::kernel) {
        return std::make_unique<ServedKernel>(std::move(name), std::move(lender));
    }
    return std::make_unique<ServedEnd>(std::move(name), std::move(lender));
}

std::unique_ptr<ServedItem> serve_published(std::string name,
                                            std::shared_ptr<PublishedObject> object) {
    return std::make_unique<ServedPublished>(std::move(name), std::move(object));
}

}  // namespace carillon::detail
