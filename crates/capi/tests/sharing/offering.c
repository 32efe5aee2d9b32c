/* A library by the name of MPI's that offers an engine to the other libraries of its process, as Canelé's own do.
 *
 * VERSION is its sharing version; without it the library is one from before versions existed. */
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
    /* No other version may touch this. */
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
