// SPDX-License-Identifier: Apache-2.0
// A store of another process, as its client has it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "serving/buffer_access.hpp"
#include "serving/link.hpp"

namespace carillon::detail {
namespace {

// Memories that are kept mapped although no buffer has them.
constexpr std::size_t most_unused = 32;
// A list may take so many times as long as one answer.
constexpr int answers_of_list = 10;

// A Store and the buffers that it has got share a session. Any thread may call it.
class StoreSession final : public BufferAccess, public std::enable_shared_from_this<StoreSession> {
   public:
    explicit StoreSession(std::shared_ptr<Link> link)
        : link_(std::move(link)), team_(CopyTeam::make(options().copy_threads)) {}

    [[nodiscard]] Link& link() const { return *link_; }
    [[nodiscard]] ConnectedOwner const& owner() const override { return link_->owner(); }
    [[nodiscard]] std::string why_host_memory() const override { return link_->why_host_memory(); }

    // It makes the buffer in host memory if the GPU's cannot be mapped here.
    [[nodiscard]] std::shared_ptr<BufferHold> create(std::string const& name,
                                                     std::size_t bytes) override {
        std::lock_guard const alone(*this);
        Deadline const deadline = link_->due();
        CreateBuffer create{name, bytes, options().host_memory || never_mapped_};
        if (across_a_bus_) team_->expect(bytes);  // so that it is awake when there is a buffer
        return link_->in_either_memory(create.host_memory, [&] {
            try {
                return ask_for(create, deadline);
            } catch (UnsupportedError const&) {
                never_mapped_ = true;
                throw;
            }
        });
    }
    [[nodiscard]] std::shared_ptr<BufferHold> get(BufferKey const& key) override {
        std::lock_guard const alone(*this);
        return ask_for(GetBuffer{key}, link_->due());
    }
    void remove(BufferKey const& key) override {
        std::lock_guard const alone(*this);
        OwnerAnswer answer = link_->ask(RemoveBuffer{key}, link_->due());
        // Memory that only this client gets: nobody else makes a buffer there, so create() finds
        // its pages writable. Changing that takes longer than asking for the buffer does.
        auto const mapped = find(said<BufferDone>(answer).spare);
        if (mapped == mapped_.end() || mapped->view.use_count() != 1) return;
        mapped->view->use_for(BufferUse::writing);
    }
    [[nodiscard]] std::vector<BufferInfo> list() override {
        std::lock_guard const alone(*this);
        std::vector<BufferInfo> all;
        Deadline end = link_->due();
        for (int i = 1; i < answers_of_list; ++i) end = end + options().timeout;
        for (std::uint64_t last = 0;;) {
            if (end.passed()) {
                throw TimeoutError(fmt::format(
                    "the store's list did not end within ten times the timeout: {} buffers came",
                    all.size()));
            }
            OwnerAnswer answer =
                link_->ask(NextBuffer{last}, Deadline(std::min(options().timeout, end.left())));
            auto& listed = said<BufferInfo>(answer);
            if (listed.id == 0) return all;
            if (listed.id <= last) throw ProtocolError("the store's list is not in order");
            last = listed.id;
            all.push_back(std::move(listed));
        }
    }
    [[nodiscard]] std::shared_ptr<NewsSource> news(SealedNews kind) override;
    // The buffer that the store has lent unasked.
    [[nodiscard]] std::shared_ptr<BufferHold> take(OwnerAnswer& lent) {
        std::lock_guard const alone(*this);
        return hold_of(lent, true);
    }
    // For std::lock_guard: has the mutex. Afterwards it unmaps what was released meanwhile.
    void lock() { mutex_.lock(); }
    void unlock() noexcept {
        mutex_.unlock();
        unmap_released();
    }

    [[nodiscard]] CopyTeam& team() override { return *team_; }
    void seal(std::uint64_t id, std::function<void()> const& meanwhile) override {
        std::lock_guard const alone(*this);
        try {
            OwnerAnswer answer = link_->ask(SealBuffer{id}, link_->due(), meanwhile);
            (void)said<BufferDone>(answer);
        } catch (RefusedError const& error) {
            if (link_->gone()) throw OwnerGoneError(error.what());  // not the buffer is refused
            throw;
        }
    }
    // The store hears of it at once, though another thread waits for an answer.
    void release(std::uint64_t id) noexcept override {
        link_->tell(ReleaseBuffer{id});
        released_ = true;
        unmap_released();
    }

   private:
    // The store's mapped memories, by their numbers; the one used last is at the end.
    struct Mapped {
        std::uint64_t memory;
        std::size_t size;
        std::shared_ptr<BufferView> view;
    };

    [[nodiscard]] ConnectOptions const& options() const { return link_->options(); }
    // All of these need the mutex.
    [[nodiscard]] std::shared_ptr<BufferHold> ask_for(Message const& question,
                                                      Deadline const& deadline) {
        OwnerAnswer answer = link_->ask(question, deadline);
        return hold_of(answer, !std::holds_alternative<CreateBuffer>(question));
    }
    [[nodiscard]] std::shared_ptr<BufferHold> hold_of(OwnerAnswer& answer, bool sealed) {
        auto& lent = said<LentBuffer>(answer);
        try {
            if (lent.info.sealed != sealed) {
                throw ProtocolError("the store lent a new buffer sealed, or an old one unsealed");
            }
            require_shown(answer);
            auto view = view_of(answer);
            across_a_bus_ = view->write_combining();
            BufferInfo info = lent.info;
            info.host_memory = lent.memory.source != MemorySource::vulkan || !lent.memory.uuid;
            return make_hold(shared_from_this(), std::move(info), std::move(view));
        } catch (std::exception const& error) {
            try {
                link_->tell(UnmappedBuffer{lent.info.id, error.what()});
            } catch (std::bad_alloc const&) {  // no memory is left for the message
                link_->tell(ReleaseBuffer{lent.info.id});
            }
            throw;
        }
    }
    // Asks for the descriptor of its memory if that is not mapped here and did not come: the store
    // had shown it, and had not heard yet that it is not mapped here. This process forgot it while
    // the answer was on its way, or it came with an answer that was given up.
    void require_shown(OwnerAnswer& answer) {
        auto& lent = std::get<LentBuffer>(answer.message);
        if (lent.descriptor || find(lent.memory_number) != mapped_.end()) return;
        OwnerAnswer shown = link_->ask(ShowMemory{lent.info.id}, link_->due());
        if (said<ShownMemory>(shown).memory != lent.memory_number) {
            throw ProtocolError("the store showed the memory of another buffer");
        }
        lent.descriptor = true;
        answer.descriptors = std::move(shown.descriptors);
    }
    [[nodiscard]] std::shared_ptr<BufferView> view_of(OwnerAnswer& answer) {
        auto const& lent = std::get<LentBuffer>(answer.message);
        auto const known = find(lent.memory_number);
        if (known != mapped_.end() && !lent.descriptor && known->size == lent.memory.bytes) {
            mapped_.splice(mapped_.end(), mapped_, known);
            return known->view;
        }
        try {
            if (known != mapped_.end()) {
                throw ProtocolError("the store showed a memory twice or with another size");
            }
            if (answer.descriptors.empty()) {
                throw SystemError({}, EMFILE,
                                  "this process has no descriptor left for the buffer's memory");
            }
            auto view = map(lent, std::move(answer.descriptors.front()));
            if (lent.memory.source != MemorySource::vulkan)
                return view;  // no other buffer ever has it
            mapped_.push_back({lent.memory_number, lent.memory.bytes, view});
            unmap_unused();
            return view;
        } catch (...) {
            link_->tell(ForgetMemory{lent.memory_number});
            throw;
        }
    }
    [[nodiscard]] std::shared_ptr<BufferView> map(LentBuffer const& lent, FileDescriptor fd) const {
        WireMemory const& memory = lent.memory;
        require_addressable(memory.bytes);
        if (memory.source != MemorySource::vulkan) {
            require_shared_memory(fd, memory.bytes);
            if (lent.info.sealed && !is_sealed_against_writing(fd)) {
                throw ProtocolError("the store lent memory that other processes can write");
            }
            return std::make_shared<BufferView>(
                std::make_shared<FileDescriptor const>(std::move(fd)), memory.bytes);
        }
        auto const& device = options().device;
        if (device && memory.uuid && uuid_of(device->info()) == memory.uuid) {
            return std::make_shared<BufferView>(*device, std::move(fd), memory.bytes,
                                                memory.write_combining);
        }
        return std::make_shared<BufferView>(
            ForeignMemory(std::move(fd), memory.bytes, memory.source, memory.uuid),
            memory.write_combining, !memory.uuid);
    }
    [[nodiscard]] std::list<Mapped>::iterator find(std::uint64_t memory) {
        return std::ranges::find(mapped_, memory, &Mapped::memory);
    }
    // Unmaps memory that no buffer has, beyond what is kept.
    void unmap_unused() noexcept {
        std::size_t bytes = 0;
        std::size_t count = 0;
        for (auto each = mapped_.rbegin(); each != mapped_.rend();) {
            auto const at = (++each).base();
            auto const& mapped = *at;
            if (mapped.view.use_count() != 1) continue;  // a buffer has it
            bytes += mapped.size;
            if (++count <= most_unused && bytes <= options().kept_bytes) continue;
            auto const memory = mapped.memory;
            each = std::make_reverse_iterator(mapped_.erase(at));
            link_->tell(ForgetMemory{memory});  // others may make a buffer there from now on
        }
    }
    // Unmaps it if a buffer was released and nobody has looked since. Call it without the mutex.
    void unmap_released() noexcept {
        while (released_) {
            std::unique_lock const lock(mutex_, std::try_to_lock);
            if (!lock) return;  // the holder of the mutex looks after it
            if (released_.exchange(false)) unmap_unused();
        }
    }

    std::shared_ptr<Link> link_;
    std::atomic<bool> released_ = false;  // a buffer, and unmap_unused() has not looked since
    std::mutex mutex_;  // for what follows; a thread that has it may wait for the store
    // Destroyed before the link: once the store sees that end, others may make buffers there.
    std::list<Mapped> mapped_;
    bool never_mapped_ = false;  // the GPU's memory, here: it need not be asked for again
    bool across_a_bus_ = false;  // the last memory that was lent
    std::shared_ptr<CopyTeam> team_;
};

// It has a connection of its own, on which comes what nobody has asked for.
class OthersNews final : public NewsSource {
   public:
    OthersNews(std::shared_ptr<StoreSession> session, SealedNews kind)
        : session_(std::move(session)), brings_(kind == SealedNews::buffers) {
        OwnerAnswer answer = link().ask(WatchBuffers{kind}, link().due());
        (void)said<BufferDone>(answer);
    }
    OthersNews& operator=(OthersNews&&) = delete;
    // Buffers that it has returned keep the connection; those that it has not returned are given
    // back. The store may read nothing for long: it takes back what is on its way when it reads
    // this.
    ~OthersNews() override {
        if (session_.use_count() == 1) return;
        link().drop_news();
        link().tell(WatchBuffers{SealedNews::none, link().came_unasked()});
    }

    [[nodiscard]] int descriptor() const override { return link().descriptor(); }
    [[nodiscard]] std::optional<News> next(std::chrono::nanoseconds timeout) override {
        Deadline const deadline(timeout);
        // A store that sends MissedBuffers again and again keeps nobody for ever.
        Deadline const end = deadline + link().options().timeout;
        do {
            auto came = link().next_news(deadline);
            if (!came) return {};
            if (!brings_) return News{std::move(said<SealedBuffer>(*came))};
            if (auto const* more = std::get_if<MissedBuffers>(&came->message)) {
                missed_ += more->count;
                continue;
            }
            if (auto const* lent = std::get_if<LentBuffer>(&came->message)) missed_ += lent->missed;
            ++missed_;  // unless it can be had
            auto hold = session_->take(*came);
            --missed_;
            return News{{}, std::move(hold)};
        } while (!end.passed());
        return {};
    }

   private:
    [[nodiscard]] Link& link() const { return session_->link(); }

    std::shared_ptr<StoreSession> session_;
    bool brings_;
};

std::shared_ptr<NewsSource> StoreSession::news(SealedNews kind) {
    return make_shared_own<OthersNews>(make_shared_own<StoreSession>(link_->again()), kind);
}

}  // namespace

std::shared_ptr<BufferAccess> find_store(std::shared_ptr<Link> const& link) {
    constexpr NextBuffer none_after{~std::uint64_t{0}};
    return keep_trying(link->options().wait_for_owner, pause_of_attach, [&] {
        OwnerAnswer answer = link->ask(none_after, link->due());
        (void)said<BufferInfo>(answer);
        return make_shared_own<StoreSession>(link);
    });
}

}  // namespace carillon::detail
