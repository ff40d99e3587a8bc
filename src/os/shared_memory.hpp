// SPDX-License-Identifier: Apache-2.0
// Memory of this machine that processes share by a descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "carillon/file_descriptor.hpp"

namespace carillon::detail {

enum class MapAccess : bool { read, read_write };

// A shared mapping of the first `size` bytes of a file, which forked children do not have.
class SharedMapping {
   public:
    // Throws SystemError.
    SharedMapping(FileDescriptor const& file, std::size_t size,
                  MapAccess access = MapAccess::read_write);
    // Maps new pages without a file, zeroed. Throws SystemError.
    explicit SharedMapping(std::size_t size);
    ~SharedMapping();
    SharedMapping& operator=(SharedMapping&&) = delete;

    [[nodiscard]] void* get() const { return where_; }

   private:
    std::size_t size_;
    void* where_;
};

// A new memfd of a fixed size, zeroed, which can be sealed against writing. Throws SystemError.
[[nodiscard]] FileDescriptor new_sealable_memory(std::size_t size);
// Prevents every process from writing to it; false if one still has it mapped for writing. Throws
// SystemError.
[[nodiscard]] bool seal_against_writing(FileDescriptor const& file);
[[nodiscard]] bool is_sealed_against_writing(FileDescriptor const& file) noexcept;
// Prevents new writers: processes that have it mapped for writing may go on, but no new such
// mapping is made, by any descriptor, and no call writes. Throws UnsupportedError if the system has
// no such seal (Linux before 5.1), SystemError.
void seal_against_new_writers(FileDescriptor const& file);
// Throws UsageError unless it is a memfd of a fixed size of `size` bytes; SystemError.
void require_shared_memory(FileDescriptor const& file, std::size_t size);

// A memfd and its mapping. Its size is sealed: otherwise any holder of the descriptor could shorten
// it, and the others would fault when they touch it. A holder can still empty pages (fallocate),
// which then are zeroes: hostile words like any others.
class SharedMemory {
   public:
    // New, zeroed. Throws SystemError.
    explicit SharedMemory(std::size_t size);
    // Memory of another process, which has announced `size` bytes; everything else is checked.
    // Throws UsageError unless it is a sealed memfd of that size; SystemError.
    SharedMemory(FileDescriptor file, std::size_t size, MapAccess access = MapAccess::read_write);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(mapping_.get()), size_};
    }
    [[nodiscard]] FileDescriptor const& descriptor() const { return file_; }
    // Another descriptor of it, to give away. Throws SystemError.
    [[nodiscard]] FileDescriptor duplicate() const { return file_.duplicate(); }

   private:
    FileDescriptor file_;
    std::size_t size_;
    SharedMapping mapping_;
};

// Throws SystemError, in the name of `call`, if this process may not have a file, or shared memory,
// of `size` bytes (RLIMIT_FSIZE): the system would end the process (SIGXFSZ).
void require_file_size(std::string_view call, std::size_t size);

}  // namespace carillon::detail
