// SPDX-License-Identifier: Apache-2.0
// The placement profile's file: a profile that was written is read again, and the error for a file
// that is no profile of this device names the file.
#include "carillon/placement.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "carillon/cores.hpp"
#include "carillon/error.hpp"
#include "support/environment_variable.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {
namespace {

DeviceInfo some_gpu() {
    DeviceInfo info;
    info.uuid = "GPU-0123";
    info.name = "Some GPU";
    return info;
}

PlacementProfile some_profile() {
    PlacementProfile profile;
    profile.uuid = "GPU-0123";
    profile.device = "Some GPU";
    profile.driver = "580.1";
    profile.date = "2026-11-21T00:00:00Z";
    profile.sms = {{17, 1560.5}, {3, 1571}};
    profile.cores = {{5, 1595}};
    profile.request_pages = {1580, 1600, 1790};
    profile.reply_pages = {1804, 1808, 1874};
    return profile;
}

// No file of this process grows beyond `bytes`: the write that would fails, as on a full disk.
class FileSizeLimit {
   public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        rlimit const limit{bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    FileSizeLimit(FileSizeLimit const&) = delete;
    FileSizeLimit& operator=(FileSizeLimit const&) = delete;
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

   private:
    void (*handler_)(int);
    rlimit before_{};
};

class PlacementProfileTest : public testing::Test {
   protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "a" / "b.json"; }

    [[nodiscard]] static std::string read(std::filesystem::path const& file) {
        std::ostringstream all;
        all << std::ifstream(file).rdbuf();
        return all.str();
    }
    [[nodiscard]] std::string text() const { return read(path()); }

    // The number of files in the profile's folder.
    [[nodiscard]] std::ptrdiff_t files() const {
        auto const files = std::filesystem::directory_iterator(path().parent_path());
        return std::distance(begin(files), end(files));
    }

    void write(std::string const& content) const {
        std::filesystem::create_directories(path().parent_path());
        std::ofstream(path()) << content;
    }

    // Saves a good profile with one piece of its text replaced.
    void write_with(std::string const& what, std::string const& instead) const {
        save_placement_profile(some_profile(), path());
        std::string content = text();
        std::size_t const at = content.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        write(content.replace(at, what.size(), instead));
    }

    [[nodiscard]] PlacementProfile load() const {
        return load_placement_profile(path(), some_gpu());
    }

    test::TemporaryDirectory folder_;
};

TEST_F(PlacementProfileTest, whatIsSavedComesBack) {
    save_placement_profile(some_profile(), path());  // makes the folder
    save_placement_profile(some_profile(), path());  // and replaces the file
    PlacementProfile const loaded = load();
    EXPECT_EQ(loaded.uuid, "GPU-0123");
    EXPECT_EQ(loaded.device, "Some GPU");
    EXPECT_EQ(loaded.driver, "580.1");
    EXPECT_EQ(loaded.date, "2026-11-21T00:00:00Z");
    ASSERT_EQ(loaded.sms.size(), 2U);
    EXPECT_EQ(loaded.sms[0].id, 17U);
    EXPECT_EQ(loaded.sms[0].p50_ns, 1560.5);
    EXPECT_EQ(loaded.sms[1].id, 3U);
    ASSERT_EQ(loaded.cores.size(), 1U);
    EXPECT_EQ(loaded.cores[0].id, 5U);
    EXPECT_EQ(loaded.request_pages.worst_ns, 1790);
    EXPECT_EQ(loaded.reply_pages.median_ns, 1808);
}

TEST_F(PlacementProfileTest, savingLeavesNothingElseBehind) {
    save_placement_profile(some_profile(), path());
    EXPECT_EQ(files(), 1);
}

// Otherwise a user who may write into the folder could make its owner overwrite a file.
TEST_F(PlacementProfileTest, savingFollowsNoSymbolicLink) {
    std::filesystem::create_directories(path().parent_path());
    std::filesystem::path const precious = folder_.path() / "precious";
    std::ofstream(precious) << "precious";
    std::filesystem::path const guessed =
        path().string() + "." + std::to_string(::getpid()) + ".part";
    std::filesystem::create_symlink(precious, guessed);
    std::filesystem::create_symlink(precious, path());
    save_placement_profile(some_profile(), path());
    EXPECT_EQ(read(precious), "precious");
    EXPECT_TRUE(std::filesystem::is_symlink(guessed));
    EXPECT_FALSE(std::filesystem::is_symlink(path()));
    EXPECT_EQ(load().uuid, "GPU-0123");
}

TEST_F(PlacementProfileTest, fileHasThePermissionsThatTheUmaskLeaves) {
    mode_t const before = ::umask(0027);
    save_placement_profile(some_profile(), path());
    ::umask(before);
    EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms{0640});
}

TEST_F(PlacementProfileTest, nameThatIsNotUtf8IsSaved) {
    PlacementProfile profile = some_profile();
    profile.device = "Some\xff GPU";
    save_placement_profile(profile, path());
    EXPECT_EQ(load().device, "Some\xef\xbf\xbd GPU");
    EXPECT_EQ(files(), 1);
}

TEST_F(PlacementProfileTest, diskThatIsFullIsASystemErrorAndTheOldFileStays) {
    save_placement_profile(some_profile(), path());
    {
        FileSizeLimit const full(100);  // bytes of a file
        CARILLON_EXPECT_ERROR(save_placement_profile(some_profile(), path()), SystemError,
                              "RLIMIT_FSIZE");
    }
    EXPECT_EQ(files(), 1);
    EXPECT_EQ(load().sms.size(), 2U);
}

TEST_F(PlacementProfileTest, folderInTheWayIsASystemErrorAndNothingIsLeftBehind) {
    std::filesystem::create_directories(path() / "in the way");
    CARILLON_EXPECT_ERROR(save_placement_profile(some_profile(), path()), SystemError,
                          "rename to " + path().string());
    EXPECT_EQ(files(), 1);
}

TEST_F(PlacementProfileTest, folderThatTakesNoFileIsASystemError) {
    CARILLON_EXPECT_ERROR(save_placement_profile(some_profile(), "/proc/self/profile.json"),
                          SystemError, "make /proc/self/profile.json");
}

TEST_F(PlacementProfileTest, nameWithoutAFolderIsOneInTheCurrentFolder) {
    std::filesystem::path const before = std::filesystem::current_path();
    std::filesystem::current_path(folder_.path());
    save_placement_profile(some_profile(), "profile.json");
    std::filesystem::current_path(before);
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "profile.json"));
}

TEST_F(PlacementProfileTest, missingFileIsASystemError) {
    CARILLON_EXPECT_ERROR(load(), SystemError, path().string());
}

TEST_F(PlacementProfileTest, folderThatCannotBeMadeIsASystemError) {
    std::ofstream(folder_.path() / "file") << "in the way";
    CARILLON_EXPECT_ERROR(save_placement_profile(some_profile(), folder_.path() / "file" / "p"),
                          SystemError, "make the folders of " + folder_.path().string());
}

TEST_F(PlacementProfileTest, damagedFileIsAFormatErrorThatNamesIt) {
    for (char const* content : {"", "{", "[]", "{}", "17", "null", "\xff\xfe", "{\"format\": 1}",
                                "{\"format\": \"something else\", \"version\": 1}"}) {
        SCOPED_TRACE(content);
        write(content);
        CARILLON_EXPECT_ERROR(load(), FormatError, path().string());
    }
    save_placement_profile(some_profile(), path());
    std::string const whole = text();
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
        SCOPED_TRACE(size);
        write(whole.substr(0, size));
        CARILLON_EXPECT_ERROR(load(), FormatError, path().string());
    }
}

TEST_F(PlacementProfileTest, fieldsOfAnotherKindAreFormatErrors) {
    struct Damage {
        char const* what;
        char const* instead;
        char const* words;
    };
    for (Damage const& each : {
             Damage{"\"version\": 2", "\"version\": 1", "version 1, not 2"},
             Damage{"\"id\": 17", "\"id\": -17", "not a number from 0 to 65535"},
             Damage{"\"id\": 17", "\"id\": 65536", "not a number from 0 to 65535"},
             Damage{"\"id\": 17", "\"id\": \"17\"", "not a number from 0 to 65535"},
             Damage{"\"id\": 17", "\"id\": 3", "3 twice"},
             Damage{"\"id\": 17", "\"it\": 17", "id"},
             Damage{"1560.5", "-1560.5", "negative"},
             Damage{"1560.5", "1e999", "overflow"},
             Damage{"1560.5", "\"fast\"", "not a number"},
             Damage{"\"uuid\"", "\"uid\"", "uuid"},
             Damage{"\"cores\"", "\"core\"", "cores"},
         }) {
        SCOPED_TRACE(each.instead);
        write_with(each.what, each.instead);
        CARILLON_EXPECT_ERROR(load(), FormatError, each.words);
    }
}

TEST_F(PlacementProfileTest, profileOfAnotherGpuIsAFormatError) {
    write_with("GPU-0123", "GPU-4567");
    CARILLON_EXPECT_ERROR(load(), FormatError, "for GPU-4567, not for GPU-0123");
    CARILLON_EXPECT_ERROR(load_placement_profile(path(), DeviceInfo{}), FormatError,
                          "not for emulated");
}

TEST_F(PlacementProfileTest, itIsKeptWhereTheEnvironmentSays) {
    Environment const profiles("CARILLON_PROFILES", "/profiles");
    Environment const config("XDG_CONFIG_HOME", "/config");
    Environment const home("HOME", "/home/me");
    EXPECT_EQ(placement_profile_path(some_gpu()), "/profiles/GPU-0123.json");
    EXPECT_EQ(placement_profile_path(DeviceInfo{}), "/profiles/emulated.json");
    Environment const no_profiles("CARILLON_PROFILES", "");
    EXPECT_EQ(placement_profile_path(some_gpu()), "/config/carillon/placement/GPU-0123.json");
    Environment const no_config("XDG_CONFIG_HOME", nullptr);
    EXPECT_EQ(placement_profile_path(some_gpu()),
              "/home/me/.config/carillon/placement/GPU-0123.json");
    Environment const no_home("HOME", nullptr);
    CARILLON_EXPECT_ERROR(placement_profile_path(some_gpu()), UsageError, "CARILLON_PROFILES");
}

TEST_F(PlacementProfileTest, lookingForOneNeverFailsButSaysWhyThereIsNone) {
    Environment const profiles("CARILLON_PROFILES", folder_.path().c_str());
    std::string why;
    EXPECT_FALSE(find_placement_profile(some_gpu(), why));
    EXPECT_NE(why.find("GPU-0123.json"), std::string::npos) << why;

    std::ofstream(placement_profile_path(some_gpu())) << "damaged";
    EXPECT_FALSE(find_placement_profile(some_gpu(), why));
    EXPECT_NE(why.find("GPU-0123.json: "), std::string::npos) << why;

    save_placement_profile(some_profile(), placement_profile_path(some_gpu()));
    EXPECT_TRUE(find_placement_profile(some_gpu(), why));

    Environment const missing("CARILLON_PROFILES", (folder_.path() / "none").c_str());
    EXPECT_FALSE(find_placement_profile(some_gpu(), why));
}

TEST(CoresTest, coresNearADeviceThatIsNotThereAreAll) {
    std::vector<unsigned> const all = allowed_cores();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(cores_near(DeviceInfo{}), all);
    DeviceInfo nowhere;
    nowhere.pci_bus_id = "ffff:ff:1f.7";
    EXPECT_EQ(cores_near(nowhere), all);
    nowhere.pci_bus_id = "not a bus id";
    EXPECT_EQ(cores_near(nowhere), all);
}

TEST(CoresTest, threadIsHeldOnACoreAndLetGoAgain) {
    std::vector<unsigned> const all = allowed_cores();
    {
        OnCore const held(all.back());
        EXPECT_EQ(allowed_cores(), std::vector<unsigned>{all.back()});
    }
    EXPECT_EQ(allowed_cores(), all);
    for (unsigned const core : {CPU_SETSIZE - 1U, 9999U, ~0U}) {
        CARILLON_EXPECT_ERROR(OnCore(core), UsageError,
                              "OnCore: this process may not use core " + std::to_string(core));
    }
    EXPECT_EQ(allowed_cores(), all);
}

}  // namespace
}  // namespace carillon::test
