/* Checks of a datatype: its bounds, the bytes that travel, and its constructor. */
static unsigned char memory[4096], received[4096], packed[4096];

/* Checks size, lower bound, extent, and the true ones. */
static void bounds(int line, MPI_Datatype type, int size, long lb, long extent, long true_lb, long true_extent)
{
    int got_size;
    MPI_Aint got_lb, got_extent, got_true_lb, got_true_extent;
    MPI_Count large[5];
    OK(MPI_Type_size(type, &got_size));
    OK(MPI_Type_get_extent(type, &got_lb, &got_extent));
    OK(MPI_Type_get_true_extent(type, &got_true_lb, &got_true_extent));
    if (got_size != size || got_lb != lb || got_extent != extent || got_true_lb != true_lb
        || got_true_extent != true_extent) {
        fprintf(stderr, "line %d: size %d, bounds %ld %ld, true ones %ld %ld\n", line, got_size, (long)got_lb,
                (long)got_extent, (long)got_true_lb, (long)got_true_extent);
        failures++;
    }
    OK(MPI_Type_size_x(type, &large[0]));
    OK(MPI_Type_get_extent_x(type, &large[1], &large[2]));
    OK(MPI_Type_get_true_extent_x(type, &large[3], &large[4]));
    CHECK(large[0] == size && large[1] == lb && large[2] == extent && large[3] == true_lb && large[4] == true_extent);
    OK(MPI_Type_size_c(type, &large[0]));
    OK(MPI_Type_get_extent_c(type, &large[1], &large[2]));
    OK(MPI_Type_get_true_extent_c(type, &large[3], &large[4]));
    CHECK(large[0] == size && large[1] == lb && large[2] == extent && large[3] == true_lb && large[4] == true_extent);
}
#define BOUNDS(...) bounds(__LINE__, __VA_ARGS__)

/* Sends elements to this rank as they are and as bytes, packs and unpacks them: only the bytes at `places`
   may arrive. */
static void travels(int line, MPI_Datatype type, int count, const int *places, int n)
{
    unsigned char *from = memory + 2048, *to = received + 2048;
    MPI_Status status;
    int position = 0, again = 0, size, bytes, elements, before = failures;
    OK(MPI_Type_commit(&type));
    OK(MPI_Pack_size(count, type, MPI_COMM_SELF, &size));
    CHECK(size == n);
    OK(MPI_Pack(from, count, type, packed, sizeof packed, &position, MPI_COMM_SELF));
    CHECK(position == n);
    for (int i = 0; i < n; i++)
        CHECK(packed[i] == from[places[i]]);
    for (int way = 0; way < 3; way++) {
        memset(received, 0xee, sizeof received);
        if (way == 0) {
            OK(MPI_Sendrecv(from, count, type, 0, 1, to, count, type, 0, 1, MPI_COMM_SELF, &status));
            OK(MPI_Get_count(&status, type, &elements));
            CHECK(elements == count);
            OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
            CHECK(bytes == n);
        } else if (way == 1) {
            OK(MPI_Sendrecv(packed, n, MPI_PACKED, 0, 1, to, count, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Unpack(packed, n, &again, to, count, type, MPI_COMM_SELF));
            CHECK(again == n);
        }
        int untouched = 0;
        for (int i = 0; i < (int)sizeof received; i++)
            untouched += received[i] == 0xee;
        for (int i = 0; i < n; i++)
            CHECK(to[places[i]] == from[places[i]]);
        CHECK(untouched == (int)sizeof received - n);
    }
    if (failures != before)
        fprintf(stderr, "line %d: the elements did not arrive\n", line);
}
#define TRAVELS(type, count, ...)                                                                                      \
    do {                                                                                                               \
        int places[] = {__VA_ARGS__};                                                                                  \
        travels(__LINE__, type, count, places, sizeof places / sizeof *places);                                       \
    } while (0)

/* Checks the constructor of a datatype, and its arguments as one list. */
static void made(int line, MPI_Datatype type, int combiner, int integers, int addresses, const long *expected)
{
    int is[32], ni, na, nd, got, before = failures;
    MPI_Aint as[8];
    MPI_Datatype ds[4];
    MPI_Count large[4];
    OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &got));
    CHECK(ni == integers && na == addresses && got == combiner);
    OK(MPI_Type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &got));
    CHECK(large[0] == ni && large[1] == na && large[2] == 0 && large[3] == nd && got == combiner);
    OK(MPI_Type_get_contents(type, 32, 8, 4, is, as, ds));
    for (int i = 0; i < ni; i++)
        CHECK(is[i] == expected[i]);
    for (int i = 0; i < na; i++)
        CHECK(as[i] == expected[ni + i]);
    for (int i = 0; i < nd; i++) {
        int inner;
        OK(MPI_Type_get_envelope(ds[i], &ni, &na, &ni, &inner));
        if (inner != MPI_COMBINER_NAMED)
            OK(MPI_Type_free(&ds[i]));
    }
    if (failures != before)
        fprintf(stderr, "line %d: the contents differ\n", line);
}
#define MADE(type, combiner, integers, addresses, ...)                                                                 \
    do {                                                                                                               \
        long expected[] = {__VA_ARGS__};                                                                               \
        made(__LINE__, type, combiner, integers, addresses, expected);                                                 \
    } while (0)
