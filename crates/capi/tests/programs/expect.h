/* Checks of calls' results for the programs of this folder. */
#ifndef EXPECT_H
#define EXPECT_H

#include <canele.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t WAIT_NS = UINT64_C(30000000000);

/* Checks a condition; if it is false, prints its place and ends the rank. */
#define EXPECT(condition)                                                                                     \
    do {                                                                                                      \
        if (!(condition)) {                                                                                   \
            fprintf(stderr, "%s:%d: %s; the last error: %s\n", __FILE__, __LINE__, #condition, canele_error_text()); \
            exit(1);                                                                                          \
        }                                                                                                     \
    } while (0)

/* Checks that a call succeeds. */
#define OK(call) EXPECT((call) == CANELE_OK)

/* Checks that a call fails with this code, and that the error text contains these words. */
#define FAILS(code, words, call)                                                                              \
    do {                                                                                                      \
        EXPECT((call) == CANELE_ERROR_##code);                                                                \
        EXPECT(strstr(canele_error_text(), words) != NULL);                                                   \
    } while (0)

#endif
