// SPDX-License-Identifier: Apache-2.0
#include "serving/own_access.hpp"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// What `ask` returns. Throws RefusedError for what the table says no to.
template <class Ask>
auto unless_refused(char const* call, Ask&& ask) {
    try {
        return ask();
    } catch (Refusal const& refusal) {
        throw RefusedError(call, refusal.reason, refusal.text);
    }
}

class OwnSealed final : public SealedSource {
   public:
    explicit OwnSealed(std::shared_ptr<BufferTable> table)
        : table_(std::move(table)),
          follower_("BufferStore::sealed_events", table_),
          next_(table_->sealed_so_far()) {}

    [[nodiscard]] int descriptor() const override { return follower_.wakeup().fd(); }
    [[nodiscard]] std::optional<SealedBuffer> next(std::chrono::nanoseconds timeout) override {
        Deadline const deadline(timeout);
        for (;;) {
            follower_.wakeup().reset();
            auto found = table_->sealed(next_);
            bool const closed = table_->closed();
            auto after = next_;
            if (closed || table_->sealed(after)) follower_.wakeup().wake();  // there is more to say
            if (found) return found;
            if (closed) throw OwnerGoneError("SealedEvents::next", "the store has gone");
            if (deadline.passed()) return {};
            ::pollfd woken{follower_.wakeup().fd(), POLLIN, 0};
            (void)::poll(&woken, 1, poll_period(deadline));
        }
    }

   private:
    std::shared_ptr<BufferTable> table_;
    SealedFollower follower_;
    std::uint64_t next_;
};

class OwnLent final : public LentSource {
   public:
    OwnLent(std::shared_ptr<OwnAccess> access, std::shared_ptr<BufferTable> table)
        : access_(std::move(access)), events_(std::move(table)) {}

    [[nodiscard]] int descriptor() const override { return events_.descriptor(); }
    [[nodiscard]] std::shared_ptr<BufferHold> next(std::chrono::nanoseconds timeout) override {
        Deadline const deadline(timeout);
        while (auto const sealed = events_.next(deadline.left())) {
            missed_ += sealed->missed;
            try {
                return access_->get({sealed->id});
            } catch (RefusedError const&) {  // it was removed meanwhile
                ++missed_;
            } catch (...) {
                ++missed_;
                throw;
            }
        }
        return {};
    }

   private:
    std::shared_ptr<OwnAccess> access_;
    OwnSealed events_;
};

}  // namespace

OwnAccess::OwnAccess(std::shared_ptr<BufferTable> table, unsigned copy_threads)
    : table_(std::move(table)),
      self_{own_process, ::getpid(), ::geteuid()},
      team_(CopyTeam::make(copy_threads)) {}

std::shared_ptr<BufferHold> OwnAccess::make_hold_of(HeldBuffer const& lent, BufferUse use) {
    BufferInfo const& info = lent.info;
    try {
        auto view = lent.memory->view();
        view->use_for(use);
        return make_hold(shared_from_this(), info.id, info.name, info.size,
                         info.host_memory || table_->device().emulated(), std::move(view));
    } catch (...) {
        release(info.id);
        throw;
    }
}

std::shared_ptr<BufferHold> OwnAccess::create(std::string const& name, std::size_t bytes) {
    if (table_->device().traits().write_combining) team_->expect(bytes);
    return make_hold_of(unless_refused("BufferStore::create",
                                       [&] { return table_->create(self_, name, bytes, false); }),
                        BufferUse::writing);
}

std::shared_ptr<BufferHold> OwnAccess::get(BufferKey const& key) {
    return make_hold_of(unless_refused("BufferStore::get", [&] { return table_->get(self_, key); }),
                        BufferUse::reading);
}

void OwnAccess::remove(BufferKey const& key) {
    unless_refused("BufferStore::remove", [&] { return table_->remove(self_, key); });
}

std::vector<BufferInfo> OwnAccess::list() {
    std::vector<BufferInfo> all;
    while (auto next = table_->after(all.empty() ? 0 : all.back().id)) {
        all.push_back(std::move(*next));
    }
    return all;
}

std::unique_ptr<SealedSource> OwnAccess::sealed_events() {
    return std::make_unique<OwnSealed>(table_);
}

std::unique_ptr<LentSource> OwnAccess::sealed_buffers() {
    return std::make_unique<OwnLent>(shared_from_this(), table_);
}

void OwnAccess::seal(std::uint64_t id, std::function<void()> const& meanwhile) {
    meanwhile();
    unless_refused("MutableBuffer::seal", [&] { table_->seal(self_, id); });
}

void OwnAccess::release(std::uint64_t id) noexcept { (void)table_->release(own_process, id); }

}  // namespace carillon::detail
