// SPDX-License-Identifier: Apache-2.0
// How a sanitizer's runtime works in the tests, which are linked with this.

// Libraries stay loaded. Mesa's driver keeps allocations in its static variables; once it is
// unloaded nothing points to them, and the leak checker would report them without being able to say
// whose they are.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*library*/) noexcept {
    return 0;
}

// The thread sanitizer lets a process that ends with threads in it, as Mesa's driver leaves them,
// sleep for a second, for races with what runs at the end: several minutes of every run.
extern "C" __attribute__((visibility("default"))) char const* __tsan_default_options() {  // NOLINT
    return "atexit_sleep_ms=50";
}
