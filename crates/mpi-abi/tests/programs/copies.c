/* Duplicates of a communicator: attributes and handler at the time of the call, without hints, or with added
   hints. */
#include "check.h"

static int deletions;

static int forget(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value, (void)state;
    deletions++;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *state, void *value, void *copied, int *flag)
{
    (void)comm, (void)keyval, (void)state, (void)value, (void)copied, (void)flag;
    return MPI_ERR_OTHER;
}

static const char *hint(MPI_Comm comm, const char *key)
{
    static char value[MPI_MAX_INFO_VAL];
    MPI_Info info;
    int flag = 0, len = sizeof value;
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get_string(info, key, &len, value, &flag));
    OK(MPI_Info_free(&info));
    return flag ? value : "";
}

static void set_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Info_free(&info));
}

/* Changes after the call affect only the original. */
static void as_of_the_call(void)
{
    MPI_Comm comm, copy;
    MPI_Info info;
    MPI_Request request;
    MPI_Errhandler handler;
    int kept, gone, late, flag = -1;
    void *value = NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &gone, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &late, NULL));
    OK(MPI_Comm_set_attr(comm, kept, (void *)1));
    OK(MPI_Comm_set_attr(comm, gone, (void *)2));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_idup_with_info(comm, info, &copy, &request));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
    OK(MPI_Comm_set_attr(comm, kept, (void *)3));
    OK(MPI_Comm_delete_attr(comm, gone));
    OK(MPI_Comm_set_attr(comm, late, (void *)4));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(copy, kept, &value, &flag));
    CHECK(flag && value == (void *)1);
    OK(MPI_Comm_get_attr(copy, gone, &value, &flag));
    CHECK(flag && value == (void *)2);
    OK(MPI_Comm_get_attr(copy, late, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_get_errhandler(copy, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    CHECK(strcmp(hint(copy, "mpi_assert_no_any_tag"), "true") == 0);
    CHECK(deletions == 1);
    OK(MPI_Comm_free(&copy));
    CHECK(deletions == 2);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free_keyval(&kept));
    OK(MPI_Comm_free_keyval(&gone));
    OK(MPI_Comm_free_keyval(&late));
}

/* The request fails on all ranks, and attributes copied before the failure are deleted. */
static void copies_that_fail(void)
{
    MPI_Comm comm, copy;
    MPI_Request request;
    int fine, wrong, before;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &fine, NULL));
    OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &wrong, NULL));
    OK(MPI_Comm_set_attr(comm, fine, NULL));
    OK(MPI_Comm_set_attr(comm, wrong, NULL));
    before = deletions;
    FAILS(MPI_ERR_OTHER, MPI_Comm_dup(comm, &copy));
    CHECK(deletions == before + 1);
    OK(MPI_Comm_idup(comm, &copy, &request));
    FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(deletions == before + 2);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&fine));
    OK(MPI_Comm_free_keyval(&wrong));
}

static void hints(void)
{
    MPI_Comm comm, copy;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    set_hint(comm, "mpi_assert_no_any_tag", "true");
    set_hint(comm, "mpi_assert_no_any_source", "true");
    CHECK(strcmp(hint(comm, "mpi_assert_no_any_tag"), "true") == 0);
    CHECK(strcmp(hint(comm, "mpi_assert_no_any_source"), "true") == 0);
    set_hint(comm, "mpi_assert_no_any_tag", "false");
    CHECK(strcmp(hint(comm, "mpi_assert_no_any_tag"), "false") == 0);
    CHECK(strcmp(hint(comm, "mpi_assert_no_any_source"), "true") == 0);
    /* Unknown keys and wrong values are ignored; the kinds of memory can be read, not set. */
    set_hint(comm, "mpi_assert_no_any_tag", "perhaps");
    CHECK(strcmp(hint(comm, "mpi_assert_no_any_tag"), "false") == 0);
    set_hint(comm, "mpi_memory_alloc_kinds", "nothing");
    CHECK(strcmp(hint(comm, "mpi_memory_alloc_kinds"), "mpi,system") == 0);
    set_hint(comm, "unknown", "value");
    CHECK(strcmp(hint(comm, "unknown"), "") == 0);
    /* Duplicates have none of these hints (MPI 4.0), and report the defaults. */
    OK(MPI_Comm_dup(comm, &copy));
    CHECK(strcmp(hint(copy, "mpi_assert_no_any_source"), "false") == 0);
    CHECK(strcmp(hint(copy, "mpi_assert_exact_length"), "false") == 0);
    CHECK(strcmp(hint(copy, "mpi_assert_allow_overtaking"), "false") == 0);
    CHECK(strcmp(hint(copy, "mpi_assert_strict_start_ordering"), "false") == 0);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    as_of_the_call();
    copies_that_fail();
    hints();
    OK(MPI_Finalize());
    return result();
}
