// SPDX-License-Identifier: Apache-2.0
// Objects of which each process has one, also a forked child.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace carillon::detail {

// One T for each process, never destroyed. A forked child has a new one: its parent's may have been
// in the middle of a change, or locked, and would stay so.
template <class T>
class PerProcess {
   public:
    static T& get() {
        static bool const registered = ::pthread_atfork(nullptr, nullptr, &renew) == 0;
        (void)registered;
        return current()->value;
    }

   private:
    struct Node {
        T value{};
        Node* of_parent = nullptr;
    };

    static Node*& current() {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
        static auto* node = new Node;
        return node;
    }
    static void renew() {
        auto* const own = new Node;
        own->of_parent = current();
        current() = own;
    }
};

// Withholds the pages from children, so that not even a kept address leads a child to them. Whole
// pages only.
void keep_from_children(void* where, std::size_t size) noexcept;
// Withholds a mapping from children, including the rest of its last page.
void keep_mapping_from_children(void* where, std::size_t size) noexcept;

// Lets this process write to its mapped pages, or only read them. Does nothing if they are no whole
// pages, or the system refuses.
void protect_pages(void* where, std::size_t size, bool writable) noexcept;

}  // namespace carillon::detail
