// SPDX-License-Identifier: Apache-2.0
// A store of another process, as its client has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/buffer_store.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "serving/buffer_access.hpp"
#include "serving/link.hpp"

namespace carillon::detail {

// To a store of another process: shared by a StoreConnection and the buffers that it has got. From
// any thread.
class StoreSession final : public BufferAccess, public std::enable_shared_from_this<StoreSession> {
   public:
    [[nodiscard]] static std::shared_ptr<StoreSession> connect(std::filesystem::path const& path,
                                                               StoreConnectOptions const& options);

    void require_own(char const* call) const { mark_.require_own(call); }
    [[nodiscard]] ConnectedOwner const& owner() const { return link_->owner(); }
    [[nodiscard]] std::string why_host_memory() const;

    [[nodiscard]] std::shared_ptr<BufferHold> create(std::string const& name,
                                                     std::size_t bytes) override;
    [[nodiscard]] std::shared_ptr<BufferHold> get(BufferKey const& key) override;
    void remove(BufferKey const& key) override;
    [[nodiscard]] std::vector<BufferInfo> list() override;
    [[nodiscard]] std::unique_ptr<SealedSource> sealed_events() override;
    [[nodiscard]] std::unique_ptr<LentSource> sealed_buffers() override;
    // Of a connection that has nothing else to do: next_lent() finds what is sealed from now on.
    void watch(char const* call);
    // It finds nothing any more, and what it has not found yet is given back.
    void unwatch() noexcept;
    [[nodiscard]] int descriptor();
    // What it lends next, if it comes in time; `missed` becomes larger by what it did not.
    [[nodiscard]] std::shared_ptr<BufferHold> next_lent(char const* call, Deadline const& deadline,
                                                        std::uint64_t& missed);
    [[nodiscard]] CopyTeam& team() override { return *team_; }
    void seal(std::uint64_t id, std::function<void()> const& meanwhile) override;
    void release(std::uint64_t id) noexcept override;

   private:
    // What is mapped of the store's, by the number of the memory; last used at the end.
    struct Mapped {
        std::uint64_t memory;
        std::size_t size;
        std::shared_ptr<BufferView> view;
    };

    StoreSession(std::filesystem::path const& path, StoreConnectOptions const& options);

    // Another connection to the same store. Throws as `connect`, and OwnerGoneError where the store
    // has gone, or another store has its path.
    template <class Connect>
    [[nodiscard]] auto reach_again(char const* call, Connect const& connect) const;
    template <class Connect>
    [[nodiscard]] auto connect_again(char const* call, Connect const& connect) const;

    // The next message that is not Missed, whose counts are added.
    [[nodiscard]] std::optional<OwnerAnswer> receive_lent(char const* call,
                                                          Deadline const& deadline,
                                                          std::uint64_t& missed);

    // All with the mutex held.
    [[nodiscard]] std::shared_ptr<BufferHold> ask_for(char const* call, Message const& question,
                                                      Deadline const& deadline);
    [[nodiscard]] std::shared_ptr<BufferHold> hold_of(char const* call, OwnerAnswer& answer,
                                                      bool sealed);
    void tell_unmapped(std::uint64_t buffer, std::exception const& error) noexcept;
    // Asks for the descriptor of its memory where that is not mapped here, nor came.
    void require_shown(char const* call, OwnerAnswer& answer);
    [[nodiscard]] std::shared_ptr<BufferView> view_of(char const* call, OwnerAnswer& answer);
    [[nodiscard]] std::list<Mapped>::iterator find(std::uint64_t memory);
    [[nodiscard]] std::shared_ptr<BufferView> map(char const* call, LentBuffer const& lent,
                                                  FileDescriptor fd) const;
    // Of memory that only this client gets; 0: there is none.
    void make_ready(std::uint64_t spare);
    // What no buffer has, beyond what is kept.
    void unmap_unused() noexcept;
    // The same where a buffer was released and nobody has looked since. Without the mutex.
    void unmap_released() noexcept;

    // Has the mutex. Looks afterwards at what was released meanwhile.
    class Alone {
       public:
        explicit Alone(StoreSession& session) : session_(session) { session.mutex_.lock(); }
        Alone(Alone const&) = delete;
        Alone& operator=(Alone const&) = delete;
        ~Alone() {
            session_.mutex_.unlock();
            session_.unmap_released();
        }

       private:
        StoreSession& session_;
    };

    ProcessMark mark_;
    std::filesystem::path path_;
    StoreConnectOptions options_;
    std::shared_ptr<Link> link_;
    std::atomic<bool> released_ = false;  // a buffer, and unmap_unused() has not looked since
    std::mutex mutex_;  // for what follows; a thread that has it may wait for the store
                        // Destroyed before the link: once the store sees that end, others may make
                        // buffers there.
    std::list<Mapped> mapped_;
    bool never_mapped_ = false;  // the GPU's memory, here: it need not be asked for again
    bool across_a_bus_ = false;  // the last memory that was lent
    std::shared_ptr<CopyTeam> team_;
    mutable std::mutex brief_;  // for the next one
    std::string why_host_memory_;
};

}  // namespace carillon::detail
