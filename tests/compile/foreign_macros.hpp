// SPDX-License-Identifier: Apache-2.0
// Words that headers of others make macros: no header of the library uses one. Those of the
// standard library do, and come before.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

// Qt
#define emit
#define forever for (;;)
#define foreach(variable, container) for (variable : container)
#define signals public
#define slots

// X11
#define Above 0
#define Always 2
#define Below 1
#define Bool int
#define Complex 0
#define Convex 2
#define CurrentTime 0L
#define CursorShape 0
#define Expose 12
#define False 0
#define FocusIn 9
#define GrayScale 1
#define KeyPress 2
#define None 0L
#define Opposite 4
#define Status int
#define Success 0
#define True 1
#define Unsorted 0

// The C library, and GNU's dialects
#include <sys/sysmacros.h>  // major, minor, makedev
#if !defined(linux) || !defined(unix)
#error not a GNU dialect
#endif

// Windows, and programs' own
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define CHECK(condition)
#define check(condition)
#define DEBUG 1
#define ERROR 0
#define INFO 1
#define LOG(level)
#define OPTIONAL
