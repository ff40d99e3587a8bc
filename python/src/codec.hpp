// SPDX-License-Identifier: Apache-2.0
// Messages between Python's values and bytes, one at a time, with as few calls of Python as there
// can be: a call waits for it before its request goes, and after its reply has come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "held_bytes.hpp"

namespace carillon::python {

// The bytes of one message. Made and destroyed with the GIL.
class Message {
   public:
    // A mailbox's value is the longest.
    static constexpr std::size_t most = 4096;

    [[nodiscard]] std::span<std::byte const> bytes() const { return bytes_; }
    // Makes room for so many bytes: the message. Throws UsageError if no message has so many.
    [[nodiscard]] std::byte* room(std::size_t size);
    // Takes the bytes of `object` itself, see HeldBytes.
    void hold(nb::handle object) {
        held_.emplace(object, HeldBytes::Use::read);
        bytes_ = held_->bytes();
    }

   private:
    std::array<std::byte, most> room_;  // not set to anything: it is long
    std::optional<HeldBytes> held_;
    std::span<std::byte const> bytes_;
};

// A number within a message: where it is, and what `struct` calls its type.
struct Member {
    std::size_t offset;
    char code;
};
// Members, as Python lists them.
using ListedMembers = std::vector<std::pair<std::size_t, std::string>>;
// The bytes of a message that no member has: where they begin, and how many they are.
using Gaps = std::vector<std::pair<std::size_t, std::size_t>>;

// One message type. Its subclasses in Python have the calls for many messages at once, and
// `_to_bytes(value)` and `_from_bytes(data)` for conversions in Python only.
class Codec {
   public:
    explicit Codec(std::size_t size) : size_(size) {}
    Codec(Codec const&) = delete;
    Codec& operator=(Codec const&) = delete;
    virtual ~Codec() = default;

    [[nodiscard]] std::size_t size() const { return size_; }
    // Raises what `value` raises, or Python's part of the codec.
    virtual void encode(nb::handle value, Message& into) const = 0;
    // Throws UsageError for bytes of another size.
    [[nodiscard]] nb::object decode(std::span<std::byte const> data) const;
    // The garbage collector calls it.
    virtual int traverse(visitproc visit, void* arg) const = 0;

   protected:
    void encode_in_python(nb::handle value, Message& into) const;
    [[nodiscard]] nb::object decode_in_python(std::span<std::byte const> data) const;

   private:
    [[nodiscard]] virtual nb::object value_of(std::span<std::byte const> data) const = 0;

    std::size_t size_;
};

// Messages that stay bytes.
class BytesMessages final : public Codec {
   public:
    using Codec::Codec;
    void encode(nb::handle value, Message& into) const override;
    int traverse(visitproc visit, void* arg) const override;

   private:
    [[nodiscard]] nb::object value_of(std::span<std::byte const> data) const override;
};

// Scalars of a NumPy dtype, or tuples of its members.
class RecordMessages final : public Codec {
   public:
    // `members`: set if all of it is one number, or numbers side by side; otherwise empty.
    RecordMessages(nb::object dtype, ListedMembers const& members, Gaps gaps);
    void encode(nb::handle value, Message& into) const override;
    int traverse(visitproc visit, void* arg) const override;

   private:
    [[nodiscard]] nb::object value_of(std::span<std::byte const> data) const override;

    // The records to come share so many bytes: a program that keeps one keeps them all.
    static constexpr std::size_t rows_bytes = 4096;
    void make_rows() const;

    nb::object dtype_;
    mutable nb::object array_;
    mutable std::span<std::byte> rows_;  // the part of it that nobody has yet
    std::vector<Member> members_;
    Gaps gaps_;
    bool is_number_ = false;  // and not a record of several
};

// Instances of a dataclass whose members are numbers.
class DataclassMessages final : public Codec {
   public:
    DataclassMessages(std::size_t size, nb::type_object owner, std::vector<nb::str> names,
                      ListedMembers const& members);
    void encode(nb::handle value, Message& into) const override;
    int traverse(visitproc visit, void* arg) const override;

   private:
    [[nodiscard]] nb::object value_of(std::span<std::byte const> data) const override;

    nb::type_object owner_;
    std::vector<nb::str> names_;
    std::vector<Member> members_;
};

}  // namespace carillon::python
