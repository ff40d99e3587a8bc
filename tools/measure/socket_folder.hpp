// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace carillon::tool {

// The path of a socket, in a folder of its own that goes with it.
class SocketFolder {
   public:
    SocketFolder();  // throws SystemError
    SocketFolder(SocketFolder const&) = delete;
    SocketFolder& operator=(SocketFolder const&) = delete;
    ~SocketFolder();
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "kernel.sock"; }

   private:
    std::filesystem::path folder_;
};

}  // namespace carillon::tool
