// SPDX-License-Identifier: Apache-2.0
// Memory of this machine that processes share by its descriptor.
#pragma once

#include <cstddef>
#include <span>

#include "carillon/detail/host/named_checks.hpp"
#include "carillon/file_descriptor.hpp"

namespace carillon::detail {

enum class MapAccess : bool { read, read_write };

// A mapping of the first `size` bytes of a file, shared, and kept from children that are forked.
class SharedMapping {
   public:
    // Throws SystemError.
    SharedMapping(FileDescriptor const& file, std::size_t size,
                  MapAccess access = MapAccess::read_write);
    // Of new pages of no file, zeroed. Throws SystemError.
    explicit SharedMapping(std::size_t size);
    ~SharedMapping();
    SharedMapping(SharedMapping const&) = delete;
    SharedMapping& operator=(SharedMapping const&) = delete;

    [[nodiscard]] void* get() const { return where_; }

   private:
    std::size_t size_;
    void* where_;
};

// A new memfd of a size that nobody can change, zeroed, which can be sealed against writing. Throws
// SystemError.
[[nodiscard]] FileDescriptor new_sealable_memory(std::size_t size);
// So that no process can write to it any more; false where one has it mapped for that still. Throws
// SystemError.
[[nodiscard]] bool seal_against_writing(FileDescriptor const& file);
[[nodiscard]] bool is_sealed_against_writing(FileDescriptor const& file) noexcept;
// So that whoever has it mapped for writing may go on, and nobody can write otherwise: no mapping
// for that is made any more, by whatever descriptor, and no call writes. Throws UnsupportedError
// where the system has no such seal (Linux before 5.1), SystemError.
void seal_against_new_writers(FileDescriptor const& file);
// Throws UsageError for what is no memfd of `size` bytes that nobody can
// change; SystemError.
void require_shared_memory(FileDescriptor const& file, std::size_t size);
CARILLON_WITH_CALL(require_shared_memory)

// A memfd and its mapping. Its size is sealed: whoever has the descriptor could otherwise shorten
// it, and the others would fault where they touch it. What that does not keep anyone from is
// emptying pages (fallocate), which then are zeroes: hostile words, as any others.
class SharedMemory {
   public:
    // New, zeroed. Throws SystemError.
    explicit SharedMemory(std::size_t size);
    // Of another process, which has announced `size` bytes: nothing else is taken on trust. Throws
    // UsageError: no sealed memfd, or one of another size; SystemError.
    SharedMemory(FileDescriptor file, std::size_t size, MapAccess access = MapAccess::read_write);

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
