// SPDX-License-Identifier: Apache-2.0
// A limit of file sizes is an error of the call that wants a file, or memory that others can map,
// and no signal. In children, since the limit is the process's.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "carillon/carillon.hpp"
#include "os/replace_file.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {
namespace {

constexpr rlim_t least = 10240;

// Whether the error of `call` names the limit, which is `least`.
template <class Call>
int is_refused(Call const& call) {
    return in_child([&] {
        ::rlimit const few{least, least};
        if (::setrlimit(RLIMIT_FSIZE, &few) != 0) return 2;
        try {
            call();
        } catch (SystemError const& error) {
            std::string const text = error.what();
            bool const named = text.find("RLIMIT_FSIZE") != std::string::npos &&
                               text.find("10240") != std::string::npos;
            return error.code() == EFBIG && named ? 0 : 3;
        }
        return 1;
    });
}

struct Answer {
    int operator()(int const& x) const { return x; }
};

TEST(FileSizeTest, sharedMemoryOfAKernelIsRefused) {
    EXPECT_EQ(is_refused([] {
                  Device const device = Device::open("emulated");
                  PersistentKernel<Answer> const kernel(device, {.capacity = 1024});
              }),
              0);
}

TEST(FileSizeTest, sharedMemoryOfABufferIsRefused) {
    EXPECT_EQ(is_refused([] {
                  Store const store(Device::open("emulated"));
                  (void)store.create("large", 1U << 20U);
              }),
              0);
}

TEST(FileSizeTest, fileThatIsReplacedStaysAsItWas) {
    TemporaryDirectory const folder;
    std::filesystem::path const path = folder.path() / "file";
    detail::replace_file(path, "before");
    EXPECT_EQ(is_refused([&] { detail::replace_file(path, std::string(least + 1, '.')); }), 0);
    EXPECT_EQ(std::filesystem::file_size(path), 6U);
}

}  // namespace
}  // namespace carillon::test
