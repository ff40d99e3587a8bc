// SPDX-License-Identifier: Apache-2.0
// Linked into the tests under a sanitizer: libraries stay loaded. Mesa's driver keeps allocations
// in its static variables; once it is unloaded nothing points to them, and the leak checker would
// report them without being able to say whose they are.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*library*/) noexcept {
    return 0;
}
