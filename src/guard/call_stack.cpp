// SPDX-License-Identifier: Apache-2.0
#include "guard/call_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace carillon::detail {
namespace {

struct StackFrame {
    std::string object;  // the file's name
    std::string text;
};

StackFrame describe_frame(void* address) {
    // A return address may be the first of the next function.
    auto const call = reinterpret_cast<std::uintptr_t>(address) - 1;
    Dl_info info{};
    if (::dladdr(reinterpret_cast<void*>(call), &info) == 0 || info.dli_fname == nullptr) {
        return {{}, fmt::format("{:#x}", call)};
    }
    std::string_view const path = info.dli_fname;
    std::string object(path.substr(path.rfind('/') + 1));  // the whole path if there is no /
    auto const base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::string text = fmt::format("{}+{:#x}", object, call - base);
    if (info.dli_sname != nullptr) {
        text = fmt::format("{} ({})", demangled(info.dli_sname), text);
    }
    return {std::move(object), std::move(text)};
}

bool is_of_cuda(StackFrame const& frame) {
    for (std::string_view const library : {"libcupti.", "libcuda.", "libcudart."}) {
        if (frame.object.starts_with(library)) return true;
    }
    return false;
}

}  // namespace

std::string demangled(char const* name) {
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> const text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return text != nullptr ? text.get() : name;
}

[[gnu::noinline]] std::vector<std::string> stack_of_caller() {
    std::array<void*, 64> addresses{};
    int const depth = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
    std::vector<StackFrame> frames;
    for (int i = 1; i < depth; ++i) {  // 0 is this function
        frames.push_back(describe_frame(addresses.at(static_cast<std::size_t>(i))));
    }
    // Skips the innermost frames, ours and CUDA's, up to the program's call. If CUDA cannot be
    // unwound, all frames stay.
    auto first = frames.begin();
    while (first != frames.end() && !is_of_cuda(*first)) ++first;
    while (first != frames.end() && is_of_cuda(*first)) ++first;
    if (first == frames.end()) first = frames.begin();
    std::vector<std::string> stack;
    for (; first != frames.end(); ++first) stack.push_back(std::move(first->text));
    return stack;
}

}  // namespace carillon::detail
