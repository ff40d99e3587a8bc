// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "serving/served.hpp"

namespace carillon::detail {
namespace {

// It ends when its owner destroys it: what reads it on the device may look again until then.
class ServedObjectEnd final : public ServedItem {
   public:
    ServedObjectEnd(std::string name, std::shared_ptr<SharedObject> object)
        : ServedItem(std::move(name), object->kind(), object->types()),
          object_(std::move(object)) {}

    unsigned places() const override { return 1; }
    KernelState state(bool /*ask_device*/) const override { return state_of(*object_); }
    BlockActivity activity(unsigned /*place*/) const override {
        if (object_->closed()) return BlockActivity::ended;
        return object_->counters().now.depth != 0 ? BlockActivity::busy : BlockActivity::idle;
    }
    bool emulated() const override { return object_->device().info().emulated; }
    void count(unsigned /*place*/, Seen& seen) const override { show(object_->counters(), seen); }
    std::size_t bytes_of_place() const override { return object_->bytes(); }

    unsigned descriptors_of_place() const override { return object_->descriptors(); }

    std::optional<Loan> lend(std::uint32_t user, bool host_memory) override {
        ObjectMemory const* const memory =
            object_->begin(user, host_memory ? ChannelSharing::exported_from_host
                                             : Leases::sharing_for(object_->device()));
        if (memory == nullptr) return {};
        try {
            SharedFiles files;
            Attached const attached = describe(*object_, *memory, files);
            return Loan{0, attached, std::move(files)};
        } catch (...) {
            object_->end();
            throw;
        }
    }
    void take_back(unsigned /*place*/) override { object_->end(); }
    void drained(unsigned /*place*/) override {}
    bool outstanding(unsigned /*place*/) const override { return false; }
    bool any_ends() const override { return object_->ends(); }
    bool any_lent() const override { return object_->lent(); }
    std::string why_full() const override {
        if (object_->lent()) return fmt::format("the {} has a client", to_string(kind()));
        if (object_->ends()) {
            return fmt::format(
                "the kernel has not looked at the {} often enough since its last client went: it "
                "takes what that one left, and lets go at a look after that",
                to_string(kind()));
        }
        return fmt::format(
            "clients of other users have had all the memory of the {} that there may be while a "
            "kernel runs",
            to_string(kind()));
    }

   private:
    std::string why_closed(KernelState /*state*/) const override { return why_destroyed(); }

    std::shared_ptr<SharedObject> object_;
};

}  // namespace

std::unique_ptr<ServedItem> serve_object(std::string name, std::shared_ptr<SharedObject> object) {
    return std::make_unique<ServedObjectEnd>(std::move(name), std::move(object));
}

}  // namespace carillon::detail
