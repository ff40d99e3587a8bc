/* SPDX-License-Identifier: Apache-2.0 */
/* A status, or a condition; what is not as it should be is told with the last error's text, and
 * ends the test. */
#ifndef CARILLON_TESTS_EXPECT_H
#define CARILLON_TESTS_EXPECT_H

#include <carillon.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition)                                                                      \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\nthe last error: %s\n", __FILE__, __LINE__, #condition, \
                    carillon_last_error());                                                    \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define EXPECT_OK(call) EXPECT((call) == CARILLON_OK)
#define EXPECT_ERROR(call, status, part) \
    EXPECT((call) == (status) && strstr(carillon_last_error(), part) != NULL)

static const int64_t patience = 30000000000; /* 30 s */

#endif
