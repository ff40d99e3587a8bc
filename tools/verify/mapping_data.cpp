// SPDX-License-Identifier: Apache-2.0
#include "verify/mapping_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <carillon/error.hpp>
#include <span>
#include <utility>

#include "measure/interrupt.hpp"

namespace carillon::tool {
namespace {

constexpr std::size_t memory_size = (std::size_t{1} << 20) + 4096;
constexpr std::size_t beside = 64;  // bytes on either side that are looked at too

struct DataCopy {
    std::size_t offset;
    std::size_t bytes;
};

struct DataShape {
    char const* name;
    std::vector<DataCopy> copies;
};

std::vector<DataCopy> word_copies() {
    std::vector<DataCopy> all;
    for (std::size_t bytes = 1; bytes <= 16; bytes *= 2) {
        for (std::size_t i = 0; i < 128 / bytes; ++i) all.push_back({4096 + i * bytes, bytes});
    }
    return all;
}

std::vector<DataCopy> line_copies() {
    std::vector<DataCopy> all;
    for (std::size_t count = 1; count <= 64; count = 2 * count + 1) {
        for (std::size_t first = 0; first < 4; ++first) {
            all.push_back({4096 + 64 * first, 64 * count});
        }
    }
    return all;
}

// Every place in a line, over the end of a page.
std::vector<DataCopy> unaligned_copies() {
    std::vector<DataCopy> all;
    for (std::size_t offset = 4096 - 70; offset <= 4096; ++offset) {
        for (std::size_t const bytes : {3UL, 7UL, 31UL, 63UL, 65UL, 129UL, 511UL}) {
            all.push_back({offset, bytes});
        }
    }
    return all;
}

std::vector<DataShape> data_shapes() {
    std::size_t const megabyte = std::size_t{1} << 20;
    return {{"words", word_copies()},
            {"lines", line_copies()},
            {"unaligned", unaligned_copies()},
            {"megabyte", {{1024, megabyte}, {1025, megabyte - 3}, {1087, megabyte}}}};
}

// Fills with bytes such that neighbours, lines and patterns of other seeds differ.
void fill_data(std::span<std::byte> bytes, std::uint32_t seed) {
    for (std::byte& each : bytes) {
        seed = seed * 1'664'525U + 1'013'904'223U;
        each = static_cast<std::byte>(seed >> 24);
    }
}

class MappingData {
   public:
    MappingData(Device const& device, DriverCopies& driver)
        : driver_(driver),
          memory_(device.allocate(memory_size)),
          pattern_(memory_size),
          expected_(memory_size),
          seen_(memory_size) {}

    DataCheck to_device(DataShape const& shape, StoreKind kind) {
        return check({"cpu-to-device", std::string(to_string(kind)), shape.name}, shape,
                     [&](DataCopy const& copy) {
                         copy_to_device(memory_, copy.offset, part(pattern_, copy), kind);
                         driver_.to_host(window(seen_).data(), at(first_), window(seen_).size());
                     });
    }
    // The CPU loads the copy alone; around it the bytes of its own buffer have to stay.
    DataCheck to_cpu(DataShape const& shape) {
        return check({"device-to-cpu", "loads", shape.name}, shape, [&](DataCopy const& copy) {
            driver_.to_device(at(copy.offset), part(pattern_, copy).data(), copy.bytes);
            std::ranges::copy(window(around_), window(seen_).begin());
            copy_from_device(part(seen_, copy), memory_, copy.offset);
        });
    }

   private:
    template <class Make>
    DataCheck check(DataCheck result, DataShape const& shape, Make&& make) {
        for (DataCopy const& copy : shape.copies) {
            first_ = copy.offset - beside;
            window_ = copy.bytes + 2 * beside;
            prepare(copy);
            make(copy);
            ++result.copies;
            auto const wrong = wrong_byte(copy);
            if (!wrong) continue;
            ++result.failed;
            if (!result.first) result.first = wrong;
        }
        return result;
    }

    void prepare(DataCopy const& copy) {
        if (around_.empty()) around_.resize(memory_size);
        fill_data(window(around_), ++seed_);
        fill_data(part(pattern_, copy), ++seed_);
        std::ranges::copy(window(around_), window(expected_).begin());
        std::ranges::copy(part(pattern_, copy), part(expected_, copy).begin());
        driver_.to_device(at(first_), window(around_).data(), window_);
    }

    [[nodiscard]] std::optional<WrongByte> wrong_byte(DataCopy const& copy) {
        auto const expected = window(expected_);
        auto const seen = window(seen_);
        auto const [wanted, had] = std::ranges::mismatch(expected, seen);
        if (wanted == expected.end()) return std::nullopt;
        return WrongByte{copy.offset, copy.bytes,
                         first_ + static_cast<std::size_t>(wanted - expected.begin()),
                         std::to_integer<unsigned>(*wanted), std::to_integer<unsigned>(*had)};
    }

    [[nodiscard]] static std::span<std::byte> part(std::vector<std::byte>& of,
                                                   DataCopy const& copy) {
        return std::span(of).subspan(copy.offset, copy.bytes);
    }
    [[nodiscard]] std::span<std::byte> window(std::vector<std::byte>& of) const {
        return std::span(of).subspan(first_, window_);
    }
    [[nodiscard]] void* at(std::size_t offset) const {
        return static_cast<std::byte*>(memory_.device_ptr()) + offset;
    }

    DriverCopies& driver_;
    Memory memory_;
    // Each is as large as the memory; only the parts around the copies are used.
    std::vector<std::byte> pattern_;
    std::vector<std::byte> expected_;
    std::vector<std::byte> seen_;
    std::vector<std::byte> around_;
    std::size_t first_ = 0;   // of the window that is compared
    std::size_t window_ = 0;  // bytes
    std::uint32_t seed_ = 0;
};

std::string verdict(DataCheck const& check) {
    if (!check.first) return fmt::format("{} copies", check.copies);
    WrongByte const& wrong = *check.first;
    return fmt::format(
        "{} of {} copies, first of {} bytes at {}: byte {} is {:#04x} and not {:#04x}",
        check.failed, check.copies, wrong.bytes, wrong.offset, wrong.at, wrong.seen,
        wrong.expected);
}

}  // namespace

std::vector<DataCheck> check_mapping_data(Device const& device, DriverCopies& driver,
                                          Progress const& progress) {
    MappingData data(device, driver);
    auto const shapes = data_shapes();
    std::vector<DataCheck> checks;
    for (std::size_t i = 0; i < shapes.size() && !interrupted(); ++i) {
        for (detail::StoreTraits const& each : detail::store_table()) {
            if (supported(each.kind)) checks.push_back(data.to_device(shapes[i], each.kind));
        }
        checks.push_back(data.to_cpu(shapes[i]));
        progress(static_cast<double>(i + 1) / static_cast<double>(shapes.size()));
    }
    return checks;
}

std::vector<DataCheck> check_mapping_data(Device const& device, Progress const& progress) {
    auto const driver = open_driver_copies(device);
    if (driver == nullptr) {
        throw UnsupportedError("verify --data",
                               "a GPU needs a build with nvcc (scripts/setup --cuda provides one)");
    }
    return check_mapping_data(device, *driver, progress);
}

nlohmann::json to_json(DataCheck const& check) {
    nlohmann::json value{{"direction", check.direction}, {"by", check.by},
                         {"shape", check.shape},         {"copies", check.copies},
                         {"failed", check.failed},       {"first", nullptr}};
    if (check.first) {
        value["first"] = {{"offset", check.first->offset},
                          {"bytes", check.first->bytes},
                          {"at", check.first->at},
                          {"expected", check.first->expected},
                          {"seen", check.first->seen}};
    }
    return value;
}

std::string data_table(std::vector<DataCheck> const& checks) {
    std::string text;
    for (DataCheck const& each : checks) {
        text += fmt::format("{:<7}{:<15}{:<11}{:<11}{}\n", each.first ? "FAILED" : "passed",
                            each.direction, each.by, each.shape, verdict(each));
    }
    auto const failed =
        std::ranges::count_if(checks, [](auto const& each) { return !!each.first; });
    return text + fmt::format("Total: {}, Passed: {}, Failed: {}\n", checks.size(),
                              checks.size() - static_cast<std::size_t>(failed), failed);
}

void require_no_failure(std::vector<DataCheck> const& checks) {
    auto const failed =
        std::ranges::count_if(checks, [](auto const& each) { return !!each.first; });
    if (failed != 0) {
        throw Error("verify --data", fmt::format("{} of {} checks failed", failed, checks.size()));
    }
}

}  // namespace carillon::tool
