// SPDX-License-Identifier: Apache-2.0
// What an owner serves by a name, as its server's thread sees it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "carillon/detail/host/closed_by_owner.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/detail/serving/published_object.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/object_kind.hpp"
#include "serving/attached.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

// Lends places to clients: the blocks of a kernel, or the one end of an object. Calls need the
// server's lock.
class ServedItem {
   public:
    ServedItem(std::string name, ObjectKind kind, MessageTypes types)
        : name_(std::move(name)), kind_(kind), types_(std::move(types)) {}
    virtual ~ServedItem() = default;
    ServedItem(ServedItem const&) = delete;
    ServedItem& operator=(ServedItem const&) = delete;

    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] ObjectKind kind() const { return kind_; }
    [[nodiscard]] MessageTypes const& types() const { return types_; }

    // The state that clients were told, and its cause, unless it runs. An end is final.
    [[nodiscard]] KernelState told() const { return told_; }
    [[nodiscard]] std::string const& told_text() const { return text_; }
    [[nodiscard]] bool ended() const {
        return told_ == KernelState::stopped || told_ == KernelState::failed;
    }
    // Why it takes no clients; nothing if it does.
    [[nodiscard]] std::optional<std::string> closed() const;
    // Looks at the state: whether it is news, which it stays until all have heard it. It sees its
    // own end only if it asks the device.
    [[nodiscard]] bool look(bool ask_device);
    void all_heard() { news_ = false; }
    // Another object of the name has ended before: it is news that this one runs.
    void follow() { news_ = true; }
    // Since when it has that state.
    [[nodiscard]] std::chrono::steady_clock::time_point told_at() const { return told_at_; }

    [[nodiscard]] virtual unsigned places() const = 0;
    // How many places there may be.
    [[nodiscard]] virtual unsigned most_places() const { return places(); }
    [[nodiscard]] virtual KernelState state(bool ask_device) const = 0;
    [[nodiscard]] virtual BlockActivity activity(unsigned place) const = 0;
    [[nodiscard]] virtual bool emulated() const = 0;  // its device
    // Counts what has gone through a place; for kernels, the heartbeats, too.
    virtual void count(unsigned place, Seen& seen) const = 0;
    // Says, for people, what is wrong with the counts of a place's client; nullptr: nothing, or it
    // counts nothing.
    [[nodiscard]] virtual char const* look_at_counters(unsigned /*place*/) { return nullptr; }
    // How many bytes the client of a place gets.
    [[nodiscard]] virtual std::size_t bytes_of_place() const = 0;
    // How many descriptors the client of a place gets.
    [[nodiscard]] virtual unsigned descriptors_of_place() const = 0;

    struct Loan {
        unsigned place;
        Attached attached;  // without the number of the lease
        SharedFiles files;
    };
    // Returns nothing if every place has a client. Throws what allocating and exporting throw.
    [[nodiscard]] virtual std::optional<Loan> lend(std::uint32_t user, bool host_memory) = 0;
    virtual void take_back(unsigned place) = 0;
    // The client of a place sends nothing more: a drain does not wait for it.
    virtual void drained(unsigned place) = 0;
    // Whether a place has requests that are not answered.
    [[nodiscard]] virtual bool outstanding(unsigned place) const = 0;
    // Whether a place is about to be free, and whether any is lent.
    [[nodiscard]] virtual bool any_ends() const = 0;
    [[nodiscard]] virtual bool any_lent() const = 0;
    // Why nothing can be lent now.
    [[nodiscard]] virtual std::string why_full() const = 0;

   protected:
    static void show(LeasedCounters const& counters, Seen& seen);
    // The state of an object that is no kernel: it runs until its owner destroys it.
    [[nodiscard]] static KernelState state_of(ClosedByOwner const& object);
    [[nodiscard]] std::string why_destroyed() const;

   private:
    // Why it takes no more requests.
    [[nodiscard]] virtual std::string why_closed(KernelState state) const = 0;

    std::string name_;
    ObjectKind kind_;
    MessageTypes types_;
    KernelState told_ = KernelState::running;
    std::chrono::steady_clock::time_point told_at_{};
    std::string text_;
    bool news_ = false;
};

// Serves the blocks of a kernel, or the host's end of an object.
[[nodiscard]] std::unique_ptr<ServedItem> serve_lender(std::string name,
                                                       std::shared_ptr<Lender> lender);

// Serves values that any number of clients read at once.
[[nodiscard]] std::unique_ptr<ServedItem> serve_published(std::string name,
                                                          std::shared_ptr<PublishedObject> object);

}  // namespace carillon::detail
