// SPDX-License-Identifier: Apache-2.0
// Relacy Race Detector without the macros by which relacy.hpp renames `new`, `assert`,
// `memory_order_acquire` and others: they break the standard's headers and ours.
#pragma once

#include <relacy/base.hpp>
// First: the others need it.
#include <relacy/atomic.hpp>
#include <relacy/atomic_fence.hpp>
#include <relacy/backoff.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/event.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/thread_local.hpp>
#include <relacy/var.hpp>
#undef $
