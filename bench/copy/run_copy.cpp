// SPDX-License-Identifier: Apache-2.0
#include "copy/run_copy.hpp"

#include <carillon/copy.hpp>
#include <carillon/device_reader.hpp>
#include <carillon/device_writer.hpp>
#include <cstring>

#include "copy/copy_measures.hpp"
#include "measure/latency.hpp"
#include "measure/turns.hpp"

namespace carillon::tool {
namespace {

constexpr std::size_t smallest = 64;
constexpr std::size_t step = 4;

class StreamingCopy final : public CopyMeasure {
   public:
    StreamingCopy(CopyStage const& stage, std::string name, StoreKind kind)
        : CopyMeasure(std::move(name), CopyDirection::to_device), stage_(stage), kind_(kind) {}

    void run(std::size_t bytes, Samples& samples) override {
        std::span<std::byte const> const from(stage_.host_bytes(), bytes);
        time_copies(samples, [&] { copy_to_device(stage_.there, 0, from, kind_); });
    }

   private:
    CopyStage const& stage_;
    StoreKind kind_;
};

// copy_to_device as its users call it.
class DefaultCopy final : public CopyMeasure {
   public:
    explicit DefaultCopy(CopyStage const& stage)
        : CopyMeasure("copy", CopyDirection::to_device), stage_(stage) {}

    void run(std::size_t bytes, Samples& samples) override {
        std::span<std::byte const> const from(stage_.host_bytes(), bytes);
        time_copies(samples, [&] { copy_to_device(stage_.there, 0, from); });
    }

   private:
    CopyStage const& stage_;
};

class StreamingLoad final : public CopyMeasure {
   public:
    explicit StreamingLoad(CopyStage const& stage)
        : CopyMeasure("copy", CopyDirection::to_host), stage_(stage) {}

    void run(std::size_t bytes, Samples& samples) override {
        std::span<std::byte> const to(stage_.host_bytes(), bytes);
        time_copies(samples, [&] { copy_from_device(to, stage_.there, 0); });
    }

   private:
    CopyStage const& stage_;
};

// The alternative: a program that treats mapped memory as any other, and fences.
class PlainCopy final : public CopyMeasure {
   public:
    PlainCopy(CopyStage const& stage, CopyDirection direction)
        : CopyMeasure("memcpy", direction), stage_(stage) {}

    // Plain loads of write-combining memory take up to a second for 16 MiB.
    [[nodiscard]] std::size_t most_bytes() const override {
        return direction() == CopyDirection::to_host ? std::size_t{1} << 20
                                                     : CopyMeasure::most_bytes();
    }

    void run(std::size_t bytes, Samples& samples) override {
        if (direction() == CopyDirection::to_device) {
            time_copies(samples, [&] {
                std::memcpy(stage_.device_bytes(), stage_.host_bytes(), bytes);
                detail::X86::store_fence();
            });
        } else {
            time_copies(samples,
                        [&] { std::memcpy(stage_.host_bytes(), stage_.device_bytes(), bytes); });
        }
    }

   private:
    CopyStage const& stage_;
};

// Each kernel runs only while it is measured: on the emulated device it takes processors.
class ReaderCopy final : public CopyMeasure {
   public:
    explicit ReaderCopy(CopyStage const& stage)
        : CopyMeasure("reader", CopyDirection::to_host), stage_(stage) {}

    void run(std::size_t bytes, Samples& samples) override {
        using namespace std::chrono_literals;
        DeviceReader reader(stage_.device, {.largest = bytes});
        time_copies(samples, [&] { (void)reader.read(stage_.there, 0, bytes, 10s); });
        reader.stop(10s);
    }

   private:
    CopyStage const& stage_;
};

// Copies from page-locked memory, CUDA's or the program's own.
class WriterCopy final : public CopyMeasure {
   public:
    WriterCopy(CopyStage const& stage, std::string name, Memory const& from)
        : CopyMeasure(std::move(name), CopyDirection::to_device), stage_(stage), from_(from) {}

    void run(std::size_t bytes, Samples& samples) override {
        using namespace std::chrono_literals;
        DeviceWriter writer(stage_.device);
        time_copies(samples, [&] { writer.write(stage_.there, 0, from_, 0, bytes, 10s); });
        writer.stop(10s);
    }

   private:
    CopyStage const& stage_;
    Memory const& from_;
};

// Copies through the writer's chunks, as if the memory were not page-locked.
class StagedWriterCopy final : public CopyMeasure {
   public:
    explicit StagedWriterCopy(CopyStage const& stage)
        : CopyMeasure("writer-staged", CopyDirection::to_device), stage_(stage) {}

    void run(std::size_t bytes, Samples& samples) override {
        using namespace std::chrono_literals;
        DeviceWriter writer(stage_.device);
        std::span<std::byte const> const from(stage_.host_bytes(), bytes);
        time_copies(samples, [&] { writer.write(stage_.there, 0, from, 10s); });
        writer.stop(10s);
    }

   private:
    CopyStage const& stage_;
};

std::vector<std::unique_ptr<CopyMeasure>> make_measures(CopyStage const& stage) {
    std::vector<std::unique_ptr<CopyMeasure>> all;
    all.push_back(std::make_unique<DefaultCopy>(stage));
    for (detail::StoreTraits const& each : detail::store_table()) {
        if (!supported(each.kind)) continue;
        StoreKind const kind = each.kind;
        std::string name("copy-");
        name += to_string(kind);
        all.push_back(std::make_unique<StreamingCopy>(stage, std::move(name), kind));
    }
    all.push_back(std::make_unique<PlainCopy>(stage, CopyDirection::to_device));
    all.push_back(std::make_unique<WriterCopy>(stage, "writer", stage.here));
    all.push_back(std::make_unique<WriterCopy>(stage, "writer-registered", stage.registered));
    all.push_back(std::make_unique<StagedWriterCopy>(stage));
    all.push_back(std::make_unique<StreamingLoad>(stage));
    all.push_back(std::make_unique<PlainCopy>(stage, CopyDirection::to_host));
    all.push_back(std::make_unique<ReaderCopy>(stage));
    for (auto& each : make_driver_copies(stage)) all.push_back(std::move(each));
    return all;
}

CopyResult result_of(CopyMeasure const& measure, std::size_t bytes, Samples& samples) {
    double const p50 = summarize(measure.name(), samples).p50_ns;
    bool const there = measure.direction() == CopyDirection::to_device;
    return {measure.name(), there ? "to-device" : "to-host", bytes, p50,
            p50 > 0 ? static_cast<double>(bytes) / p50 : 0};
}

}  // namespace

std::vector<CopyResult> run_copy(Device const& device, CopyOptions const& options,
                                 Progress const& progress) {
    if (options.rounds == 0 || options.largest < smallest) {
        throw UsageError("copy",
                         "there must be at least one round, and copies of at least 64 bytes");
    }
    std::vector<std::byte> own(options.largest, std::byte{1});
    CopyStage const stage{device, device.allocate(options.largest),
                          device.allocate_host(options.largest), device.register_host(own)};
    std::memset(stage.host_bytes(), 1, options.largest);
    auto const measures = make_measures(stage);
    std::vector<std::size_t> sizes;
    for (std::size_t size = smallest; size <= options.largest; size *= step) sizes.push_back(size);

    std::vector<CopyResult> results;
    for (std::size_t s = 0; s < sizes.size() && !interrupted(); ++s) {
        std::vector<Samples> samples(measures.size());
        take_turns(options.rounds, measures.size(), progress_of_stage(progress, s, sizes.size()),
                   [&](std::size_t m) {
                       if (sizes[s] <= measures[m]->most_bytes()) {
                           measures[m]->run(sizes[s], samples[m]);
                       }
                   });
        for (std::size_t m = 0; m < measures.size(); ++m) {
            if (samples[m].empty()) continue;
            results.push_back(result_of(*measures[m], sizes[s], samples[m]));
            if (options.tell) options.tell(results.back());
        }
    }
    return results;
}

}  // namespace carillon::tool
