/* Info objects: pairs in their order, values cut for want of room, and data about the program's start. */
#include "check.h"

/* Checks pairs of an info object; with `errors`, wrong calls too, once errors are returned. */
static void pairs(int errors)
{
    MPI_Info info, copy;
    int n = -1, flag = -1, len;
    char value[16], key[MPI_MAX_INFO_KEY];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "first", "a value"));
    OK(MPI_Info_set(info, "second", "two"));
    OK(MPI_Info_set(info, "first", "another one"));
    OK(MPI_Info_get_nkeys(info, &n));
    CHECK(n == 2);
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "first") == 0);

    len = 8;
    OK(MPI_Info_get_string(info, "first", &len, value, &flag));
    CHECK(flag && len == 12 && strcmp(value, "another") == 0);
    len = 0;
    OK(MPI_Info_get_string(info, "first", &len, NULL, &flag));
    CHECK(flag && len == 12);
    len = 5;
    OK(MPI_Info_get_string(info, "third", &len, value, &flag));
    CHECK(!flag && len == 5);
    OK(MPI_Info_get(info, "first", 7, value, &flag));
    CHECK(flag && strcmp(value, "another") == 0);
    OK(MPI_Info_get_valuelen(info, "first", &len, &flag));
    CHECK(flag && len == 11);

    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "first"));
    OK(MPI_Info_get_nkeys(copy, &n));
    CHECK(n == 2);
    if (errors) {
        FAILS(MPI_ERR_ARG, MPI_Info_get_nthkey(info, 2, key));
        FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "first"));
        FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "value"));
        FAILS(MPI_ERR_ARG, MPI_Info_set(info, NULL, "value"));
    }
    OK(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    if (errors)
        FAILS(MPI_ERR_INFO, MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
}

static void expect(MPI_Info info, const char *key, const char *expected)
{
    char value[64];
    int len = sizeof value, flag = 0;
    OK(MPI_Info_get_string(info, key, &len, value, &flag));
    CHECK(flag);
    if (flag && strcmp(value, expected) != 0) {
        fprintf(stderr, "%s is %s, not %s\n", key, value, expected);
        failures++;
    }
}

int main(int argc, char **argv)
{
    /* Info objects can be used before MPI_Init. */
    pairs(0);
    MPI_Info info, used;
    char *made[] = {"program", "-n", "3", NULL}, number[16];
    char most[MPI_MAX_INFO_VAL], host[MPI_MAX_INFO_VAL];
    int most_len = sizeof most, host_len = sizeof host, found;
    OK(MPI_Info_create_env(3, made, &info));
    expect(info, "command", "program");
    expect(info, "argv", "-n 3");
    OK(MPI_Info_get_string(info, "maxprocs", &most_len, most, &found));
    CHECK(found);
    OK(MPI_Info_get_string(info, "host", &host_len, host, &found));
    CHECK(found);
    OK(MPI_Info_free(&info));

    start(&argc, &argv);
    pairs(1);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(number, sizeof number, "%d", size);
    expect(MPI_INFO_ENV, "maxprocs", number);
    /* The values known before MPI_Init are unchanged. */
    expect(MPI_INFO_ENV, "maxprocs", most);
    expect(MPI_INFO_ENV, "host", host);
    /* The kinds of memory that the argument says the program asked for; two kinds are always supported. */
    int flag = -1;
    OK(MPI_Info_get_valuelen(MPI_INFO_ENV, "mpi_memory_alloc_kinds", &found, &flag));
    CHECK(flag == (argc > 1));
    if (argc > 1)
        expect(MPI_INFO_ENV, "mpi_memory_alloc_kinds", argv[1]);
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    expect(used, "mpi_memory_alloc_kinds", argc > 1 ? "mpi,system,mpi:alloc_mem" : "mpi,system");
    OK(MPI_Info_free(&used));
    info = MPI_INFO_ENV;
    FAILS(MPI_ERR_INFO, MPI_Info_free(&info));
    FAILS(MPI_ERR_INFO, MPI_Info_set(MPI_INFO_ENV, "key", "value"));

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    expect(used, "mpi_assert_no_any_tag", "true");
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Finalize());
    return result();
}
