// SPDX-License-Identifier: Apache-2.0
#include "serving/store_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

constexpr char const* create_call = "StoreConnection::create";
// Memories that are kept mapped although no buffer has them.
constexpr std::size_t most_unused = 32;

StoreConnectOptions checked_connect(StoreConnectOptions options) {
    if (options.name.empty()) options.name = name_of_program();
    require_name("StoreConnection", "client", options.name);
    if (options.timeout.count() <= 0) {
        throw UsageError("StoreConnection", "the timeout is over already");
    }
    if (options.wait_for_owner.count() < 0) {
        throw UsageError("StoreConnection", "wait_for_owner is below 0");
    }
    return options;
}

template <class Expected>
void require_answer(char const* call, OwnerAnswer const& answer) {
    if (!std::holds_alternative<Expected>(answer.message)) {
        throw ProtocolError(call, "the store says something else than was asked");
    }
}

// A long list takes more than one answer.
Deadline end_of_list(std::chrono::nanoseconds timeout) {
    Deadline end(timeout);
    for (int i = 1; i < 10; ++i) end = end + timeout;
    return end;
}

LinkOptions link_options(StoreConnectOptions const& options) {
    return {options.name, options.timeout, options.wait_for_owner, options.owner_user,
            options.spin};
}
std::shared_ptr<Link> connect_link(std::filesystem::path const& path,
                                   StoreConnectOptions const& options) {
    return Link::connect("StoreConnection", path, link_options(options));
}

ConnectedOwner const& owner_of(std::shared_ptr<Link> const& link) { return link->owner(); }
ConnectedOwner const& owner_of(std::shared_ptr<StoreSession> const& session) {
    return session->owner();
}

// A connection of its own, on which nothing else comes.
class ToldSealed final : public SealedSource {
   public:
    ToldSealed(char const* call, std::shared_ptr<Link> link, std::chrono::nanoseconds timeout)
        : link_(std::move(link)) {
        require_answer<BufferDone>(call, link_->ask(call, WatchBuffers{}, Deadline(timeout)));
    }

    [[nodiscard]] int descriptor() const override { return link_->descriptor(); }
    [[nodiscard]] std::optional<SealedBuffer> next(std::chrono::nanoseconds timeout) override {
        constexpr char const* call = "SealedEvents::next";
        auto came = link_->next_news(call, Deadline(timeout));
        if (!came) return {};
        require_answer<SealedNotice>(call, *came);
        auto& sealed = std::get<SealedNotice>(came->message);
        return SealedBuffer{sealed.buffer, std::move(sealed.name), sealed.bytes, sealed.missed};
    }

   private:
    std::shared_ptr<Link> link_;
};

// A connection of its own, on which buffers come that nobody has asked for.
class LentSealed final : public LentSource {
   public:
    LentSealed(char const* call, std::shared_ptr<StoreSession> session)
        : session_(std::move(session)) {
        session_->watch(call);
    }
    LentSealed(LentSealed const&) = delete;
    LentSealed& operator=(LentSealed const&) = delete;
    // Buffers that it has returned keep the connection; no others are to come by it then.
    ~LentSealed() override {
        if (!inherited() && session_.use_count() != 1) session_->unwatch();
    }

    [[nodiscard]] int descriptor() const override { return session_->descriptor(); }
    [[nodiscard]] std::shared_ptr<BufferHold> next(std::chrono::nanoseconds timeout) override {
        return session_->next_lent("SealedBuffers::next", Deadline(timeout), missed_);
    }

   private:
    std::shared_ptr<StoreSession> session_;
};

}  // namespace

StoreSession::StoreSession(std::filesystem::path const& path, StoreConnectOptions const& options)
    : path_(absolute_path("StoreConnection", path)),
      options_(checked_connect(options)),
      link_(connect_link(path, options_)),
      team_(CopyTeam::make(options_.copy_threads)) {}

std::shared_ptr<StoreSession> StoreSession::connect(std::filesystem::path const& path,
                                                    StoreConnectOptions const& options) {
    return {new StoreSession(path, options), DeleteOwn()};
}

std::string StoreSession::why_host_memory() const {
    std::lock_guard const lock(brief_);
    return why_host_memory_;
}

// In memory of the host's where the GPU's cannot be mapped here.
std::shared_ptr<BufferHold> StoreSession::create(std::string const& name, std::size_t bytes) {
    Alone const alone(*this);
    Deadline const deadline(options_.timeout);
    CreateBuffer create{name, bytes, options_.host_memory || never_mapped_};
    if (across_a_bus_) team_->expect(bytes);  // which is awake by the time that there is a buffer
    std::string why;
    try {
        return ask_for(create_call, create, deadline);
    } catch (UnsupportedError const& error) {  // no Vulkan here, or none for this GPU
        why = error.what();
        never_mapped_ = true;
    } catch (VulkanError const& error) {
        why = error.what();
    }
    if (create.host_memory) throw UnsupportedError(create_call, why);
    create.host_memory = true;
    auto hold = ask_for(create_call, create, deadline);
    std::lock_guard const brief(brief_);
    why_host_memory_.swap(why);
    return hold;
}

std::shared_ptr<BufferHold> StoreSession::get(BufferKey const& key) {
    Alone const alone(*this);
    return ask_for("StoreConnection::get", GetBuffer{key.id, key.name}, Deadline(options_.timeout));
}

std::shared_ptr<BufferHold> StoreSession::ask_for(char const* call, Message const& question,
                                                  Deadline const& deadline) {
    OwnerAnswer answer = link_->ask(call, question, deadline);
    return hold_of(call, answer, !std::holds_alternative<CreateBuffer>(question));
}

std::shared_ptr<BufferHold> StoreSession::hold_of(char const* call, OwnerAnswer& answer,
                                                  bool sealed) {
    require_answer<LentBuffer>(call, answer);
    auto& lent = std::get<LentBuffer>(answer.message);
    try {
        if (lent.sealed != sealed) {
            throw ProtocolError(call, "a new buffer is sealed, or one that is got is not");
        }
        require_shown(call, answer);
        auto view = view_of(call, answer);
        view->use_for(lent.sealed ? BufferUse::reading : BufferUse::writing);
        across_a_bus_ = view->write_combining();
        bool const of_host = lent.memory.source != MemorySource::vulkan || !lent.memory.uuid;
        auto hold = make_hold(shared_from_this(), lent.buffer, lent.name, lent.bytes, of_host,
                              std::move(view));
        return hold;
    } catch (std::exception const& error) {
        tell_unmapped(lent.buffer, error);
        throw;
    }
}

// Whose words may be too long for what memory is left.
void StoreSession::tell_unmapped(std::uint64_t buffer, std::exception const& error) noexcept {
    try {
        link_->tell(UnmappedBuffer{buffer, error.what()});
    } catch (std::bad_alloc const&) {
        link_->tell(ReleaseBuffer{buffer});
    }
}

std::list<StoreSession::Mapped>::iterator StoreSession::find(std::uint64_t memory) {
    return std::ranges::find(mapped_, memory, [](Mapped const& each) { return each.memory; });
}

// The store had shown it, and had not heard yet that it is not mapped here: it was forgotten while
// this was on its way, or came with what was given up.
void StoreSession::require_shown(char const* call, OwnerAnswer& answer) {
    auto& lent = std::get<LentBuffer>(answer.message);
    if (lent.descriptor || find(lent.memory_number) != mapped_.end()) return;
    OwnerAnswer shown = link_->ask(call, ShowMemory{lent.buffer}, Deadline(options_.timeout));
    require_answer<ShownMemory>(call, shown);
    if (std::get<ShownMemory>(shown.message).memory != lent.memory_number) {
        throw ProtocolError(call, "the store shows another memory than the buffer's");
    }
    lent.descriptor = true;
    answer.descriptors = std::move(shown.descriptors);
}

std::shared_ptr<BufferView> StoreSession::view_of(char const* call, OwnerAnswer& answer) {
    auto const& lent = std::get<LentBuffer>(answer.message);
    auto const known = find(lent.memory_number);
    if (known != mapped_.end() && !lent.descriptor && known->size == lent.memory.bytes) {
        mapped_.splice(mapped_.end(), mapped_, known);
        return known->view;
    }
    try {
        if (known != mapped_.end()) {
            throw ProtocolError(call, "the store shows a memory twice, or says another size of it");
        }
        if (answer.descriptors.empty()) {
            throw SystemError(call, EMFILE, "there are none left for the buffer's memory");
        }
        auto view = map(call, lent, std::move(answer.descriptors.front()));
        if (lent.memory.source != MemorySource::vulkan) return view;  // no other buffer ever has it
        mapped_.push_back({lent.memory_number, lent.memory.bytes, view});
        unmap_unused();
        return view;
    } catch (...) {
        link_->tell(ForgetMemory{lent.memory_number});
        throw;
    }
}

std::shared_ptr<BufferView> StoreSession::map(char const* call, LentBuffer const& lent,
                                              FileDescriptor fd) const {
    require_addressable(call, lent.memory.bytes);
    if (lent.memory.source != MemorySource::vulkan) {
        require_shared_memory(call, fd, lent.memory.bytes);
        if (lent.sealed && !is_sealed_against_writing(fd)) {
            throw ProtocolError(call, "the store gives memory that others may write");
        }
        return std::make_shared<FileView>(std::make_shared<FileDescriptor const>(std::move(fd)),
                                          lent.memory.bytes);
    }
    if (options_.device && lent.memory.uuid &&
        uuid_of(options_.device->info()) == lent.memory.uuid) {
        return std::make_shared<ImportedView>(*options_.device, std::move(fd), lent.memory.bytes,
                                              lent.memory.write_combining);
    }
    ForeignMemory memory(call, std::move(fd), lent.memory.bytes, lent.memory.source,
                         lent.memory.uuid);
    return std::make_shared<ForeignView>(std::move(memory), lent.memory.write_combining,
                                         !lent.memory.uuid);
}

void StoreSession::unmap_unused() noexcept {
    std::size_t bytes = 0;
    std::size_t count = 0;
    for (auto each = mapped_.rbegin(); each != mapped_.rend();) {
        auto const at = (++each).base();
        auto const& mapped = *at;
        if (mapped.view.use_count() != 1) continue;  // a buffer has it
        bytes += mapped.size;
        if (++count <= most_unused && bytes <= options_.kept_bytes) continue;
        auto const memory = mapped.memory;
        each = std::make_reverse_iterator(mapped_.erase(at));
        link_->tell(ForgetMemory{memory});  // others may make a buffer there from now on
    }
}

void StoreSession::seal(std::uint64_t id, std::function<void()> const& meanwhile) {
    constexpr char const* call = "MutableBuffer::seal";
    Alone const alone(*this);
    try {
        require_answer<BufferDone>(
            call, link_->ask(call, SealBuffer{id}, Deadline(options_.timeout), meanwhile));
    } catch (RefusedError const& error) {
        if (link_->gone()) throw OwnerGoneError(call, error.what());  // not the buffer is refused
        throw;
    }
}

// The store hears of it at once, though another thread waits for an answer.
void StoreSession::release(std::uint64_t id) noexcept {
    link_->tell(ReleaseBuffer{id});
    released_ = true;
    unmap_released();
}

void StoreSession::unmap_released() noexcept {
    while (released_) {
        std::unique_lock const lock(mutex_, std::try_to_lock);
        if (!lock) return;  // whoever has it looks once it has it no more
        if (released_.exchange(false)) unmap_unused();
    }
}

void StoreSession::remove(BufferKey const& key) {
    constexpr char const* call = "StoreConnection::remove";
    Alone const alone(*this);
    OwnerAnswer const answer =
        link_->ask(call, RemoveBuffer{key.id, key.name}, Deadline(options_.timeout));
    require_answer<BufferDone>(call, answer);
    make_ready(std::get<BufferDone>(answer.message).spare);
}

// Nobody else makes a buffer there, so that create() finds its pages writable: changing that takes
// longer than asking for the buffer does.
void StoreSession::make_ready(std::uint64_t spare) {
    auto const mapped = find(spare);
    if (mapped == mapped_.end() || mapped->view.use_count() != 1) return;
    mapped->view->use_for(BufferUse::writing);
}

std::vector<BufferInfo> StoreSession::list() {
    constexpr char const* call = "StoreConnection::list";
    Alone const alone(*this);
    std::vector<BufferInfo> all;
    Deadline const end = end_of_list(options_.timeout);
    for (std::uint64_t last = 0;;) {
        if (end.passed()) {
            throw TimeoutError(call, fmt::format("the store's list has no end: {} buffers came "
                                                 "within ten times the timeout",
                                                 all.size()));
        }
        OwnerAnswer const answer =
            link_->ask(call, NextBuffer{last}, Deadline(std::min(options_.timeout, end.left())));
        require_answer<ListedBuffer>(call, answer);
        auto const& listed = std::get<ListedBuffer>(answer.message);
        if (listed.buffer == 0) return all;
        if (listed.buffer <= last) throw ProtocolError(call, "the store's list goes back");
        last = listed.buffer;
        all.push_back({listed.buffer, listed.name, listed.bytes, listed.memory_bytes, listed.sealed,
                       listed.host_memory, listed.holders,
                       static_cast<std::int32_t>(listed.process), listed.user});
    }
}

// Waits for room in the store, and not for another store.
template <class Connect>
auto StoreSession::reach_again(char const* call, Connect const& connect) const {
    OwnerWait const wait(options_.wait_for_owner);
    StoreConnectOptions once = options_;
    once.wait_for_owner = {};
    link_->require_owner(call);
    for (;;) {
        try {
            return connect(path_, once);
        } catch (Error const&) {
            link_->require_owner(call);
            wait.before_next_connection();
        }
    }
}

// The path may lead to another store by now.
template <class Connect>
auto StoreSession::connect_again(char const* call, Connect const& connect) const {
    auto again = reach_again(call, connect);
    if (owner_of(again).instance == owner().instance) return again;
    throw OwnerGoneError(call, fmt::format("another store listens at {} now", path_.string()));
}

std::unique_ptr<SealedSource> StoreSession::sealed_events() {
    constexpr char const* call = "StoreConnection::sealed_events";
    return std::make_unique<ToldSealed>(call, connect_again(call, connect_link), options_.timeout);
}

std::unique_ptr<LentSource> StoreSession::sealed_buffers() {
    constexpr char const* call = "StoreConnection::sealed_buffers";
    return std::make_unique<LentSealed>(call, connect_again(call, StoreSession::connect));
}

void StoreSession::watch(char const* call) {
    Alone const alone(*this);
    require_answer<BufferDone>(
        call, link_->ask(call, WatchBuffers{SealedNews::buffers}, Deadline(options_.timeout)));
}

// The store may read nothing for long: it is told, and takes back what is on its way by then.
void StoreSession::unwatch() noexcept {
    link_->drop_news();
    link_->tell(WatchBuffers{SealedNews::none, link_->came_unasked()});
}

int StoreSession::descriptor() { return link_->descriptor(); }

// A store that says MissedBuffers again and again keeps nobody for ever.
std::optional<OwnerAnswer> StoreSession::receive_lent(char const* call, Deadline const& deadline,
                                                      std::uint64_t& missed) {
    Deadline const end = deadline + options_.timeout;
    do {
        auto came = link_->next_news(call, deadline);
        auto const* more = came ? std::get_if<MissedBuffers>(&came->message) : nullptr;
        if (more == nullptr) return came;
        missed += more->count;
    } while (!end.passed());
    return {};
}

std::shared_ptr<BufferHold> StoreSession::next_lent(char const* call, Deadline const& deadline,
                                                    std::uint64_t& missed) {
    auto came = receive_lent(call, deadline, missed);
    if (!came) return {};
    Alone const alone(*this);
    if (auto const* lent = std::get_if<LentBuffer>(&came->message)) missed += lent->missed;
    try {
        return hold_of(call, *came, true);
    } catch (...) {
        ++missed;
        throw;
    }
}

}  // namespace carillon::detail
