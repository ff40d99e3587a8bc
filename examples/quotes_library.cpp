// SPDX-License-Identifier: Apache-2.0
// The kernel of quotes_owner.cpp as a shared library, whose owner is the command:
//   carillon serve PATH --library libquotes.so
#include <carillon/served_kernel.hpp>

#include "quotes.hpp"

CARILLON_SERVED_KERNEL(Reprice)
