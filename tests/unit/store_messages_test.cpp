// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_messages.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/expect_error.hpp"

namespace carillon::detail::store {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t head = 16;  // bytes of a header

Lent a_lent() {
    Lent lent;
    lent.buffer = 7;
    lent.name = "prices";
    lent.bytes = 1000;
    lent.sealed = true;
    lent.source = MemorySource::vulkan;
    lent.uuid.emplace();
    lent.uuid->fill(0xab);
    lent.write_combining = true;
    lent.memory = 9;
    lent.memory_bytes = 65536;
    lent.descriptor = true;
    return lent;
}

std::size_t descriptors_of(Message const& message) {
    auto const* lent = std::get_if<Lent>(&message);
    if (std::holds_alternative<Shown>(message)) return 1;
    return lent != nullptr && lent->descriptor ? 1 : 0;
}

template <class T>
Bytes with(Message const& message, std::size_t at, T value) {
    Bytes bytes = encode(1, message);
    EXPECT_LE(at + sizeof(T), bytes.size());
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return bytes;
}

void expect_refused(Bytes const& bytes, std::string const& why, std::size_t descriptors = 0) {
    CARILLON_EXPECT_ERROR(decode(bytes, descriptors), ProtocolError, why);
}

std::vector<Message> all_messages() {
    Lent known = a_lent();
    known.descriptor = false;
    known.uuid.reset();
    return {Hello{"a client"},
            Welcome{1, 2, "store"},
            Create{"", 1, true},
            Create{"prices", std::uint64_t{1} << 40, false},
            Get{7, ""},
            Get{0, "prices"},
            a_lent(),
            known,
            Seal{7},
            Release{7},
            Forget{9},
            Remove{7, ""},
            Remove{0, "prices"},
            Done{},
            Done{9},
            Next{0},
            Listed{},
            Listed{7, "prices", 1000, 65536, true, true, 3, 4, 5},
            Watch{},
            Watch{SealedNews::none},
            Watch{SealedNews::buffers},
            Watch{SealedNews::none, 7},
            Sealed{7, "prices", 1000, 2},
            Refused{RefusalReason::name_taken, "there is one"},
            Show{7},
            Shown{9},
            Unmapped{7, "no memory"},
            Missed{3}};
}

TEST(StoreMessagesTest, eachComesAsItWasSent) {
    for (Message const& message : all_messages()) {
        Bytes const bytes = encode(11, message);
        Decoded const decoded = decode(bytes, descriptors_of(message));
        EXPECT_EQ(decoded.id, 11U);
        EXPECT_TRUE(decoded.message == message) << "kind " << message.index();
        EXPECT_EQ(encode(11, decoded.message), bytes);
    }
}

TEST(StoreMessagesTest, noneIsShorterOrLonger) {
    for (Message const& message : all_messages()) {
        Bytes bytes = encode(1, message);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            CARILLON_EXPECT_ERROR(decode(std::span(bytes).first(size), descriptors_of(message)),
                                  ProtocolError, "");
        }
        bytes.push_back({});
        CARILLON_EXPECT_ERROR(decode(bytes, descriptors_of(message)), ProtocolError, "");
    }
}

TEST(StoreMessagesTest, ofAnotherProgramOrVersion) {
    Bytes const hello = encode(1, Hello{"a"});
    expect_refused(with(Hello{"a"}, 0, std::uint32_t{0x4e4c5243}), "magic");
    CARILLON_EXPECT_ERROR(decode(with(Hello{"a"}, 4, std::uint16_t{6}), 0), VersionError,
                          "version 6");
    expect_refused(with(Hello{"a"}, 6, std::uint16_t{0}), "kind");
    expect_refused(with(Hello{"a"}, 6, std::uint16_t{20}), "kind");
    expect_refused(hello, "descriptors: 1", 1);
}

TEST(StoreMessagesTest, membersThatCannotBe) {
    expect_refused(with(Create{"", 1}, head + 64, std::uint64_t{0}), "bytes");
    expect_refused(with(Create{"", 1}, head + 64, (std::uint64_t{1} << 40) + 1), "bytes");
    expect_refused(with(Create{"", 1}, head + 72, std::uint8_t{2}), "host_memory");
    expect_refused(with(Get{7, ""}, head, std::uint64_t{0}), "which");
    expect_refused(with(Get{0, "a"}, head, std::uint64_t{1}), "which");
    expect_refused(with(Get{0, "a"}, head + 8, '\n'), "control character");
    expect_refused(with(Seal{1}, head, std::uint64_t{0}), "buffer");
    expect_refused(with(Forget{1}, head, std::uint64_t{0}), "memory");
    expect_refused(with(Watch{}, head, std::uint8_t{3}), "news");
    expect_refused(with(Show{1}, head, std::uint64_t{0}), "buffer");
    expect_refused(with(Shown{1}, head, std::uint64_t{0}), "memory", 1);
    expect_refused(with(Unmapped{1, "a"}, head, std::uint64_t{0}), "buffer");
    expect_refused(with(Unmapped{1, "a"}, head + 8, '\n'), "control character");
    expect_refused(with(Missed{1}, head, std::uint64_t{0}), "count");
    expect_refused(encode(1, Shown{9}), "descriptors: 0 came with it, not 1");
    Lent lent = a_lent();
    lent.memory_bytes = 999;
    CARILLON_EXPECT_ERROR(encode(1, lent), UsageError, "the memory has fewer");
    expect_refused(encode(1, a_lent()), "descriptors: 0 came with it, not 1");
    lent = a_lent();
    lent.descriptor = false;
    expect_refused(encode(1, lent), "descriptors: 1 came with it, not 0", 1);
}

}  // namespace
}  // namespace carillon::detail::store
