/* A library with the name of MPI's that offers an engine to the other libraries of its process, like Canelé's
 * own libraries.
 *
 * VERSION is its sharing version; without it the library is older than sharing versions. */
#include <stdbool.h>
#include <stdint.h>

struct answer {
    const void *copy;
    bool has_value;
    const void *value;
};

struct answer canele_offer(uint64_t identity);

struct answer canele_offer(uint64_t identity)
{
    static const char copy;
    (void)identity;
#ifdef NOTHING
    return (struct answer){&copy, false, 0};
#elif defined VALUE
    /* A library of another version must not access this pointer. */
    return (struct answer){&copy, true, (const void *)16};
#else
    return (struct answer){&copy, true, 0};
#endif
}

#ifdef VERSION
uint32_t canele_offer_version(void);

uint32_t canele_offer_version(void)
{
    return VERSION;
}
#endif
