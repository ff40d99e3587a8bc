// SPDX-License-Identifier: Apache-2.0
#include "emulated/emulated_memory.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {
namespace {

// One list for each process: a child may register its copies of the bytes. Never deleted, since
// memory may be freed at any time.
struct RegisteredRanges {
    std::mutex mutex;
    std::map<std::byte*, std::size_t> sizes;  // by begin
};

bool overlap(std::span<std::byte const> one, std::span<std::byte const> other) {
    return one.data() < other.data() + other.size() && other.data() < one.data() + one.size();
}

class RegisteredRange final : public Allocation {
   public:
    explicit RegisteredRange(std::span<std::byte> bytes) {
        auto& [mutex, sizes] = PerProcess<RegisteredRanges>::get();
        std::lock_guard const lock(mutex);
        auto const after = sizes.lower_bound(bytes.data());
        bool taken = after != sizes.end() && overlap(bytes, {after->first, after->second});
        if (after != sizes.begin()) {
            auto const before = std::prev(after);
            taken = taken || overlap(bytes, {before->first, before->second});
        }
        if (taken) {
            throw UsageError(fmt::format("{} bytes at {}, of which some are registered already",
                                         bytes.size(), static_cast<void*>(bytes.data())));
        }
        sizes.emplace_hint(after, bytes.data(), bytes.size());
        host = device = bytes.data();
        size = bytes.size();
    }
    ~RegisteredRange() override {
        auto& [mutex, sizes] = PerProcess<RegisteredRanges>::get();
        std::lock_guard const lock(mutex);
        sizes.erase(static_cast<std::byte*>(host));
    }
    RegisteredRange& operator=(RegisteredRange&&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("memory of the caller's own has no file descriptor");
    }
};

class MemfdAllocation final : public Allocation {
   public:
    explicit MemfdAllocation(std::size_t bytes) : of_host_(bytes) {
        size = bytes;
        host = of_host_.bytes().data();
        // The thread sanitizer follows addresses: it needs one mapping to see both sides of a ring.
        if (CARILLON_THREAD_SANITIZER == 0) of_device_.emplace(of_host_.descriptor(), bytes);
        device = of_device_ ? of_device_->get() : host;
    }

    FileDescriptor export_fd() const override { return of_host_.duplicate(); }

   private:
    SharedMemory of_host_;
    std::optional<SharedMapping> of_device_;
};

}  // namespace

std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes) {
    return std::make_unique<RegisteredRange>(bytes);
}

std::unique_ptr<Allocation> allocate_memfd(std::size_t size) {
    require_machine_memory(size);
    return std::make_unique<MemfdAllocation>(size);
}

}  // namespace carillon::detail
