// SPDX-License-Identifier: Apache-2.0
#include "emulated/registered_ranges.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "carillon/error.hpp"

namespace carillon::detail {

class RegisteredRanges::Ranges {
   public:
    // False where some of it is there already.
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
    std::map<std::uintptr_t, std::size_t> sizes_;  // by where they begin
};

class RegisteredRanges::Registered final : public Allocation {
   public:
    Registered(std::shared_ptr<Ranges> ranges, std::string_view call, std::span<std::byte> bytes)
        : ranges_(std::move(ranges)), begin_(reinterpret_cast<std::uintptr_t>(bytes.data())) {
        if (!ranges_->add(begin_, bytes.size())) {
            throw UsageError(call,
                             fmt::format("{} bytes at {}, of which some are registered already",
                                         bytes.size(), static_cast<void*>(bytes.data())));
        }
        host = device = bytes.data();
        size = bytes.size();
    }
    ~Registered() override { ranges_->remove(begin_); }
    Registered(Registered const&) = delete;
    Registered& operator=(Registered const&) = delete;

    FileDescriptor export_fd() const override {
        throw UnsupportedError("Memory::export_fd",
                               "memory of the caller's own has no file descriptor");
    }

   private:
    std::shared_ptr<Ranges> ranges_;
    std::uintptr_t begin_;
};

RegisteredRanges::RegisteredRanges() : ranges_(std::make_shared<Ranges>()) {}

std::unique_ptr<Allocation> RegisteredRanges::add(std::string_view call,
                                                  std::span<std::byte> bytes) const {
    return std::make_unique<Registered>(ranges_, call, bytes);
}

}  // namespace carillon::detail
