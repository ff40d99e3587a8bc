// SPDX-License-Identifier: Apache-2.0
#include "ls/ls.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <carillon/connection.hpp>
#include <carillon/kernel.hpp>
#include <carillon/shared_objects.hpp>
#include <carillon/store.hpp>
#include <chrono>
#include <string>

#include "support/temporary_directory.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

struct Twice {
    int operator()(int number) const { return 2 * number; }
};

class LsTest : public testing::Test {
   protected:
    [[nodiscard]] std::string path() const { return (folder_.path() / "twice.sock").string(); }
    [[nodiscard]] ListedOwner list() const { return list_owner(path(), 10s); }

    PersistentKernel<Twice, SharedChannels> kernel_{Device::open("emulated"),
                                                    {.blocks = 3, .idle = IdlePolicy::park()}};

   private:
    test::TemporaryDirectory folder_;
};

TEST_F(LsTest, ownerIsListedWithItsBlocksAndClients) {
    Server const server = kernel_.serve(path(), {}, "twice");
    Connection const client(path(), {.name = "a feed"});
    auto channel = client.channel<int, int>("twice");
    EXPECT_EQ(channel.call(4, 10s), 8);
    ListedOwner const listed = list();
    EXPECT_EQ(listed.owner.name, "twice");
    EXPECT_EQ(listed.owner.process, ::getpid());
    ASSERT_EQ(listed.status.objects.size(), 1U);
    ServedObject const& object = listed.status.objects[0];
    EXPECT_EQ(object.state, KernelState::running);
    ASSERT_EQ(object.blocks.size(), 3U);
    EXPECT_EQ(object.blocks[0].client, "a feed");
    EXPECT_EQ(object.blocks[0].process, ::getpid());
    EXPECT_EQ(object.blocks[0].user, ::getuid());
    EXPECT_EQ(object.blocks[1].client, "");

    std::string const text = to_text(listed);
    EXPECT_NE(text.find("twice.sock: twice, process "), std::string::npos) << text;
    EXPECT_NE(text.find("  twice (kernel): running on the EMULATED device, 1 of 3 blocks lent\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("a feed"), std::string::npos) << text;
    nlohmann::json const json = to_json(listed);
    EXPECT_EQ(json["objects"][0]["name"], "twice");
    EXPECT_EQ(json["objects"][0]["kind"], "kernel");
    EXPECT_EQ(json["objects"][0]["blocks"][0]["client"], "a feed");
    EXPECT_EQ(json["objects"][0]["blocks"][0]["counters"]["taken"], 1);
    EXPECT_FALSE(json["objects"][0]["blocks"][1].contains("client"));
}

TEST_F(LsTest, kernelThatWasStoppedIsListedAsThat) {
    Server const server = kernel_.serve(path());
    kernel_.stop();
    ListedOwner const listed = list();
    ServedObject const& object = listed.status.objects.at(0);
    EXPECT_EQ(object.state, KernelState::stopped) << to_text(listed);
    EXPECT_EQ(object.blocks.at(0).activity, BlockActivity::ended);
}

TEST_F(LsTest, everyObjectIsListed) {
    Server server(path(), {.name = "desk"});
    EXPECT_TRUE(list().status.objects.empty());
    server.add("twice", kernel_);
    server.add("again", kernel_);
    SharedMailbox<int, Direction::to_host> const status(Device::open("emulated"), 4);
    server.add("status", status);
    Connection const client(path(), {.name = "a screen"});
    auto const reader = client.mailbox<int, Direction::to_host>("status");
    std::string const text = to_text(list());
    EXPECT_NE(text.find("twice.sock: desk, process "), std::string::npos) << text;
    EXPECT_NE(text.find("  twice (kernel): running on the EMULATED device, 0 of 3 blocks lent\n"),
              std::string::npos);
    EXPECT_NE(text.find("  again (kernel): running on the EMULATED device, 0 of 3 blocks lent\n"),
              std::string::npos);
    EXPECT_NE(text.find("  status (mailbox to the host): lent\n"), std::string::npos) << text;
    EXPECT_NE(text.find("a screen"), std::string::npos) << text;
}

TEST_F(LsTest, pathWhereNobodyServesIsAnErrorOfThatPath) {
    ListedOwner const listed = list();
    EXPECT_NE(listed.error.find("twice.sock"), std::string::npos) << listed.error;
    EXPECT_NE(to_text(listed).find("No such file"), std::string::npos);
    EXPECT_EQ(to_json(listed)["error"], listed.error);
}

TEST_F(LsTest, storeIsListedWithItsBuffers) {
    Store const store(Device::open("emulated"), {.bytes = 1U << 20U});
    Server server = kernel_.serve(path(), {}, "prices");
    server.add(store);
    Buffer const sealed = store.create("table", 100).seal();
    Buffer const open = store.create("", 70'000);
    ListedOwner const listed = list();
    EXPECT_EQ(listed.error, "");
    EXPECT_EQ(listed.status.objects.size(), 1U);
    ASSERT_EQ(listed.buffers.size(), 2U);
    EXPECT_EQ(listed.buffers[0].id, sealed.id());
    EXPECT_EQ(listed.buffers[1].id, open.id());

    std::string const text = to_text(listed);
    EXPECT_NE(text.find("  store: 2 buffers, 1 sealed, in 139264 of 1048576 bytes of memory\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("table"), std::string::npos) << text;
    EXPECT_NE(text.find(" 70000 mutable "), std::string::npos) << text;
    nlohmann::json const json = to_json(listed)["store"];
    EXPECT_EQ(json["buffers"], 2);
    EXPECT_EQ(json["list"][0]["name"], "table");
    EXPECT_EQ(json["list"][0]["sealed"], true);
    EXPECT_EQ(json["list"][1]["bytes"], 70'000);
    EXPECT_EQ(json["list"][1]["sealed"], false);
}

}  // namespace
}  // namespace carillon::tool
