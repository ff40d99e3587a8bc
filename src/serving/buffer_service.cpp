// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_service.hpp"

#include <array>
#include <atomic>

namespace carillon::detail {

HolderNumber new_holder() {
    static std::atomic<HolderNumber> last = own_process;
    return last.fetch_add(1) + 1;
}

BufferService::BufferService(std::shared_ptr<BufferTable> table, ServeOptions const& options,
                             Reception& reception, Sessions const& sessions, Wakeup const& wakeup)
    : table_(std::move(table)),
      options_(options),
      reception_(reception),
      sessions_(sessions),
      wakeup_(table_->follow(wakeup)) {}

void BufferService::answer(Session& session, std::uint32_t id, WatchBuffers const& watch) {
    session.news = watch.news;
    session.next_sealed = table_->sealed_so_far();
    // Takes back the buffers that the client was lent unasked and has not read yet.
    for (auto each = session.unasked.begin(); each != session.unasked.end();) {
        auto const [buffer, unasked] = *each++;
        if (unasked.number <= watch.came) continue;
        if (unasked.descriptor) table_->forget(session.who.number, unasked.memory);
        (void)release(session, buffer);
    }
    reception_.send(session, id, BufferDone{});
}

void BufferService::answer(Session& session, std::uint32_t id, ShowMemory const& show) {
    auto const memory = table_->memory_of(session.who, show.buffer);
    if (auto const refusal = reception_.require_read(session, 1)) throw Refused(*refusal);
    FileDescriptor const shown = memory->export_fd();
    (void)table_->tell(session.who, *memory);
    reception_.lend(session, id, ShownMemory{memory->number()}, std::array{shown.get()});
}

void BufferService::lend(Session& session, std::uint32_t id, HeldBuffer const& held,
                         std::optional<std::uint64_t> missed) {
    ++session.holds;
    StoreMemory& memory = *held.memory;
    LentBuffer lent;
    lent.memory = wire_memory(table_->device(), memory.of_host(), memory.size());
    lent.memory_number = memory.number();
    lent.missed = missed.value_or(0);
    try {
        lent.info = held.info;
        lent.descriptor = table_->tell(session.who, memory);
        FileDescriptor const file = lent.descriptor ? memory.export_fd() : FileDescriptor();
        int const sent = file.get();
        if (missed) {
            session.unasked[held.info.id] = {session.lent_unasked + 1, lent.memory_number,
                                             lent.descriptor};
        }
        reception_.lend(session, id, lent, {&sent, lent.descriptor ? 1U : 0U});
    } catch (...) {
        if (lent.descriptor) table_->forget(session.who.number, lent.memory_number);
        (void)release(session, held.info.id);
        throw;
    }
}

void BufferService::require_hold(Session& session) const {
    if (session.holds >= options_.buffers_per_connection) {
        throw_refused(
            RefusalReason::too_many_of_client,
            "the connection already holds {} buffers (the owner's option buffers_per_connection)",
            session.holds);
    }
    if (auto const refusal = reception_.require_read(session, 1)) throw Refused(*refusal);
}

// Tells as many as there is room for, and the others in another turn.
void BufferService::tell_sealed(Session& session) {
    session.waits_for_room = false;
    try {
        while (session.news != SealedNews::none && !session.over && session.unsent.empty()) {
            std::uint64_t after = session.next_sealed;
            auto const found = table_->sealed(after);
            if (!found) {  // otherwise the client hears of what it missed with the next buffer
                if (session.missed != 0) reception_.send(session, 0, MissedBuffers{session.missed});
                session.missed = 0;
                return;
            }
            if (session.news == SealedNews::words) {
                reception_.send(session, 0, *found);
            } else if (session.holds >= options_.buffers_per_connection) {
                return;
            } else if (!lend_sealed(session, *found)) {
                session.waits_for_room = true;
                return;
            }
            session.next_sealed = after;
        }
    } catch (std::bad_alloc const&) {  // another turn tells the rest
    }
}

bool BufferService::lend_sealed(Session& session, SealedBuffer const& sealed) {
    if (reception_.require_read(session, 1)) return false;
    std::uint64_t const missed = session.missed + sealed.missed;
    std::optional<HeldBuffer> held;
    try {
        held = table_->get(session.who, {sealed.id});
    } catch (Refused const&) {  // it was removed
        session.missed = missed + 1;
        return true;
    }
    try {
        lend(session, 0, *held, missed);
    } catch (Refused const&) {
        return false;
    } catch (SystemError const& error) {  // no descriptor is left
        if (is_out_of_room(error.code())) return false;
        reception_.log(session, fmt::format("could not lend the buffer number {}: {}", sealed.id,
                                            error.what()));
        session.missed = missed + 1;
        return true;
    }
    ++session.lent_unasked;
    session.missed = 0;
    return true;
}

}  // namespace carillon::detail
