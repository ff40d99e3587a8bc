// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace carillon::tool {
namespace {

using Reports = std::vector<OwnerReport>;
using BlockLabels = std::function<void(OwnerReport const&, WatchedBlock const&)>;

void head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string path_label(OwnerReport const& report) {
    return fmt::format("path=\"{}\"", label_value(report.path));
}
std::string object_labels(OwnerReport const& report, WatchedBlock const& block) {
    return fmt::format("{},object=\"{}\"", path_label(report), label_value(block.object));
}
std::string block_labels(OwnerReport const& report, WatchedBlock const& block) {
    return fmt::format("{},block=\"{}\"", object_labels(report, block), block.index);
}

void for_blocks(Reports const& reports, BlockLabels const& each) {
    for (OwnerReport const& report : reports) {
        for (WatchedBlock const& block : report.blocks) each(report, block);
    }
}

void add_owners(std::string& text, Reports const& reports) {
    head(text, "carillon_up", "gauge", "Whether the owner at the path has answered.");
    for (OwnerReport const& report : reports) {
        text +=
            fmt::format("carillon_up{{{}}} {}\n", path_label(report), report.error.empty() ? 1 : 0);
    }
    head(text, "carillon_owner_info", "gauge", "Name and process of the owner at the path.");
    for (OwnerReport const& report : reports) {
        if (!report.error.empty()) continue;
        text +=
            fmt::format("carillon_owner_info{{{},name=\"{}\",process=\"{}\"}} 1\n",
                        path_label(report), label_value(report.owner.name), report.owner.process);
    }
}

void add_objects(std::string& text, Reports const& reports) {
    head(text, "carillon_object_info", "gauge",
         "Kind and state of an object, and whether its device is emulated.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        if (block.index != 0) return;
        text +=
            fmt::format("carillon_object_info{{{},kind=\"{}\",state=\"{}\",emulated=\"{}\"}} 1\n",
                        object_labels(report, block), to_string(block.kind), to_string(block.state),
                        block.emulated);
    });
}

struct StoreGauge {
    char const* name;
    char const* help;
    std::uint64_t StoreStatus::*value;
};
constexpr std::array<StoreGauge, 4> store_gauges{{
    {"carillon_store_buffers", "Buffers in the store.", &StoreStatus::buffers},
    {"carillon_store_sealed_buffers", "Sealed buffers.", &StoreStatus::sealed},
    {"carillon_store_bytes", "Bytes of memory that the buffers use.", &StoreStatus::bytes},
    {"carillon_store_bytes_limit", "Bytes of memory that the buffers may use.",
     &StoreStatus::most_bytes},
}};

void add_stores(std::string& text, Reports const& reports) {
    for (StoreGauge const& gauge : store_gauges) {
        head(text, gauge.name, "gauge", gauge.help);
        for (OwnerReport const& report : reports) {
            if (!report.store) continue;
            text += fmt::format("{}{{{}}} {}\n", gauge.name, path_label(report),
                                *report.store.*gauge.value);
        }
    }
}

void add_block_states(std::string& text, Reports const& reports) {
    head(text, "carillon_block_activity", "gauge",
         "State of a block: 1 for the present state. Only kernels have several blocks.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        for (BlockActivity const each : {BlockActivity::idle, BlockActivity::busy,
                                         BlockActivity::stuck, BlockActivity::ended}) {
            text += fmt::format("carillon_block_activity{{{},activity=\"{}\"}} {}\n",
                                block_labels(report, block), to_string(each),
                                each == block.served.activity ? 1 : 0);
        }
    });
    head(text, "carillon_block_lent", "gauge", "Whether a client holds the block.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        text += fmt::format("carillon_block_lent{{{}}} {}\n", block_labels(report, block),
                            block.served.client.empty() ? 0 : 1);
    });
    head(text, "carillon_block_heartbeats_total", "counter", "Heartbeats of the block.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        if (block.kind != ObjectKind::kernel) return;
        text += fmt::format("carillon_block_heartbeats_total{{{}}} {}\n",
                            block_labels(report, block), block.served.beats.seen);
    });
    head(text, "carillon_block_heartbeat_age_seconds", "gauge", "Age of the last heartbeat.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        if (block.kind != ObjectKind::kernel) return;
        text += fmt::format("carillon_block_heartbeat_age_seconds{{{}}} {:.3f}\n",
                            block_labels(report, block),
                            std::chrono::duration<double>(block.served.beats.age).count());
    });
}

struct Counter {
    char const* name;
    char const* help;
    std::uint64_t ChannelCounters::*value;
};
constexpr std::array<Counter, 5> counters{{
    {"carillon_requests_submitted_total", "Requests that clients sent.",
     &ChannelCounters::submitted},
    {"carillon_requests_answered_total", "Requests that the kernel answered.",
     &ChannelCounters::answered},
    {"carillon_replies_taken_total", "Replies that clients took.", &ChannelCounters::taken},
    {"carillon_requests_dropped_total", "Requests whose reply was given up.",
     &ChannelCounters::dropped},
    {"carillon_ring_stalls_total", "Requests, or rows of requests, that found the ring full.",
     &ChannelCounters::stalls},
}};

// Sums over all clients that a block has had, so that they only grow. No label has a value that a
// client chooses: a client could make new series without end.
void add_counters(std::string& text, Reports const& reports) {
    for (Counter const& counter : counters) {
        head(text, counter.name, "counter", counter.help);
        for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
            text += fmt::format("{}{{{}}} {}\n", counter.name, block_labels(report, block),
                                block.served.all().*counter.value);
        });
    }
    head(text, "carillon_requests_outstanding", "gauge", "Requests whose reply was not taken yet.");
    for_blocks(reports, [&](OwnerReport const& report, WatchedBlock const& block) {
        text += fmt::format("carillon_requests_outstanding{{{}}} {}\n", block_labels(report, block),
                            block.served.counters.depth);
    });
}

// Replaces bytes that are not UTF-8: one such path would make the whole answer invalid.
std::string valid_utf8(std::string const& bytes) {
    using Json = nlohmann::json;
    return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace))
        .get<std::string>();
}

}  // namespace

std::string label_value(std::string const& bytes) {
    std::string value;
    for (char const each : valid_utf8(bytes)) {
        if (each == '\n') {
            value += "\\n";
        } else {
            if (each == '\\' || each == '"') value += '\\';
            value += each;
        }
    }
    return value;
}

std::string to_metrics(Reports const& reports) {
    std::string text;
    add_owners(text, reports);
    add_objects(text, reports);
    add_block_states(text, reports);
    add_counters(text, reports);
    add_stores(text, reports);
    return text;
}

}  // namespace carillon::tool
