// SPDX-License-Identifier: Apache-2.0
// Settings of the sanitizers' runtimes. Every test program is linked with this file.

// Libraries stay loaded. Mesa's driver keeps allocations in its static variables. After unloading
// nothing would point to them, and the leak checker would report them without a name.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*library*/) noexcept {
    return 0;
}

// The thread sanitizer makes a process that ends with threads, as Mesa's driver leaves them, sleep
// for a second to find late races. That would take several minutes of every run.
extern "C" __attribute__((visibility("default"))) char const* __tsan_default_options() {  // NOLINT
    return "atexit_sleep_ms=50";
}
