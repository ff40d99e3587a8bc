// SPDX-License-Identifier: Apache-2.0
// The thread that lets clients of other processes in to a store of buffers.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "carillon/buffer_store.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "serving/buffer_messages.hpp"
#include "serving/buffer_table.hpp"
#include "serving/reception.hpp"
#include "serving/wakeup.hpp"

namespace carillon::detail {

// As ServerThread: nothing that a client sends, or does not, keeps it from the others. What it does
// for one that takes long is to make memory of a GPU's.
class StoreThread {
   public:
    // As BufferStore::serve().
    StoreThread(std::filesystem::path const& path, std::shared_ptr<BufferTable> table,
                StoreServeOptions const& options);
    StoreThread(StoreThread const&) = delete;
    StoreThread& operator=(StoreThread const&) = delete;
    [[nodiscard]] static std::shared_ptr<StoreThread> make(std::filesystem::path const& path,
                                                           std::shared_ptr<BufferTable> table,
                                                           StoreServeOptions const& options);

    void require_own(char const* call) const { mark_.require_own(call); }
    [[nodiscard]] std::filesystem::path const& path() const { return reception_.path(); }
    [[nodiscard]] std::vector<StoreClient> clients() const;

   private:
    using Clock = std::chrono::steady_clock;

    // A buffer that a session holds, and has not asked for.
    struct Unasked {
        std::uint64_t number;  // from 1 on
        std::uint64_t memory;
        bool descriptor;  // as Lent
    };
    struct Session : Visitor {
        explicit Session(UnixSocket connected) : Visitor{std::move(connected)} {}

        BufferUser who{};
        unsigned holds = 0;
        store::SealedNews news = store::SealedNews::none;
        std::uint64_t next_sealed = 0;  // the number of the next buffer of which it has news
        std::uint64_t missed = 0;       // that it was not told
        std::uint64_t lent_unasked = 0;
        std::map<std::uint64_t, Unasked> unasked;  // by the buffer
        bool waits = false;  // until what it was sent is read, or there is room
    };

    friend struct LetServerGo;
    ~StoreThread();
    void serve(std::stop_token const& stop);
    void leave();
    void take_turn();
    void await(std::vector<::pollfd>& descriptors) const;
    [[nodiscard]] std::vector<::pollfd> watched() const;
    void accept(UnixSocket socket);
    void receive_from(Session& session);
    void handle(Session& session, std::uint32_t id, store::Message const& message);
    void answer(Session& session, std::uint32_t id, store::Hello const& hello);
    void answer(Session& session, std::uint32_t id, store::Create const& create);
    void answer(Session& session, std::uint32_t id, store::Get const& get);
    void answer(Session& session, std::uint32_t id, store::Next const& next);
    void answer(Session& session, std::uint32_t id, store::Watch const& watch);
    void answer(Session& session, std::uint32_t id, store::Show const& show);
    void lend(Session& session, std::uint32_t id, LentBuffer const& lent);
    // What is said of a buffer that a session holds; it holds none if this throws.
    struct Lending {
        store::Lent message;
        FileDescriptor memory;
        std::vector<int> descriptors;  // that are sent with it: the memory's, or none
    };
    [[nodiscard]] Lending lending_of(Session& session, LentBuffer const& lent);
    void take_back(Session& session, store::Lent const& lent) noexcept;
    // False: the session does not hold it.
    bool release(Session& session, std::uint64_t buffer) noexcept;
    // What the client has not read yet, of what it had not asked for.
    void take_back_unread(Session& session, std::uint64_t came) noexcept;
    // Both throw Refusal.
    void require_hold(Session& session) const;
    void require_read(Session& session) const;
    void tell_sealed(Session& session);
    // To a session that has all that there was for it.
    void tell_missed(Session& session);
    // False: not now.
    [[nodiscard]] bool lend_sealed(Session& session, SealedBuffer const& sealed);
    void drop_over();
    void send(Session& session, std::uint32_t id, store::Message const& message);
    void refuse(Session& session, std::uint32_t id, Refusal refusal);

    ProcessMark mark_;
    std::shared_ptr<BufferTable> table_;
    StoreServeOptions options_;
    Reception reception_;  // closed with the store
    SealedFollower follower_;
    mutable std::mutex mutex_;  // of sessions_ and what is in them
    std::vector<std::unique_ptr<Session>> sessions_;
    Clock::time_point awake_until_{};
    bool deletes_itself_ = false;  // of the thread's
    Thread thread_;
};

}  // namespace carillon::detail
