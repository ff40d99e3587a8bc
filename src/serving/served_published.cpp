// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "serving/served.hpp"

namespace carillon::detail {
namespace {

// As many clients at once as there may be connections: each only reads, so that nothing of one
// need be waited for, or looked at, when it goes.
class ServedPublished final : public ServedItem {
   public:
    ServedPublished(std::string name, std::shared_ptr<PublishedObject> object)
        : ServedItem(std::move(name), object->kind(), object->types()),
          object_(std::move(object)) {}

    // Those that there were at once, at most: whoever goes through them finds none gone meanwhile.
    unsigned places() const override { return static_cast<unsigned>(lent_.size()); }
    unsigned most_places() const override { return most_readers; }
    KernelState state(bool /*ask_device*/) const override { return state_of(*object_); }
    BlockActivity activity(unsigned /*place*/) const override {
        return object_->closed() ? BlockActivity::ended : BlockActivity::idle;
    }
    bool emulated() const override { return object_->device().info().emulated; }
    // What its owner has published is counted once, whoever reads it.
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
    bool any_lent() const override { return false; }  // none that anything is waited for of
    std::string why_full() const override { return "it has as many clients as can be numbered"; }

   private:
    static constexpr unsigned most_readers = 1U << 15;  // fewer than a message can say

    std::string why_closed(KernelState /*state*/) const override { return why_destroyed(); }

    std::shared_ptr<PublishedObject> object_;
    std::vector<bool> lent_ = std::vector<bool>(1);
};

}  // namespace

std::unique_ptr<ServedItem> serve_published(std::string name,
                                            std::shared_ptr<PublishedObject> object) {
    return std::make_unique<ServedPublished>(std::move(name), std::move(object));
}

}  // namespace carillon::detail
