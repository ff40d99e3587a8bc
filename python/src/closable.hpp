// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "carillon/error.hpp"
#include "errors.hpp"
#include "gil.hpp"

namespace carillon::python {

// An object that Python may close while a thread is in one of its calls: it goes when that returns.
template <class T>
class Closable {
   public:
    Closable(char const* what, T&& object)
        : what_(what), object_(std::make_shared<T>(std::move(object))) {}
    Closable(Closable const&) = delete;
    Closable& operator=(Closable const&) = delete;
    ~Closable() { close(); }

    void close() {
        std::shared_ptr<T> last = std::move(object_);
        OthersRun const others_run;
        last.reset();
    }
    // Throws UsageError once it was closed.
    [[nodiscard]] std::shared_ptr<T> get() const {
        if (!object_) throw UsageError(std::string(what_) + " was closed");
        return object_;
    }

   private:
    char const* what_;
    std::shared_ptr<T> object_;
};

// `with` closes it. `name`: what Python calls the class.
template <class T>
void close_with(nb::class_<T>& bound, std::string const& name) {
    std::string const signature = "def __enter__(self) -> " + name;
    bound
        .def(
            "__enter__", [](nb::object self) { return self; }, nb::sig(signature.c_str()))
        .def(
            "__exit__", [](T& self, nb::args const& /*error*/) { self.close(); },
            nb::sig("def __exit__(self, *error: object) -> None"));
}

}  // namespace carillon::python
