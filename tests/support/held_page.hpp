// SPDX-License-Identifier: Apache-2.0
// Holds a thread between two instructions: at its first access to a page. Needs no timing.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>

#include "carillon/error.hpp"

namespace carillon::test {

// A thread that touches the page stays there until let_go(). One page of a process at a time.
class HeldPage {
   public:
    // A page of its own that begins with `value`; no thread reads it.
    template <class T>
    explicit HeldPage(T const& value) : page_(map()), own_(true) {
        new (page_) T(value);
        hold(PROT_NONE);
    }
    // Holds the page in which `where` lies, or begins; threads may read it.
    struct OfWrites {
        void* where;
    };
    explicit HeldPage(OfWrites const& writes) : page_(page_of(writes.where)), own_(false) {
        hold(PROT_READ);
    }
    HeldPage(HeldPage const&) = delete;
    HeldPage& operator=(HeldPage const&) = delete;
    ~HeldPage() {
        let_go();
        ::sigaction(SIGSEGV, &before_, nullptr);
        if (own_) ::munmap(page_, size());
    }

    template <class T>
    [[nodiscard]] T const& as() const {
        return *static_cast<T const*>(page_);
    }
    [[nodiscard]] bool reached() const { return reached_; }
    void let_go() const {
        ::mprotect(page_, size(), PROT_READ | PROT_WRITE);
        open_ = true;
    }

   private:
    [[nodiscard]] static std::size_t size() {
        return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    }
    [[nodiscard]] static void* page_of(void* where) {
        auto const at = reinterpret_cast<std::uintptr_t>(where);
        return reinterpret_cast<void*>(at / size() * size());
    }
    [[nodiscard]] static void* map() {
        void* const page =
            ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw SystemError("mmap", errno);
        return page;
    }
    static void wait(int /*signal*/) {
        reached_ = true;
        while (!open_) ::usleep(100);
    }
    void hold(int protection) {
        reached_ = open_ = false;
        struct sigaction action {};
        action.sa_handler = &wait;
        ::sigaction(SIGSEGV, &action, &before_);
        ::mprotect(page_, size(), protection);
    }

    static inline std::atomic<bool> reached_;
    static inline std::atomic<bool> open_;
    void* page_;
    bool own_;
    struct sigaction before_ {};
};

}  // namespace carillon::test
