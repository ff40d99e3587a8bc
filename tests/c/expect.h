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
/* Its text and its details name the call, and the text has `part`. */
#define EXPECT_ERROR(call, expected, part)                           \
    EXPECT((call) == (expected) && last_error_is(#call, expected) && \
           strstr(carillon_last_error(), part) != NULL)

/* `call`: as it is written, with its arguments. */
static inline int last_error_is(char const* call, carillon_status status) {
    size_t const length = strcspn(call, "(");
    char const* const text = carillon_last_error();
    carillon_error_details details = {.size = sizeof(details)};
    return strncmp(text, call, length) == 0 && strncmp(text + length, ": ", 2) == 0 &&
           carillon_last_error_details(&details) == CARILLON_OK && details.status == status &&
           strlen(details.call) == length && strncmp(details.call, call, length) == 0;
}
static inline carillon_error_details last_details(void) {
    carillon_error_details details = {.size = sizeof(details)};
    EXPECT_OK(carillon_last_error_details(&details));
    return details;
}

static const int64_t patience = 30000000000; /* 30 s */

#endif
