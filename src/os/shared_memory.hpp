// SPDX-License-Identifier: Apache-2.0
// Memory of this machine that processes share by its descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "carillon/memory.hpp"

namespace carillon::detail {

// A mapping of the first `size` bytes of a file, shared, and kept from children that are forked.
class SharedMapping {
   public:
    // Throws SystemError.
    SharedMapping(FileDescriptor const& file, std::size_t size);
    ~SharedMapping();
    SharedMapping(SharedMapping const&) = delete;
    SharedMapping& operator=(SharedMapping const&) = delete;

    [[nodiscard]] void* get() const { return where_; }

   private:
    std::size_t size_;
    void* where_;
};

// A memfd and its mapping. Its size is sealed: whoever has the descriptor could otherwise shorten
// it, and the others would fault where they touch it. What that does not keep anyone from is
// emptying pages (fallocate), which then are zeroes: hostile words, as any others.
class SharedMemory {
   public:
    // New, zeroed. Throws SystemError.
    explicit SharedMemory(std::size_t size);
    // Of another process, which has announced `size` bytes: nothing else is taken on trust. Throws
    // UsageError in the name of `call`: no sealed memfd, or one of another size; SystemError.
    SharedMemory(std::string_view call, FileDescriptor file, std::size_t size);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(mapping_.get()), size_};
    }
    [[nodiscard]] FileDescriptor const& descriptor() const { return file_; }
    // Another descriptor of it, to be given away. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const { return file_.duplicate(); }

   private:
    FileDescriptor file_;
    std::size_t size_;
    SharedMapping mapping_;
};

}  // namespace carillon::detail
