// SPDX-License-Identifier: Apache-2.0
// Owners that are not what a client takes them for: of another version of the handshake, that
// refuse before they are asked, that fall silent, that answer late, whose names change hands. P:
// the owner, in this process, of which there is no more than its socket; C: a client, here too.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/false_owner.hpp"
#include "ipc/handlers.hpp"
#include "ipc/process.hpp"
#include "os/shared_memory.hpp"
#include "serving/client_messages.hpp"
#include "support/expect_error.hpp"
#include "support/held.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

RefusalReason refusal(std::function<void()> const& call) {
    try {
        call();
    } catch (RefusedError const& error) {
        return error.reason();
    } catch (std::exception const& error) {
        ADD_FAILURE() << error.what();
        return RefusalReason::other;
    }
    ADD_FAILURE() << "it was let in";
    return RefusalReason::other;
}

class FalseOwnerTest : public testing::Test {
   protected:
    [[nodiscard]] std::string path() const { return path_.get(); }
    [[nodiscard]] Connection connect() const { return Connection(path(), {.timeout = patience}); }

   private:
    SocketPath path_;
};

TEST_F(FalseOwnerTest, refusalIsHeardThoughNobodyHasAsked) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        detail::Refused const refused{RefusalReason::full, "no more"};
        EXPECT_TRUE(client.send("test", detail::encode(0, refused)));
    });
    Connection const connection = connect();
    std::this_thread::sleep_for(20ms);  // until it has most likely been heard
    EXPECT_EQ(refusal([&] { auto const channel = connection.channel<Ask, Told>(); }),
              RefusalReason::full);
}

TEST_F(FalseOwnerTest, ofAnotherVersionRefuses) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        (void)next_of(client);
        detail::Refused const refused{RefusalReason::version, "whatever that means there"};
        auto next_version = detail::encode(0, refused);
        next_version.at(sizeof(std::uint32_t)) = std::byte{detail::messages_version + 1};
        EXPECT_TRUE(client.send("test", next_version));
    });
    EXPECT_EQ(refusal([&] { (void)connect(); }), RefusalReason::version);
    CARILLON_EXPECT_ERROR(connect(), RefusedError, "Connection: refused (version): the other");
    CARILLON_EXPECT_ERROR(Store(path(), {.timeout = patience}), RefusedError,
                          "Store: refused (version): the other");
}

TEST_F(FalseOwnerTest, oneThatSaysNothingIsATimeout) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        (void)next_of(client);
        (void)next_of(client);  // which is C's end
    });
    CARILLON_EXPECT_ERROR(Connection(path(), {.timeout = 30ms}), TimeoutError, "Connection: ");
    CARILLON_EXPECT_ERROR(Store(path(), {.timeout = 30ms}), TimeoutError,
                          "Store: the owner has not answered");
}

TEST_F(FalseOwnerTest, longestTimeoutIsForEver) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        std::this_thread::sleep_for(10ms);
        say_welcome(client);
    });
    EXPECT_EQ(Connection(path(), {.timeout = std::chrono::nanoseconds::max()}).owner().process, 1);
}

// Catches a client that gives each answer of a report a timeout of its own.
TEST_F(FalseOwnerTest, reportWithoutAnEndIsATimeout) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        for (auto asked = next_of(client); asked.id != 0; asked = next_of(client)) {
            detail::Seen seen;
            seen.objects = seen.places = 1U << 16U;
            seen.object = "kernel";
            if (!client.send("test", detail::encode(asked.id, seen))) return;
        }
    });
    CARILLON_EXPECT_ERROR((void)Connection(path(), {.timeout = 100ms}).status(), TimeoutError,
                          "Connection::status");
}

// How many bytes of memory this process has.
std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Catches a client that keeps what an owner tells it of things that it has never asked for.
TEST_F(FalseOwnerTest, noticesOfWhatWasNotAskedForFillNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer keeps freed memory";
#endif
    constexpr unsigned notices = 10'000;
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        for (unsigned i = 0; i < notices; ++i) {
            detail::Notice const notice{fmt::format("{:063}", i), KernelState::draining,
                                        std::string(255, 'x')};
            auto const encoded = detail::encode(0, notice);
            EXPECT_TRUE(eventually([&] {
                try {
                    return client.send("test", encoded);
                } catch (SystemError const&) {  // C has not read the others yet
                    return false;
                }
            }));
        }
        detail::Seen nothing;
        nothing.objects = 0;
        EXPECT_TRUE(client.send("test", detail::encode(next_of(client).id, nothing)));
        (void)next_of(client);  // which is C's end
    });
    Connection const connection = connect();
    std::size_t const before = resident_bytes();
    EXPECT_TRUE(connection.status().objects.empty());
    EXPECT_LT(resident_bytes(), before + notices * 200U);
}

// A channel of `Ask` and `Told`, of which nothing is there yet.
detail::Attached a_channel() {
    detail::Attached attached;
    attached.lease = 1;
    attached.memory.source = MemorySource::memfd;
    attached.memory.bytes = attached.host_bytes = 1U << 20U;
    attached.shape = {8, 1, 1};
    return attached;
}

// Says welcome, lends that, and hears why it is not mapped.
FalseOwner::Serve lends(detail::Attached const& attached, std::vector<int> descriptors) {
    return [attached, descriptors = std::move(descriptors)](detail::UnixSocket const& client) {
        say_welcome(client);
        EXPECT_TRUE(client.send("test", detail::encode(next_of(client).id, attached), descriptors));
        auto const mapped = next_of(client);
        auto const* said = std::get_if<detail::Mapped>(&mapped.message);
        ASSERT_NE(said, nullptr);
        EXPECT_FALSE(said->mapped);
        EXPECT_NE(said->text, "");
    };
}

// With descriptors of nothing: they are not looked at.
TEST_F(FalseOwnerTest, slotsOfAnotherSizeAreNotMapped) {
    detail::Attached attached = a_channel();
    attached.shape = {8, 2, 1};
    FalseOwner const owner(path(), lends(attached, {0, 0}));
    Connection const connection = connect();
    CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), ProtocolError,
                          "the owner's slots have 2 and 1 lines, these types' 1 and 1");
}

TEST_F(FalseOwnerTest, memoryThatIsSmallerThanWhatIsInItIsNotMapped) {
    for (bool const in_device : {true, false}) {
        detail::Attached attached = a_channel();
        (in_device ? attached.memory.bytes : attached.host_bytes) = 64;
        FalseOwner const owner(path(), lends(attached, {0, 0}));
        CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), ProtocolError,
                              "bytes of memory for a channel that needs");
    }
    detail::Attached attached = a_channel();
    attached.host_bytes = 0;
    FalseOwner const owner(path(), lends(attached, {0}));
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), ProtocolError,
                          "1048576 and 0 bytes of memory for a channel that needs");
}

TEST_F(FalseOwnerTest, objectsOfOtherSizesAreNotMapped) {
    detail::Attached attached = a_channel();
    attached.shape = {8, 3, 3};
    struct Long {
        std::uint64_t word[20];
    };
    {
        FalseOwner const owner(path(), lends(attached, {0, 0}));
        CARILLON_EXPECT_ERROR((connect().ring<Long, Direction::to_device>("ring")), ProtocolError,
                              "lines");
    }
    attached = a_channel();
    FalseOwner const owner(path(), lends(attached, {0, 0}));
    CARILLON_EXPECT_ERROR((connect().chunk_ring<std::uint64_t>("chunks")), ProtocolError,
                          "chunks of 0 bytes");
}

// What has the size that was said, and another; or is no memory at all.
TEST_F(FalseOwnerTest, descriptorsOfSomethingElseAreNotMapped) {
    FileDescriptor const whole = detail::new_sealable_memory(1U << 20U);
    FileDescriptor const half = detail::new_sealable_memory(1U << 19U);
    Held const before = Held::now();
    for (auto const& each :
         {std::vector{half.get(), whole.get()}, std::vector{whole.get(), half.get()},
          std::vector{0, whole.get()}, std::vector{whole.get(), 0}}) {
        FalseOwner const owner(path(), lends(a_channel(), each));
        CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), UsageError,
                              "Connection::channel: ");
    }
    EXPECT_EQ(Held::now(), before);
}

TEST_F(FalseOwnerTest, descriptorsTooManyOrTooFewAreNonsense) {
    FileDescriptor const memory = detail::new_sealable_memory(1U << 20U);
    Held const before = Held::now();
    for (std::size_t const count : {0U, 1U, 3U, 8U}) {
        FalseOwner const owner(path(), [&](detail::UnixSocket const& client) {
            say_welcome(client);
            std::vector<int> const descriptors(count, memory.get());
            EXPECT_TRUE(
                client.send("test", detail::encode(next_of(client).id, a_channel()), descriptors));
            (void)next_of(client);  // which is C's end
        });
        CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), ProtocolError,
                              "descriptors: " + std::to_string(count) + " came with it, not 2");
    }
    EXPECT_EQ(Held::now(), before);
}

TEST_F(FalseOwnerTest, oneThatTalksNonsenseIsAProtocolError) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        std::vector<std::byte> const nonsense(64);
        EXPECT_TRUE(client.send("test", nonsense));
        (void)next_of(client);
    });
    Connection const connection = connect();
    EXPECT_TRUE(eventually([&] {
        try {
            auto const channel = connection.channel<Ask, Told>();
        } catch (ProtocolError const& error) {
            return std::string(error.what()).find("nonsense") != std::string::npos;
        }
        return false;
    }));
}

// 1. C has been connected for longer than wait_for_owner. 2. P does not serve yet what C asks for.
// 3. C asks again.
TEST_F(FalseOwnerTest, eachAttachIsTriedForAsLongAsIsSaid) {
    constexpr auto wait_for_owner = 500ms;
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        for (auto const reason : {RefusalReason::unknown_object, RefusalReason::wrong_types}) {
            detail::Refused const refused{reason, "not this"};
            (void)client.send("test", detail::encode(next_of(client).id, refused));
        }
    });
    Connection const connection(path(), {.timeout = patience, .wait_for_owner = wait_for_owner});
    std::this_thread::sleep_for(wait_for_owner);
    EXPECT_EQ(refusal([&] { auto const channel = connection.channel<Ask, Told>(); }),
              RefusalReason::wrong_types);
}

// Says that there is nothing, until C asks for something else than what there is.
void tell_of_nothing(detail::UnixSocket const& client, detail::Decoded asked) {
    detail::Seen nothing;
    nothing.objects = 0;
    for (; std::holds_alternative<detail::Look>(asked.message); asked = next_of(client)) {
        if (!client.send("test", detail::encode(asked.id, nothing))) return;
    }
}

// What `call` throws that is no TimeoutError; empty where it throws nothing.
template <class Call>
std::string what_is_thrown_in_time(Call&& call) {
    std::string what;
    EXPECT_TRUE(eventually([&] {
        try {
            call();
        } catch (TimeoutError const&) {
            return false;
        } catch (Error const& error) {
            what = error.what();
        }
        return true;
    }));
    return what;
}

// 1. C asks for a channel, and gives up. 2. P refuses the channel, and answers what C asks next.
// 3. P closes the connection.
TEST_F(FalseOwnerTest, lateRefusalIsOfNoOtherCall) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        std::uint32_t const given_up = next_of(client).id;
        detail::Decoded const next = next_of(client);
        detail::Refused const refused{RefusalReason::full, "no more"};
        EXPECT_TRUE(client.send("test", detail::encode(given_up, refused)));
        tell_of_nothing(client, next);
    });
    Connection const connection(path(), {.timeout = 500ms});
    EXPECT_THROW((void)(connection.channel<Ask, Told>()), TimeoutError);
    EXPECT_EQ(what_is_thrown_in_time([&] { (void)connection.status(); }), "");
    EXPECT_EQ(
        what_is_thrown_in_time([&] { auto const other = connection.channel<Ask, Told>("other"); }),
        "Connection::channel: the owner has closed the connection");
}

// Whose only object is another one between two looks, as often as there are `answers`.
FalseOwner::Serve gives_its_name_away(std::vector<detail::Message> answers) {
    return [answers = std::move(answers)](detail::UnixSocket const& client) {
        say_welcome(client);
        for (detail::Message const& answer : answers) {
            EXPECT_TRUE(client.send("test", detail::encode(next_of(client).id, answer)));
        }
        (void)next_of(client);  // which is C's end
    };
}

detail::Seen a_kernel_of(std::uint32_t places) {
    detail::Seen seen;
    seen.object = "x";
    seen.places = places;
    return seen;
}

// 1. C looks at the first block of a kernel, or at the first place of a log. 2. Another object gets
// the name. 3. C looks at the second block.
TEST_F(FalseOwnerTest, reportIsOfOneOfTwoObjectsWithOneName) {
    detail::Seen stopped = a_kernel_of(2);
    stopped.state = KernelState::stopped;
    detail::Seen readers = a_kernel_of(2);
    readers.kind = ObjectKind::log;
    detail::Seen mailbox = a_kernel_of(1);
    mailbox.kind = ObjectKind::mailbox;
    detail::Refused const no_block{RefusalReason::unknown_object, "there is no block 1"};
    for (std::vector<detail::Message> const& answers : {
             std::vector<detail::Message>{a_kernel_of(6), no_block, mailbox},
             {a_kernel_of(6), a_kernel_of(6), no_block, mailbox},
             {readers, a_kernel_of(6), mailbox},
             {stopped, a_kernel_of(2), mailbox},
             {a_kernel_of(6), a_kernel_of(2), mailbox},
         }) {
        FalseOwner const owner(path(), gives_its_name_away(answers));
        std::vector<ServedObject> const objects = connect().status().objects;
        ASSERT_EQ(objects.size(), 1U);
        EXPECT_EQ(objects[0].kind, ObjectKind::mailbox);
        EXPECT_EQ(objects[0].blocks.size(), 1U);
    }
}

TEST_F(FalseOwnerTest, reportOfANameThatIsGivenAwayForEverIsATimeout) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        detail::Refused const no_block{RefusalReason::unknown_object, "there is no block 1"};
        for (auto asked = next_of(client); asked.id != 0; asked = next_of(client)) {
            auto const* look = std::get_if<detail::Look>(&asked.message);
            ASSERT_NE(look, nullptr);
            bool const sent = look->place == 0
                                  ? client.send("test", detail::encode(asked.id, a_kernel_of(2)))
                                  : client.send("test", detail::encode(asked.id, no_block));
            if (!sent) return;
        }
    });
    CARILLON_EXPECT_ERROR((void)Connection(path(), {.timeout = 300ms}).status(), TimeoutError,
                          "Connection::status");
}

}  // namespace
}  // namespace carillon::test
