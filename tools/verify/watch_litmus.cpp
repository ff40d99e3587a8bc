// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/watch_litmus.hpp"

#include <array>
#include <atomic>
#include <thread>

#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t watched = 8;        // lines, pairs or flags, in turn
constexpr std::uint32_t batch_lines = 32;   // more than a CPU has write-combining buffers, and
constexpr std::uint32_t column_lines = 64;  // so are these
constexpr std::uint32_t any_later = 0x7fff'ffffU;

// Calls `write(version)`, from 1 on, until the time is over or an interrupt comes.
template <class Write>
void write_versions(VerifyStage const& stage, std::chrono::nanoseconds time, Write&& write) {
    constexpr std::uint32_t batch = 16;
    auto const deadline = Clock::now() + time;
    std::uint32_t version = 0;
    do {
        for (std::uint32_t i = 0; i < batch; ++i) write(++version);
        stage.rest();
    } while (time_is_left(deadline));
}

void store_words(detail::Line* lines, std::uint32_t version) {
    constexpr std::uint32_t words_per_line = sizeof(detail::Line) / sizeof(std::uint64_t);
    detail::Line const line = versioned_line(version);
    for (std::uint32_t word = words_per_line; word-- != 0;) {
        detail::Quad const& quad = line.quads[word / 2];
        std::uint64_t const value = word % 2 != 0 ? quad.high : quad.low;
        for (std::uint32_t i = 0; i < column_lines; ++i) {
            detail::Quad& to = lines[i].quads[word / 2];
            store_data(word % 2 != 0 ? &to.high : &to.low, value);
        }
    }
    detail::X86::store_fence();
}

// Line i of a batch has version i more than the first.
void store_batch(detail::HostMapped const& far, detail::Line* lines, std::uint32_t version) {
    std::array<detail::PayloadWords, batch_lines> payloads;
    for (std::uint32_t i = 0; i < batch_lines; ++i) {
        payloads[i] = detail::unpack<detail::PayloadWords>(versioned_line(version + i));
    }
    far.store_payloads(lines, payloads.data(), batch_lines, version, version - 1);
    far.commit(lines, batch_lines * sizeof(detail::Line));
}

std::uint32_t lines_of(Storing storing) {
    if (storing == Storing::batches) return batch_lines;
    return storing == Storing::columns ? column_lines : watched;
}

// Waits until another thread changes `before`, and returns the new value.
std::uint32_t await_change(std::atomic<std::uint32_t> const& word, std::uint32_t before) {
    std::uint32_t now = before;
    for (std::uint32_t polls = 0; now == before; ++polls) {
        now = word.load(std::memory_order_acquire);
        if (now == before) detail::cpu::pause_or_yield(polls, false);
    }
    return now;
}

// A quad may be stored or loaded as two words: then the word with the tag is loaded first and
// stored last, and the other word may be of any later version. That is safe: no ring overwrites a
// line before it was taken, and a mailbox has a tag in either word.
Early early_for(Device const& device, StoreForm const& form) {
    std::uint32_t const two_step = form.stores.mode == detail::PublishMode::two_step ? 1 : 0;
    bool const in_words = form.used && traits_of(form.stores.kind).width < sizeof(detail::Quad);
    return {device.traits().loads_whole_quads && !in_words ? two_step : any_later, two_step};
}

std::vector<StoreForm> forms_of_lines(Device const& device) {
    std::vector<StoreForm> forms;
    if (device.traits().write_combining) {
        forms.push_back({"8-byte", {StoreKind::cached, detail::PublishMode::one_step}, false});
    } else {
        forms.push_back({"cached one-step", {StoreKind::cached, detail::PublishMode::one_step}});
    }
    if (CARILLON_THREAD_SANITIZER != 0) return forms;  // it does not see streaming stores
    for (detail::StoreTraits const& each : detail::store_table()) {
        if (each.kind == StoreKind::cached || !supported(each.kind)) continue;
        std::string const name(each.name);
        bool const needs_two = each.mode == detail::PublishMode::two_step;
        if (needs_two)
            forms.push_back({name + " two-step", {each.kind, detail::PublishMode::two_step}});
        forms.push_back(
            {name + " one-step", {each.kind, detail::PublishMode::one_step}, !needs_two});
    }
    return forms;
}

}  // namespace

std::vector<StoreForm> store_forms(Device const& device, Storing storing) {
    std::vector<StoreForm> forms = forms_of_lines(device);
    detail::HostStores const own = device.stores();
    for (StoreForm& form : forms) {
        form.storing = storing;
        bool const is_bulk = form.stores.kind == own.bulk_kind() && form.stores.mode == own.mode;
        if (storing != Storing::batches || !is_bulk) continue;
        form.stores = own;
        form.used = true;
    }
    return forms;
}

Findings run_torn(VerifyStage const& stage, StoreForm const& form, std::chrono::nanoseconds time) {
    std::uint32_t const count = lines_of(form.storing);
    Memory const memory = stage.device.allocate(count * sizeof(detail::Line));
    auto* const lines = static_cast<detail::Line*>(memory.host_ptr());
    detail::HostMapped const far = stage.device.access(memory, form.stores);
    if (form.storing == Storing::batches) {
        store_batch(stage.device.access(memory), lines, 0);  // the tags before the first
    }
    LitmusKernel kernel(stage, stage.watchers(), time);
    kernel.start(WatchLines{static_cast<detail::Line const*>(memory.device_ptr()), count,
                            early_for(stage.device, form), kernel.station()});
    write_versions(stage, time, [&](std::uint32_t version) {
        if (form.storing == Storing::columns) return store_words(lines, version);
        if (form.storing == Storing::batches) return store_batch(far, lines, version);
        for (std::uint32_t i = 0; i < count; ++i) {
            far.store_line(lines + i, versioned_line(version), version - 1);
            far.commit(lines + i, sizeof(detail::Line));
            if (!form.used) detail::X86::store_fence();
        }
    });
    return kernel.end();
}

Findings run_pairs(VerifyStage const& stage, bool release, std::chrono::nanoseconds time) {
    Memory const memory = stage.device.allocate(std::size_t{2} * watched * sizeof(detail::Line));
    auto* const first = static_cast<detail::Line*>(memory.host_ptr());
    auto const* const on_device = static_cast<detail::Line const*>(memory.device_ptr());
    // Stores in one step: the fence between two steps would order the lines as well.
    detail::HostMapped const far =
        stage.device.access(memory, {stage.device.stores().kind, detail::PublishMode::one_step});
    LitmusKernel kernel(stage, stage.watchers(), time);
    kernel.start(WatchPairs{on_device, on_device + watched, watched, kernel.station()});
    write_versions(stage, time, [&](std::uint32_t version) {
        detail::Line const line = versioned_line(version);
        for (std::uint32_t i = 0; i < watched; ++i) {
            detail::Line* const second = first + watched + i;
            far.store_line(first + i, line, version - 1);
            if (release) far.release();
            far.store_line(second, line, version - 1);
            far.commit(second, sizeof(detail::Line));
        }
    });
    return kernel.end();
}

Findings run_two_threads(VerifyStage const& stage, bool fence, std::chrono::nanoseconds time) {
    Memory const memory = stage.device.allocate(std::size_t{2} * watched * sizeof(detail::Line));
    auto* const first = static_cast<detail::Line*>(memory.host_ptr());
    auto const* const on_device = static_cast<detail::Line const*>(memory.device_ptr());
    // Stores in two parts, which a write-combining buffer does not send by itself.
    StoreKind const kind =
        stage.device.traits().write_combining ? StoreKind::sse2 : StoreKind::cached;
    detail::HostMapped const far =
        stage.device.access(memory, {kind, detail::PublishMode::one_step});
    std::atomic<std::uint32_t> written{0};   // versions of the first lines; the last one ends it
    std::atomic<std::uint32_t> followed{0};  // and of the second
    constexpr std::uint32_t over = 0xffff'ffffU;
    LitmusKernel kernel(stage, stage.watchers(), time);
    kernel.start(WatchPairs{on_device, on_device + watched, watched, kernel.station()});
    std::thread second([&] {
        for (std::uint32_t version = 0; (version = await_change(written, version)) != over;) {
            detail::Line const line = versioned_line(version);
            far.release();
            for (std::uint32_t i = 0; i < watched; ++i) {
                far.store_line(first + watched + i, line, version - 1);
            }
            far.commit(first + watched, watched * sizeof(detail::Line));
            followed.store(version, std::memory_order_release);
        }
    });
    write_versions(stage, time, [&](std::uint32_t version) {
        detail::Line const line = versioned_line(version);
        for (std::uint32_t i = 0; i < watched; ++i) far.store_line(first + i, line, version - 1);
        if (fence) far.commit(first, watched * sizeof(detail::Line));
        written.store(version, std::memory_order_release);
        (void)await_change(followed, version - 1);
    });
    written.store(over, std::memory_order_release);
    second.join();
    return kernel.end();
}

Findings run_flags(VerifyStage const& stage, FlagTest const& test, std::chrono::nanoseconds time) {
    constexpr std::uint32_t words = WatchFlags::words;
    std::size_t const bytes = std::size_t{watched} * words * sizeof(std::uint64_t);
    Memory const data =
        test.data_in_host_memory ? stage.device.allocate_host(bytes) : stage.device.allocate(bytes);
    Memory const flags = stage.device.allocate(watched * sizeof(detail::Line));
    detail::HostMapped const far = stage.device.access(flags);
    LitmusKernel kernel(stage, stage.watchers(), time);
    kernel.start(WatchFlags{static_cast<detail::Line const*>(flags.device_ptr()),
                            static_cast<std::uint64_t const*>(data.device_ptr()), watched,
                            kernel.station()});
    write_versions(stage, time, [&](std::uint32_t version) {
        for (std::uint32_t i = 0; i < watched; ++i) {
            std::uint64_t* const to =
                static_cast<std::uint64_t*>(data.host_ptr()) + std::size_t{i} * words;
            for (std::uint32_t w = 0; w < words; ++w)
                store_data(to + w, versioned_word(version, w));
            if (data.range_sync() != nullptr) {
                data.range_sync()->flush(to, words * sizeof(*to));
            }
            std::uint64_t* const flag =
                &static_cast<detail::Line*>(flags.host_ptr())[i].quads[0].low;
            detail::FlagWriter<std::uint32_t, detail::HostMapped>(flag, far).set(version,
                                                                                 test.order);
        }
    });
    return kernel.end();
}

}  // namespace carillon::tool
