// SPDX-License-Identifier: Apache-2.0
// A store of this process, as the program has it.
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/error.hpp"
#include "serving/buffer_access.hpp"
#include "serving/buffer_table.hpp"

namespace carillon::detail {
namespace {

// Returns what `ask` returns. Throws RefusedError if the table refuses it.
template <class Ask>
auto unless_refused(Ask&& ask) {
    try {
        return ask();
    } catch (Refused const& refusal) {
        throw RefusedError(refusal.reason, refusal.text);
    }
}

class OwnAccess final : public BufferAccess, public std::enable_shared_from_this<OwnAccess> {
   public:
    OwnAccess(Device const& device, StoreOptions const& options)
        : table_(make_shared_own<BufferTable>(device, options)),
          team_(CopyTeam::make(options.copy_threads)) {}

    [[nodiscard]] std::shared_ptr<BufferHold> create(std::string const& name,
                                                     std::size_t bytes) override {
        if (table_->device().traits().write_combining) team_->expect(bytes);
        return hold_of(unless_refused([&] { return table_->create(self_, name, bytes, false); }));
    }
    [[nodiscard]] std::shared_ptr<BufferHold> get(BufferKey const& key) override {
        return hold_of(unless_refused([&] { return table_->get(self_, key); }));
    }
    void remove(BufferKey const& key) override {
        unless_refused([&] { return table_->remove(self_, key); });
    }
    [[nodiscard]] std::vector<BufferInfo> list() override {
        std::vector<BufferInfo> all;
        while (auto next = table_->after(all.empty() ? 0 : all.back().id)) {
            all.push_back(std::move(*next));
        }
        return all;
    }
    [[nodiscard]] std::shared_ptr<NewsSource> news(SealedNews kind) override;
    [[nodiscard]] std::shared_ptr<BufferTable> const& table() const override { return table_; }
    [[nodiscard]] CopyTeam& team() override { return *team_; }
    void seal(std::uint64_t id, std::function<void()> const& meanwhile) override {
        meanwhile();
        unless_refused([&] { table_->seal(self_, id); });
    }
    void release(std::uint64_t id) noexcept override { (void)table_->release(own_process, id); }

   private:
    [[nodiscard]] std::shared_ptr<BufferHold> hold_of(HeldBuffer lent) {
        std::uint64_t const id = lent.info.id;
        lent.info.host_memory |= table_->device().emulated();
        try {
            return make_hold(shared_from_this(), std::move(lent.info), lent.memory->view());
        } catch (...) {
            release(id);
            throw;
        }
    }

    std::shared_ptr<BufferTable> table_;
    BufferUser self_{own_process, ::getpid(), ::geteuid()};
    std::shared_ptr<CopyTeam> team_;
};

class OwnNews final : public NewsSource {
   public:
    OwnNews(std::shared_ptr<OwnAccess> access, SealedNews kind)
        : access_(std::move(access)),
          kind_(kind),
          follower_(access_->table()->follow(wakeup_)),
          next_(access_->table()->sealed_so_far()) {}

    [[nodiscard]] int descriptor() const override { return wakeup_.fd(); }
    [[nodiscard]] std::optional<News> next(std::chrono::nanoseconds timeout) override {
        Deadline const deadline(timeout);
        while (auto told = next_told(deadline)) {
            if (kind_ == SealedNews::words) return News{*std::move(told)};
            missed_ += told->missed + 1;  // unless it is got
            try {
                auto hold = access_->get({told->id});
                --missed_;
                return News{{}, std::move(hold)};
            } catch (RefusedError const&) {  // it was removed meanwhile
            }
        }
        return {};
    }

   private:
    [[nodiscard]] std::optional<SealedBuffer> next_told(Deadline const& deadline) {
        BufferTable& table = *access_->table();
        for (;;) {
            wakeup_.reset();
            auto found = table.sealed(next_);
            bool const closed = table.closed();
            auto after = next_;
            if (closed || table.sealed(after)) wakeup_.wake();  // there is more to say
            if (found) return found;
            if (closed) throw OwnerGoneError("the store was destroyed");
            if (deadline.passed()) return {};
            ::pollfd woken{wakeup_.fd(), POLLIN, 0};
            (void)::poll(&woken, 1, poll_period(deadline));
        }
    }

    std::shared_ptr<OwnAccess> access_;
    SealedNews kind_;
    Wakeup wakeup_;
    std::shared_ptr<Wakeup const> follower_;
    std::uint64_t next_;
};

std::shared_ptr<NewsSource> OwnAccess::news(SealedNews kind) {
    return make_shared_own<OwnNews>(shared_from_this(), kind);
}

}  // namespace

std::shared_ptr<BufferAccess> make_store(Device const& device, StoreOptions const& options) {
    auto const access = std::make_shared<OwnAccess>(device, options);
    return {access.get(), [access, mark = ProcessMark()](BufferAccess* /*access*/) {
                if (!mark.inherited()) access->table()->close();
            }};
}

}  // namespace carillon::detail
