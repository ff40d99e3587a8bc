// SPDX-License-Identifier: Apache-2.0
// Words that headers of others make macros: no header of the library uses one.
#pragma once

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

// Programs' own
#define CHECK(condition)
#define check(condition)
#define DEBUG 1
#define ERROR 0
#define INFO 1
#define LOG(level)
#define OPTIONAL
