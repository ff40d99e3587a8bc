// SPDX-License-Identifier: Apache-2.0
#include "serving/client_messages.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/expect_error.hpp"

namespace carillon::detail {
namespace {

using std::chrono_literals::operator""ms;
using Bytes = std::vector<std::byte>;

constexpr std::size_t header = 16;
constexpr std::size_t name = 64;
constexpr std::size_t type = 4 + 4 + 8 + 8 + 4 + name;

Attach an_attach() {
    return {"quotes",
            ObjectKind::kernel,
            {24, 8, 0x1234, 0, 1, "Quote"},
            {16, 4, 0x5678, 0x9abc, 1, "Fill"},
            true};
}

Attached an_attached() {
    Attached attached;
    attached.lease = 7;
    attached.memory.source = MemorySource::memfd;
    attached.memory.uuid.emplace();
    attached.memory.uuid->fill(0xab);
    attached.memory.bytes = 1U << 20;
    attached.host_bytes = 4096;
    attached.shape = {256, 2, 1};
    attached.first = Sequence{1} << 63;
    attached.blocks = 132;
    attached.in_pairs = attached.read_back = true;
    return attached;
}

LentBuffer a_lent() {
    LentBuffer lent;
    lent.info.id = 7;
    lent.info.name = "prices";
    lent.info.size = 1000;
    lent.info.sealed = true;
    lent.memory.source = MemorySource::vulkan;
    lent.memory.uuid.emplace();
    lent.memory.uuid->fill(0xab);
    lent.memory.write_combining = true;
    lent.memory_number = 9;
    lent.memory.bytes = 65536;
    lent.descriptor = true;
    return lent;
}

// All members of a message, or of a part of one. One that is left out does not compile, and one
// that the list of fields forgets is not alike afterwards.
template <class Of, class... Each>
concept IsOneOf = (std::is_same_v<Of, Each> || ...);

template <class Of>
requires IsOneOf<Of, Hello, Welcome, Detach, Drained, GetBuffer, SealBuffer, ReleaseBuffer,
                 ForgetMemory, RemoveBuffer, BufferDone, NextBuffer, ShowMemory, ShownMemory,
                 MissedBuffers>
auto members_of(Of const& of) {
    auto const& [a] = of;
    return std::tie(a);
}
template <class Of>
requires IsOneOf<Of, Refused, Ended, Look, UnmappedBuffer, WatchBuffers, BufferKey, BlockBeats>
auto members_of(Of const& of) {
    auto const& [a, b] = of;
    return std::tie(a, b);
}
template <class Of>
requires IsOneOf<Of, Mapped, Notice, CreateBuffer>
auto members_of(Of const& of) {
    auto const& [a, b, c] = of;
    return std::tie(a, b, c);
}
template <class Of>
requires IsOneOf<Of, WireMemory, ConnectedOwner, StoreStatus>
auto members_of(Of const& of) {
    auto const& [a, b, c, d] = of;
    return std::tie(a, b, c, d);
}
template <class Of>
requires IsOneOf<Of, Attach, LentBuffer>
auto members_of(Of const& of) {
    auto const& [a, b, c, d, e] = of;
    return std::tie(a, b, c, d, e);
}
auto members_of(MessageType const& of) {
    auto const& [a, b, c, d, e, f] = of;
    return std::tie(a, b, c, d, e, f);
}
template <class Of>
requires IsOneOf<Of, Seen, ServedBlock>
auto members_of(Of const& of) {
    auto const& [a, b, c, d, e, f, g, h] = of;
    return std::tie(a, b, c, d, e, f, g, h);
}
auto members_of(Attached const& of) {
    auto const& [a, b, c, d, e, f, g, h, i, j, k] = of;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
}

template <class Of>
bool alike(Of const& one, Of const& other) {
    if constexpr (requires { members_of(one); }) {
        return [&]<std::size_t... i>(std::index_sequence<i...> /*places*/) {
            return (alike(std::get<i>(members_of(one)), std::get<i>(members_of(other))) && ...);
        }
        (std::make_index_sequence<std::tuple_size_v<decltype(members_of(one))>>());
    } else if constexpr (requires { one.has_value(); }) {
        return one.has_value() == other.has_value() && (!one || alike(*one, *other));
    } else {
        return one == other;
    }
}
bool alike(Message const& one, Message const& other) {
    return one.index() == other.index() &&
           std::visit(
               [&](auto const& it) {
                   return alike(it, std::get<std::decay_t<decltype(it)>>(other));
               },
               one);
}

void expect_round_trip(Message const& message) {
    Bytes const bytes = encode(11, message);
    Decoded const decoded = decode(bytes, descriptors_of(message));
    EXPECT_EQ(decoded.id, 11U);
    EXPECT_TRUE(alike(decoded.message, message)) << "kind " << message.index();
    EXPECT_EQ(encode(11, decoded.message), bytes);
}

// The bytes of a message, with `value` at one place.
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

std::vector<Message> messages_of_buffers() {
    LentBuffer known = a_lent();
    known.descriptor = false;
    known.memory.uuid.reset();
    return {CreateBuffer{"", 1, true},
            CreateBuffer{"prices", std::uint64_t{1} << 40, false},
            GetBuffer{{7}},
            GetBuffer{{0, "prices"}},
            a_lent(),
            known,
            SealBuffer{7},
            ReleaseBuffer{7},
            ForgetMemory{9},
            RemoveBuffer{{7}},
            RemoveBuffer{{0, "prices"}},
            BufferDone{},
            BufferDone{9},
            NextBuffer{0},
            BufferInfo{},
            BufferInfo{7, "prices", 1000, 65536, true, true, 3, 4, 5},
            WatchBuffers{},
            WatchBuffers{SealedNews::none},
            WatchBuffers{SealedNews::buffers},
            WatchBuffers{SealedNews::none, 7},
            SealedBuffer{7, "prices", 1000, 2},
            ShowMemory{7},
            ShownMemory{9},
            UnmappedBuffer{7, "no memory"},
            MissedBuffers{3}};
}

TEST(ClientMessagesTest, everyKindComesAsItWasSent) {
    expect_round_trip(Hello{"feed"});
    expect_round_trip(Welcome{{"pricer", 4711, 0x123456789abcdef0}});
    expect_round_trip(an_attach());
    expect_round_trip(an_attached());
    expect_round_trip(Mapped{7, true, ""});
    expect_round_trip(Mapped{7, false, "no Vulkan"});
    expect_round_trip(Refused{RefusalReason::full, "64 clients already"});
    expect_round_trip(Detach{7});
    expect_round_trip(Notice{"quotes", KernelState::draining, ""});
    expect_round_trip(Drained{0xffffffff});
    expect_round_trip(Look{3, 131});
    expect_round_trip(Seen{2,
                           "quotes",
                           ObjectKind::kernel,
                           KernelState::draining,
                           132,
                           {BlockActivity::stuck,
                            "feed",
                            4711,
                            1000,
                            7ms,
                            {6, 5, 4, 3, 2, 1},
                            {16, 15, 14, 13, 12, 11},
                            {22, 23ms}},
                           true,
                           StoreStatus{4, 3, 262144, 1U << 20U}});
    expect_round_trip(Seen{});
    expect_round_trip(Ended{7, "it runs backwards"});
    Attached without_host = an_attached();
    without_host.host_bytes = 0;
    expect_round_trip(without_host);
    for (Message const& message : messages_of_buffers()) expect_round_trip(message);
}

TEST(ClientMessagesTest, everyFlagIsItsOwn) {
    for (bool Attached::*flag : {&Attached::in_pairs, &Attached::any_block, &Attached::read_back,
                                 &Attached::shares_processors}) {
        Attached attached = an_attached();
        attached.in_pairs = attached.read_back = false;
        attached.*flag = true;
        expect_round_trip(attached);
    }
    Attached combining = an_attached();
    combining.memory.write_combining = true;
    expect_round_trip(combining);
    Attached without = an_attached();
    without.memory.uuid.reset();
    expect_round_trip(without);
}

TEST(ClientMessagesTest, everyReasonStateAndSourceComes) {
    for (int i = 0; i <= static_cast<int>(RefusalReason::other); ++i) {
        expect_round_trip(Refused{static_cast<RefusalReason>(i), "text"});
    }
    for (int i = 0; i <= static_cast<int>(KernelState::failed); ++i) {
        expect_round_trip(Notice{"quotes", static_cast<KernelState>(i), "text"});
    }
    for (int i = 1; i <= static_cast<int>(MemorySource::memfd); ++i) {
        Attached attached = an_attached();
        attached.memory.source = static_cast<MemorySource>(i);
        expect_round_trip(attached);
    }
}

// Other builds read it: no member may move.
TEST(ClientMessagesTest, layoutIsAsItIsWritten) {
    Bytes const bytes = encode(0x0a0b0c0d, Detach{0x01020304});
    std::string const wanted("CRLN\x07\0\x07\0\x14\0\0\0\x0d\x0c\x0b\x0a\x04\x03\x02\x01", 20);
    EXPECT_EQ(std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size()), wanted);
    EXPECT_EQ(encode(1, Hello{"x"}).size(), header + name);
    EXPECT_EQ(encode(1, Welcome{{"x", 1, 1}}).size(), header + 12 + name);
    EXPECT_EQ(encode(1, an_attach()).size(), header + name + 1 + 2 * type + 1);
    EXPECT_EQ(encode(1, an_attached()).size(), header + 5 + 17 + 9 + 8 + 12 + 4 + 8 + 4 + 4);
    EXPECT_EQ(encode(1, Mapped{1, true, ""}).size(), header + 5 + 256);
    EXPECT_EQ(encode(1, Refused{}).size(), header + 1 + 256);
    EXPECT_EQ(encode(1, Notice{"x", KernelState::running, ""}).size(), header + name + 1 + 256);
    EXPECT_EQ(encode(1, Drained{1}).size(), header + 4);
    EXPECT_EQ(encode(1, Ended{1, ""}).size(), header + 4 + 256);
    EXPECT_EQ(encode(1, Look{1, 1}).size(), header + 8);
    EXPECT_EQ(encode(1, Seen{}).size(), header + 4 + name + 1 + 6 + name + 16 + 2 * 44 + 17 + 33);
}

TEST(ClientMessagesTest, magicOfAnotherProtocolIsRefused) {
    expect_refused(with(Detach{1}, 0, 'X'), "header: magic: ");
}

TEST(ClientMessagesTest, otherVersionIsAnErrorOfItsOwnThatNamesBoth) {
    Bytes bytes = with(Detach{1}, 4, std::uint16_t{8});
    CARILLON_EXPECT_ERROR(decode(bytes, 0), VersionError, "version 8 of the messages, this one ha");
    CARILLON_EXPECT_ERROR(decode(bytes, 0), VersionError, "this one has 7");
    bytes.resize(6);  // for any text behind it
    CARILLON_EXPECT_ERROR(decode(bytes, 5), VersionError, "version 8");
}

// Until version 5 stores had messages of their own, under another magic number.
TEST(ClientMessagesTest, messageOfAFormerStoreIsOfAnotherVersion) {
    Bytes bytes = with(Detach{1}, 4, std::uint16_t{3});
    std::memcpy(bytes.data(), "CRST", 4);
    CARILLON_EXPECT_ERROR(decode(bytes, 0), VersionError,
                          "version 3 of the messages of a store, this one has 7");
    try {
        (void)decode(bytes, 0);
    } catch (VersionError const& error) {
        Bytes const answer = encode(0, Refused{RefusalReason::version, ""}, error.magic());
        EXPECT_EQ(std::memcmp(answer.data(), "CRST\x07", 5), 0);
    }
}

TEST(ClientMessagesTest, unknownKindIsRefused) {
    expect_refused(with(Detach{1}, 6, std::uint16_t{0}), "header: kind: 0 is not from 1 to 28");
    expect_refused(with(Detach{1}, 6, std::uint16_t{29}), "header: kind: 29 is not from 1 to 28");
}

TEST(ClientMessagesTest, messageThatIsCutAnywhereIsRefused) {
    std::vector<Message> messages = messages_of_buffers();
    messages.insert(messages.end(), {an_attach(), an_attached()});
    for (Message const& message : messages) {
        Bytes const whole = encode(1, message);
        for (std::uint32_t size = 0; size < whole.size(); ++size) {
            Bytes cut(whole.begin(), whole.begin() + size);
            EXPECT_THROW((void)decode(cut, descriptors_of(message)), ProtocolError);
            if (size < 12) continue;
            std::memcpy(cut.data() + 8, &size, sizeof(size));  // and says so
            expect_refused(cut, "the message ends inside", descriptors_of(message));
        }
    }
    expect_refused({}, "header: magic: the message ends inside");
}

TEST(ClientMessagesTest, sizeThatDoesNotMatchIsRefused) {
    expect_refused(with(Detach{1}, 8, 21), "header: size: the header says 21 bytes, but 20 came");
    Bytes longer = with(Detach{1}, 8, 21);
    longer.resize(21);
    expect_refused(longer, "Detach: size: 1 bytes too many");
}

TEST(ClientMessagesTest, numberOfDescriptorsIsThatOfTheKind) {
    for (std::size_t const wrong : {0U, 1U, 3U}) {
        expect_refused(encode(1, an_attached()),
                       "Attached: descriptors: " + std::to_string(wrong) + " came with it, not 2",
                       wrong);
    }
    expect_refused(encode(1, Hello{"x"}), "Hello: descriptors: 1 came with it, not 0", 1);
}

TEST(ClientMessagesTest, badNamesAreRefused) {
    Bytes endless = encode(1, Hello{std::string(63, 'x')});
    endless.back() = std::byte{'x'};
    expect_refused(endless, "Hello: name: the text has no end");
    expect_refused(with(Hello{"x"}, header + 63, 'x'), "name: bytes follow the end of the text");
    expect_refused(with(Hello{"x"}, header, '\0'), "Hello: name: the name is empty");
    for (char const control : {'\x01', '\n', '\x1b', '\x7f'}) {
        expect_refused(with(Hello{"xyz"}, header + 1, control), "name: byte 1, 0x");
    }
    std::string const csi = "\xc2\x9b";  // which a terminal obeys as ESC [
    for (std::string const& bad :
         {csi, std::string("\xfc"), std::string("\xe2\x82"), std::string("\xc0\xaf"),
          std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"), std::string("\x80")}) {
        auto bytes = encode(1, Hello{"abcdef"});
        std::memcpy(bytes.data() + header + 1, bad.data(), bad.size());
        expect_refused(bytes, "name: byte 1, 0x");
        CARILLON_EXPECT_ERROR(encode(1, Hello{"a" + bad}), UsageError, "not UTF-8");
    }
    for (char const* good : {"\xc2\xa0", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x94\x94"}) {
        expect_round_trip(Hello{good});
    }
    expect_round_trip(
        Hello{"gr\xc3\xb6\xc3\x9f"
              "e"});
    expect_refused(with(an_attach(), header, '\n'), "Attach: object: byte 0, 0x0a, is a control");
}

TEST(ClientMessagesTest, badTextsAreRefused) {
    expect_refused(with(Refused{}, header + 1 + 255, 'x'), "Refused: text: bytes follow");
    expect_refused(with(Notice{"x", KernelState::failed, "text"}, header + name + 1, '\n'),
                   "Notice: text: byte 0, 0x0a, is a control character");
    expect_refused(with(Mapped{1, true, ""}, header + 5, 'x'),
                   "Mapped: text: the text is not empty");
}

TEST(ClientMessagesTest, badTypesAreRefused) {
    std::size_t const request = header + name + 1;
    for (auto const& [at, which] : {std::pair(request, std::string("Attach: request")),
                                    std::pair(request + type, std::string("Attach: reply"))}) {
        expect_refused(with(an_attach(), at, 0), which + ".bytes: 0 is not from 1 to 4096");
        expect_refused(with(an_attach(), at, 4097), which + ".bytes: 4097 is not from");
        expect_refused(with(an_attach(), at + 4, 0), which + ".alignment: 0 is not from");
        expect_refused(with(an_attach(), at + 4, 12),
                       which + ".alignment: 12 is not a power of two");
        expect_refused(with(an_attach(), at + 4, 8192), which + ".alignment: 8192 is not from");
        expect_refused(with(an_attach(), at + 24, 0),
                       which + ".slot_lines: 0 is not from 1 to 128");
        expect_refused(with(an_attach(), at + 28, '\0'), which + ".name: ");
    }
    expect_refused(with(an_attach(), header + name + 1 + 2 * type, '\2'),
                   "Attach: host_memory: 2 is not from 0 to 1");
    expect_refused(with(an_attach(), header + name, '\7'), "Attach: kind: 7 is not from 0 to 6");
}

// Sets a field of Attached to a value that it must not have.
template <class T>
void expect_bad(std::size_t at, T value, std::string const& why) {
    expect_refused(with(an_attached(), header + at, value), "Attached: " + why, 2);
}

TEST(ClientMessagesTest, badFieldsOfWhatIsLentAreRefused) {
    expect_bad(0, 0, "lease: 0 is not from 1");
    expect_bad(4, '\0', "source: 0 is not from 1 to 5");
    expect_bad(4, '\6', "source: 6 is not from");
    expect_bad(5, '\2', "uuid: 2 is not from 0 to 1");
    expect_bad(5, '\0', "uuid: 171 is not from 0 to 0");  // bytes of one that is not there
    expect_bad(22, std::uint64_t{0}, "memory_bytes: 0 is not from 1");
    expect_bad(22, (std::uint64_t{1} << 41) + 1, "memory_bytes: 2199023255553 is not");
    expect_bad(30, '\2', "write_combining: 2 is not");
    expect_bad(31, ~std::uint64_t{0}, "host_bytes: 18446744073709551615 is not");
    for (std::uint32_t const capacity : {0U, 1U, 1U << 21, ~0U}) {
        expect_bad(39, capacity, "shape.capacity: " + std::to_string(capacity) + " is not from 2");
    }
    expect_bad(39, 6, "shape.capacity: 6 is not a power of two");
    expect_bad(43, 0, "shape.request_lines: 0 is not from 1 to 128");
    expect_bad(47, 129, "shape.reply_lines: 129 is not from 1 to 128");
    expect_bad(55, std::uint64_t{0}, "first: 0 is not from 1");
    expect_bad(55, (Sequence{1} << 63) + 1, "first: 9223372036854775809 is not from");
    expect_bad(63, 0, "blocks: 0 is not from 1 to 65536");
    expect_bad(63, 65537, "blocks: 65537 is not from");
    expect_bad(67, '\2', "in_pairs: 2 is not");
    expect_bad(68, '\2', "any_block: 2 is not");
    expect_bad(69, '\2', "read_back: 2 is not");
    expect_bad(70, '\xff', "shares_processors: 255 is not");
}

TEST(ClientMessagesTest, badFieldsOfTheOthersAreRefused) {
    Welcome const welcome{{"x", 1, 1}};
    expect_refused(with(welcome, header, 0), "Welcome: process: 0 is not from 1");
    expect_refused(with(welcome, header, 1U << 31), "Welcome: process: -2147483648 is not");
    expect_refused(with(welcome, header + 4, std::uint64_t{0}), "Welcome: instance: 0 is not");
    expect_refused(with(Mapped{1, false, "x"}, header, 0), "Mapped: lease: 0 is not from 1");
    expect_refused(with(Mapped{1, false, "x"}, header + 4, '\2'), "Mapped: mapped: 2 is not");
    expect_refused(with(Refused{}, header, '\x0b'), "Refused: reason: 11 is not from 0 to 10");
    expect_refused(with(Detach{1}, header, 0), "Detach: lease: 0 is not from 1");
    expect_refused(with(Notice{"x", KernelState::running, ""}, header + name, '\5'),
                   "Notice: state: 5 is not from 0 to 4");
    expect_refused(with(Drained{1}, header, 0), "Drained: lease: 0 is not from 1");
}

TEST(ClientMessagesTest, badFieldsOfBuffersAreRefused) {
    expect_refused(with(CreateBuffer{"", 1}, header + 64, std::uint64_t{0}), "bytes");
    expect_refused(with(CreateBuffer{"", 1}, header + 64, (std::uint64_t{1} << 40) + 1), "bytes");
    expect_refused(with(CreateBuffer{"", 1}, header + 72, std::uint8_t{2}), "host_memory");
    expect_refused(with(GetBuffer{{7}}, header, std::uint64_t{0}), "a number or a name");
    expect_refused(with(GetBuffer{{0, "a"}}, header, std::uint64_t{1}), "a number or a name");
    expect_refused(with(GetBuffer{{0, "a"}}, header + 8, '\n'), "control character");
    expect_refused(with(SealBuffer{1}, header, std::uint64_t{0}), "buffer");
    expect_refused(with(ForgetMemory{1}, header, std::uint64_t{0}), "memory");
    expect_refused(with(WatchBuffers{}, header, std::uint8_t{3}), "news");
    expect_refused(with(ShowMemory{1}, header, std::uint64_t{0}), "buffer");
    expect_refused(with(ShownMemory{1}, header, std::uint64_t{0}), "memory", 1);
    expect_refused(with(UnmappedBuffer{1, "a"}, header, std::uint64_t{0}), "buffer");
    expect_refused(with(UnmappedBuffer{1, "a"}, header + 8, '\n'), "control character");
    expect_refused(with(MissedBuffers{1}, header, std::uint64_t{0}), "count");
    expect_refused(encode(1, ShownMemory{9}), "descriptors: 0 came with it, not 1");
    LentBuffer lent = a_lent();
    lent.memory.bytes = 999;
    CARILLON_EXPECT_ERROR(encode(1, lent), UsageError, "the memory is smaller");
    expect_refused(encode(1, a_lent()), "descriptors: 0 came with it, not 1");
    lent = a_lent();
    lent.descriptor = false;
    expect_refused(encode(1, lent), "descriptors: 1 came with it, not 0", 1);
}

TEST(ClientMessagesTest, whatWouldBeRefusedIsNotSent) {
    CARILLON_EXPECT_ERROR(encode(1, Hello{}), UsageError, "Hello: name: the name is empty");
    CARILLON_EXPECT_ERROR(encode(1, Hello{"a\nb"}), UsageError, "the name has a control character");
    CARILLON_EXPECT_ERROR(encode(1, Hello{std::string("a\0b", 3)}), UsageError,
                          "has a control char");
    CARILLON_EXPECT_ERROR(encode(1, Detach{0}), UsageError, "Detach: lease: 0 is not");
    CARILLON_EXPECT_ERROR(encode(1, Attached{}), UsageError, "Attached: lease");
    CARILLON_EXPECT_ERROR(encode(1, Mapped{1, true, "x"}), UsageError, "the text is not empty");
}

TEST(ClientMessagesTest, textsAreMadeFitToBeSent) {
    auto const sent = [](std::string text) {
        Decoded const decoded = decode(encode(1, Refused{RefusalReason::other, text}), 0);
        return std::get<Refused>(decoded.message).text;
    };
    EXPECT_EQ(sent("two\nlines\x1b[2J"), "two lines [2J");
    EXPECT_EQ(sent("\xc2\x9b"
                   "2J, m\xfcller, \xe2\x82\xac"),
              "  2J, m ller, \xe2\x82\xac");
    EXPECT_EQ(sent(std::string(255, 'x')), std::string(255, 'x'));
    EXPECT_EQ(sent(std::string(256, 'x')), std::string(255, 'x'));
    EXPECT_EQ(sent(std::string(254, 'x') + "\xc3\xb6"), std::string(254, 'x'));  // not half of it
    Hello const cut = std::get<Hello>(decode(encode(1, Hello{std::string(64, 'n')}), 0).message);
    EXPECT_EQ(cut.name, std::string(63, 'n'));
}

TEST(ClientMessagesTest, namesOfTypesThatDifferAnywhereAreSentAsTwo) {
    EXPECT_EQ(sent_name("desk::Tick"), "desk::Tick");
    EXPECT_EQ(sent_name(std::string(63, 'n')), std::string(63, 'n'));
    std::string const tick = sent_name(std::string(63, 'n') + "Tick");
    EXPECT_EQ(tick.size(), 63U);
    EXPECT_EQ(tick.substr(0, 47), std::string(46, 'n') + "~");
    EXPECT_EQ(tick, sent_name(std::string(63, 'n') + "Tick"));
    EXPECT_NE(tick, sent_name(std::string(63, 'n') + "Quote"));
    EXPECT_NE(tick, sent_name(std::string(64, 'n') + "Tick"));
}

TEST(ClientMessagesTest, nameOfATypeIsCutBeforeACharacterThatItHasNoRoomFor) {
    std::string const cut = sent_name(std::string(45, 'n') + "\xc3\xa9" + std::string(40, 'n'));
    EXPECT_EQ(cut.substr(0, 46), std::string(45, 'n') + "~");
    EXPECT_EQ(cut.size(), 62U);
    Attach attach = an_attach();
    attach.request.name = cut;
    expect_round_trip(attach);
}

}  // namespace
}  // namespace carillon::detail
