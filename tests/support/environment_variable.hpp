// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace carillon::test {

// Sets a variable of the environment, or with nullptr takes it away, for as long as it lives.
class Environment {
   public:
    Environment(char const* name, char const* value) : name_(name) {
        if (char const* const before = std::getenv(name)) before_ = before;
        set(value);
    }
    Environment(Environment const&) = delete;
    Environment& operator=(Environment const&) = delete;
    ~Environment() { set(before_ ? before_->c_str() : nullptr); }

   private:
    void set(char const* value) const {
        if (value != nullptr) {
            ::setenv(name_.c_str(), value, 1);
        } else {
            ::unsetenv(name_.c_str());
        }
    }

    std::string name_;
    std::optional<std::string> before_;
};

}  // namespace carillon::test
