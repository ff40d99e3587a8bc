// SPDX-License-Identifier: Apache-2.0
#include "measure/socket_folder.hpp"

#include <unistd.h>

#include <carillon/error.hpp>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace carillon::tool {

SocketFolder::SocketFolder() {
    char const* const given = std::getenv("TMPDIR");
    std::string const where = given != nullptr && *given != '\0' ? given : "/tmp";
    std::string name = where + "/carillon-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        throw SystemError("make a folder in " + where + " (TMPDIR)", errno);
    }
    folder_ = name;
}

SocketFolder::~SocketFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

}  // namespace carillon::tool
