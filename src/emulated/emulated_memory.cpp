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

class RegisteredRanges {
   public:
    // One list for each process: a child may register its copies of the bytes. Never deleted, since
    // memory may be freed at any time.
    static RegisteredRanges& get() { return PerProcess<RegisteredRanges>::get(); }

    // False if some of the range is there already.
    [[nodiscard]] bool add(std::uintptr_t begin, std::size_t size) {
        std::lock_guard const lock(mutex_);
        auto const after = sizes_.lower_bound(begin);
        if (after != sizes_.end() && after->first - begin < size) return false;
        if (after != sizes_.begin()) {
            auto const before = std::prev(after);
            if (begin - before->first < before->second) return false;
        }
        sizes_.emplace_hint(after, begin, size);
        return true;
    }
    void remove(std::uintptr_t begin) noexcept {
        std::lock_guard const lock(mutex_);
        sizes_.erase(begin);
    }

   private:
    std::mutex mutex_;
    std::map<std::uintptr_t, std::size_t> sizes_;  // by begin
};

class RegisteredRange final : public Allocation {
   public:
    explicit RegisteredRange(std::span<std::byte> bytes)
        : begin_(reinterpret_cast<std::uintptr_t>(bytes.data())) {
        if (!RegisteredRanges::get().add(begin_, bytes.size())) {
            throw UsageError(fmt::format("{} bytes at {}, of which some are registered already",
                                         bytes.size(), static_cast<void*>(bytes.data())));
        }
        host = device = bytes.data();
        size = bytes.size();
    }
    ~RegisteredRange() override { RegisteredRanges::get().remove(begin_); }
    RegisteredRange(RegisteredRange const&) = delete;
    RegisteredRange& operator=(RegisteredRange const&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("memory of the caller's own has no file descriptor");
    }

   private:
    std::uintptr_t begin_;
};

}  // namespace

std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes) {
    return std::make_unique<RegisteredRange>(bytes);
}

namespace {

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

std::unique_ptr<Allocation> allocate_memfd(std::size_t size) {
    require_machine_memory(size);
    return std::make_unique<MemfdAllocation>(size);
}

}  // namespace carillon::detail
