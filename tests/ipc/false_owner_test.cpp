// SPDX-License-Identifier: Apache-2.0
// Owners that are not what a client takes them for: that refuse before they are asked, that fall
// silent, that answer late, whose names change hands. P is the owner, in this process, of which
// there is no more than its socket; C is a client, here too.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/wire/config.hpp"
#include "ipc/askers.hpp"
#include "ipc/false_owner.hpp"
#include "ipc/fixtures.hpp"
#include "os/shared_memory.hpp"
#include "serving/client_messages.hpp"
#include "support/asleep.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

template <class Asker>
class FalseOwnerTest : public AtPath<testing::Test, Asker> {
   protected:
    // Lends these descriptors to every client, and hears why they are not mapped.
    [[nodiscard]] FalseOwner lends(std::vector<int> descriptors) const {
        return FalseOwner(this->path(), [descriptors = std::move(descriptors)](auto const& client) {
            say_welcome(client);
            tell(client, next_of(client).id, Asker::lent(), descriptors);
            for (unsigned i = 0; i < 2; ++i) {  // a buffer's memory is forgotten first
                auto const said = next_of(client);
                auto const* mapped = std::get_if<detail::Mapped>(&said.message);
                auto const* buffer = std::get_if<detail::UnmappedBuffer>(&said.message);
                if (mapped == nullptr && buffer == nullptr) continue;
                EXPECT_FALSE(mapped != nullptr && mapped->mapped);
                EXPECT_NE(mapped != nullptr ? mapped->text : buffer->text, "");
                return;
            }
            ADD_FAILURE() << "nobody says that it is not mapped";
        });
    }
};
TYPED_TEST_SUITE(FalseOwnerTest, Askers, AskerName);

TYPED_TEST(FalseOwnerTest, refusalIsHeardThoughNobodyHasAsked) {
    FalseOwner const owner(this->path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        (void)client.send(detail::encode(0, detail::Refused{RefusalReason::full, "no"}));
        (void)next_of(client);
    });
    EXPECT_EQ(refusal_of([&] {
                  TypeParam const asker = this->connect();
                  asker.ask();
              }),
              RefusalReason::full);
}

TYPED_TEST(FalseOwnerTest, oneThatSaysNothingIsATimeout) {
    FalseOwner const owner(this->path(), [](detail::UnixSocket const& client) {
        (void)next_of(client);
        (void)next_of(client);  // which is C's end
    });
    CARILLON_EXPECT_ERROR((void)this->connect({.timeout = 30ms}), TimeoutError,
                          std::string(TypeParam::connects) + ": the owner has not answered");
}

// Catches a client that gives each answer of a report a timeout of its own.
TYPED_TEST(FalseOwnerTest, reportWithoutAnEndIsATimeout) {
    FalseOwner const owner(
        this->path(), answering([](auto& client, auto& asked) {
            if (auto const* next = std::get_if<detail::NextBuffer>(&asked.message)) {
                return tell(client, asked.id,
                            BufferInfo{next->buffer + 1, "", 1, 1, true, true, 0, 1, 1});
            }
            detail::Seen seen;
            seen.objects = seen.places = 1U << 16U;
            seen.object = "kernel";
            tell(client, asked.id, seen);
        }));
    CARILLON_EXPECT_ERROR(this->connect({.timeout = 50ms}).report(), TimeoutError,
                          TypeParam::reports);
}

// Memory that has another size than announced, or a descriptor that is no memory.
TYPED_TEST(FalseOwnerTest, descriptorsOfSomethingElseAreNotMapped) {
    FileDescriptor const whole = detail::new_sealable_memory(TypeParam::memory_bytes);
    FileDescriptor const half = detail::new_sealable_memory(TypeParam::memory_bytes / 2);
    Held const before = Held::now();
    for (std::size_t wrong = 0; wrong < TypeParam::descriptors; ++wrong) {
        for (int const other : {half.get(), 0}) {
            std::vector<int> descriptors(TypeParam::descriptors, whole.get());
            descriptors.at(wrong) = other;
            FalseOwner const owner = this->lends(descriptors);
            CARILLON_EXPECT_ERROR(this->connect().ask(), UsageError,
                                  std::string(TypeParam::asks) + ": ");
        }
    }
    EXPECT_EQ(Held::now(), before);
}

TYPED_TEST(FalseOwnerTest, descriptorsTooManyOrTooFewAreNonsense) {
    FileDescriptor const memory = detail::new_sealable_memory(TypeParam::memory_bytes);
    Held const before = Held::now();
    for (std::size_t const count : {0U, 1U, 2U, 3U, 8U}) {
        if (count == TypeParam::descriptors) continue;
        std::vector<int> const descriptors(count, memory.get());
        FalseOwner const owner(this->path(), answering([&](auto& client, auto& asked) {
                                   tell(client, asked.id, TypeParam::lent(), descriptors);
                               }));
        CARILLON_EXPECT_ERROR(
            this->connect().ask(), ProtocolError,
            fmt::format("descriptors: {} came with it, not {}", count, TypeParam::descriptors));
    }
    EXPECT_EQ(Held::now(), before);
}

TYPED_TEST(FalseOwnerTest, answerToWhatWasNotAskedIsAProtocolError) {
    FalseOwner const owner(this->path(), answering([](auto& client, auto& asked) {
                               tell(client, asked.id, detail::BufferDone{});
                           }));
    TypeParam const asker = this->connect();
    CARILLON_EXPECT_ERROR(asker.ask(), ProtocolError, TypeParam::asks);
    CARILLON_EXPECT_ERROR(asker.report(), ProtocolError, TypeParam::reports);
}

TYPED_TEST(FalseOwnerTest, oneThatTalksNonsenseIsAProtocolError) {
    FalseOwner const owner(this->path(), answering([](auto& client, auto& /*asked*/) {
                               std::vector<std::byte> const nonsense(64);
                               (void)client.send(nonsense);
                           }));
    TypeParam const asker = this->connect();
    CARILLON_EXPECT_ERROR(asker.ask(), ProtocolError, "does not speak the protocol");
}

using FalseKernelOwnerTest = AtPath<>;

TEST_F(FalseKernelOwnerTest, longestTimeoutIsForEver) {
    FalseOwner const owner(path(), [waits = ::gettid()](detail::UnixSocket const& client) {
        EXPECT_TRUE(eventually([&] { return is_asleep(waits); }));
        say_welcome(client);
    });
    EXPECT_EQ(connect({.timeout = std::chrono::nanoseconds::max()}).owner().process, 1);
}

// How many bytes of memory this process has.
std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Catches a client that keeps an owner's notices about things that it has never asked for.
TEST_F(FalseKernelOwnerTest, noticesOfWhatWasNotAskedForFillNoMemory) {
#if CARILLON_ADDRESS_SANITIZER || CARILLON_THREAD_SANITIZER
    GTEST_SKIP() << "a sanitizer keeps freed memory";
#endif
    constexpr unsigned notices = 10'000;
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        auto const send = [&](std::uint32_t id, detail::Message const& message) {
            auto const encoded = detail::encode(id, message);
            EXPECT_TRUE(eventually([&] {
                try {
                    return client.send(encoded);
                } catch (SystemError const&) {  // C has not read the others yet
                    return false;
                }
            }));
        };
        say_welcome(client);
        for (unsigned i = 0; i < notices; ++i) {
            send(0, detail::Notice{fmt::format("{:063}", i), KernelState::draining,
                                   std::string(255, 'x')});
        }
        detail::Seen nothing;
        nothing.objects = 0;
        send(next_of(client).id, nothing);
        (void)next_of(client);  // which is C's end
    });
    Connection const connection = connect();
    std::size_t const before = resident_bytes();
    EXPECT_TRUE(connection.status().objects.empty());
    EXPECT_LT(resident_bytes(), before + notices * 200U);
}

// Welcomes the client, lends it that memory, and hears why it is not mapped.
FalseOwner::Serve lends(detail::Attached const& attached, std::vector<int> descriptors) {
    return [attached, descriptors = std::move(descriptors)](detail::UnixSocket const& client) {
        say_welcome(client);
        EXPECT_TRUE(client.send(detail::encode(next_of(client).id, attached), descriptors));
        auto const mapped = next_of(client);
        auto const* said = std::get_if<detail::Mapped>(&mapped.message);
        ASSERT_NE(said, nullptr);
        EXPECT_FALSE(said->mapped);
        EXPECT_NE(said->text, "");
    };
}

// The descriptors lead nowhere: they are not looked at.
TEST_F(FalseKernelOwnerTest, slotsOfAnotherSizeAreNotMapped) {
    detail::Attached attached = ChannelAsker::lent();
    attached.shape = {8, 2, 1};
    FalseOwner const owner(path(), lends(attached, {0, 0}));
    Connection const connection = connect();
    CARILLON_EXPECT_ERROR((connection.channel<Ask, Told>()), ProtocolError,
                          "the owner's slots have 2 and 1 lines, but these types need 1 and 1");
}

TEST_F(FalseKernelOwnerTest, memoryThatIsSmallerThanWhatIsInItIsNotMapped) {
    for (bool const in_device : {true, false}) {
        detail::Attached attached = ChannelAsker::lent();
        (in_device ? attached.memory.bytes : attached.host_bytes) = 64;
        FalseOwner const owner(path(), lends(attached, {0, 0}));
        CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), ProtocolError,
                              "bytes of memory for a channel that needs");
    }
    detail::Attached attached = ChannelAsker::lent();
    attached.host_bytes = 0;
    FalseOwner const owner(path(), lends(attached, {0}));
    CARILLON_EXPECT_ERROR((connect().channel<Ask, Told>()), ProtocolError,
                          "1048576 and 0 bytes of memory for a channel that needs");
}

TEST_F(FalseKernelOwnerTest, objectsOfOtherSizesAreNotMapped) {
    detail::Attached attached = ChannelAsker::lent();
    attached.shape = {8, 3, 3};
    struct Long {
        std::uint64_t word[20];
    };
    {
        FalseOwner const owner(path(), lends(attached, {0, 0}));
        CARILLON_EXPECT_ERROR((connect().ring<Long, Direction::to_device>("ring")), ProtocolError,
                              "lines");
    }
    attached = ChannelAsker::lent();
    FalseOwner const owner(path(), lends(attached, {0, 0}));
    CARILLON_EXPECT_ERROR((connect().chunk_ring<std::uint64_t>("chunks")), ProtocolError,
                          "chunks of 0 bytes");
}

// 1. C has been connected for longer than wait_for_owner. 2. P does not yet serve the object. 3. C
// asks again.
TEST_F(FalseKernelOwnerTest, eachAttachIsTriedForAsLongAsIsSaid) {
    constexpr auto wait_for_owner = 500ms;
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        for (auto const reason : {RefusalReason::unknown_object, RefusalReason::wrong_types}) {
            detail::Refused const refused{reason, "not this"};
            (void)client.send(detail::encode(next_of(client).id, refused));
        }
    });
    Connection const connection = connect({.timeout = patience, .wait_for_owner = wait_for_owner});
    std::this_thread::sleep_for(wait_for_owner);  // the time of step 1 has to pass
    EXPECT_EQ(refusal_of([&] { auto const channel = connection.channel<Ask, Told>(); }),
              RefusalReason::wrong_types);
}

// Answers that there are no objects, until C asks for anything else than the list of them.
void tell_of_nothing(detail::UnixSocket const& client, detail::Decoded asked) {
    detail::Seen nothing;
    nothing.objects = 0;
    for (; std::holds_alternative<detail::Look>(asked.message); asked = next_of(client)) {
        if (!client.send(detail::encode(asked.id, nothing))) return;
    }
}

// Calls until no TimeoutError comes. Returns the text of another Error; empty if the call returned.
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
TEST_F(FalseKernelOwnerTest, lateRefusalIsOfNoOtherCall) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        std::uint32_t const given_up = next_of(client).id;
        detail::Decoded const next = next_of(client);
        detail::Refused const refused{RefusalReason::full, "no more"};
        EXPECT_TRUE(client.send(detail::encode(given_up, refused)));
        tell_of_nothing(client, next);
    });
    Connection const connection = connect({.timeout = 500ms});
    EXPECT_THROW((void)(connection.channel<Ask, Told>()), TimeoutError);
    EXPECT_EQ(what_is_thrown_in_time([&] { (void)connection.status(); }), "");
    EXPECT_EQ(
        what_is_thrown_in_time([&] { auto const other = connection.channel<Ask, Told>("other"); }),
        "Connection::channel: the owner has closed the connection");
}

// Its only object is another one at each look, as often as there are `answers`.
FalseOwner::Serve gives_its_name_away(std::vector<detail::Message> answers) {
    return [answers = std::move(answers)](detail::UnixSocket const& client) {
        say_welcome(client);
        for (detail::Message const& answer : answers) {
            EXPECT_TRUE(client.send(detail::encode(next_of(client).id, answer)));
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
TEST_F(FalseKernelOwnerTest, reportIsOfOneOfTwoObjectsWithOneName) {
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

TEST_F(FalseKernelOwnerTest, reportOfANameThatIsGivenAwayForEverIsATimeout) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        say_welcome(client);
        detail::Refused const no_block{RefusalReason::unknown_object, "there is no block 1"};
        for (auto asked = next_of(client); asked.id != 0; asked = next_of(client)) {
            auto const* look = std::get_if<detail::Look>(&asked.message);
            ASSERT_NE(look, nullptr);
            bool const sent = look->place == 0
                                  ? client.send(detail::encode(asked.id, a_kernel_of(2)))
                                  : client.send(detail::encode(asked.id, no_block));
            if (!sent) return;
        }
    });
    CARILLON_EXPECT_ERROR((void)connect({.timeout = 300ms}).status(), TimeoutError,
                          "Connection::status");
}

}  // namespace
}  // namespace carillon::test
