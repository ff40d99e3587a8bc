// SPDX-License-Identifier: Apache-2.0
// Objects of which each process has one, forked children too.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace carillon::detail {

// One T for each process, never destroyed. A child that was forked has a new one: the one of its
// parent may have been half way through a change, or locked, and would stay so.
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

// Leaves the pages out of what children inherit, so that not even an address that was kept leads a
// child to them. Whole pages only.
void keep_from_children(void* where, std::size_t size) noexcept;
// The same of a mapping, to which the rest of its last page belongs.
void keep_mapping_from_children(void* where, std::size_t size) noexcept;

// Lets this process write to pages that it has mapped, or only read them; as they are where they
// are no whole pages, or the system does not let it. Whole pages only.
void protect_pages(void* where, std::size_t size, bool writable) noexcept;

}  // namespace carillon::detail
