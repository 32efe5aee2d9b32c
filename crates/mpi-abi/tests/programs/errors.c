/* Error classes, codes and strings, and the handlers of files. */
#include "check.h"

static char text[MPI_MAX_ERROR_STRING];
static int len;

static int last_used(void)
{
    int *value = NULL, flag = 0;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    return flag ? *value : -1;
}

static void own(void)
{
    int class = 0, code = 0, found = -1;
    CHECK(last_used() == MPI_ERR_LASTCODE);
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    CHECK(class > MPI_ERR_LASTCODE && code == class + 1 && last_used() == code);
    OK(MPI_Add_error_string(code, "of the program"));
    OK(MPI_Error_string(code, text, &len));
    CHECK(strcmp(text, "of the program") == 0 && len == 14);
    OK(MPI_Error_string(class, text, &len));
    CHECK(len == 0 && text[0] == 0);
    OK(MPI_Error_class(code, &found));
    CHECK(found == class);
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_RANK, "something else"));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_class(class));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_code(code));
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    CHECK(last_used() == class);
    OK(MPI_Remove_error_class(class));
    CHECK(last_used() == MPI_ERR_LASTCODE);
    FAILS(MPI_ERR_ARG, MPI_Error_class(code, &found));
    FAILS(MPI_ERR_ARG, MPI_Error_class(-1, &found));
    FAILS(MPI_ERR_ARG, MPI_Error_string(code, text, &len));
}

static void standard(void)
{
    int found = -1, size, code;
    for (int class = MPI_ERR_BUFFER; class <= MPI_ERR_ABI; class++) {
        OK(MPI_Error_class(class, &found));
        CHECK(found == class);
        OK(MPI_Error_string(class, text, &len));
        CHECK(strncmp(text, "MPI_ERR_", 8) == 0 && len == (int)strlen(text));
    }
    OK(MPI_Error_class(MPI_SUCCESS, &found));
    CHECK(found == MPI_SUCCESS);
    OK(MPI_Error_string(MPI_SUCCESS, text, &len));
    code = MPI_Comm_size(MPI_COMM_NULL, &size);
    OK(MPI_Error_string(code, text, &len));
    CHECK(strstr(text, "MPI_Comm_size") != NULL);
}

static int instead;

static void of_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = instead;
}

/* A call returns the code that its handler sets. */
static void changed(void)
{
    MPI_Errhandler handler;
    MPI_Request request;
    OK(MPI_Comm_create_errhandler(of_comm, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    instead = MPI_SUCCESS;
    CHECK(MPI_Send(NULL, 0, MPI_INT, 1000, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK) == MPI_SUCCESS);
    OK(MPI_Add_error_class(&instead));
    CHECK(MPI_Isend(NULL, 0, MPI_INT, 1000, 0, MPI_COMM_WORLD, &request) == instead);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK) == MPI_SUCCESS);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Remove_error_class(instead));
}

/* A query for a handler returns the program's own handle; each returned handle is freed once. */
static void asked(void)
{
    MPI_Errhandler handler, found, again;
    OK(MPI_Comm_create_errhandler(of_comm, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
    CHECK(found == handler);
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &again));
    CHECK(again == found);
    OK(MPI_Errhandler_free(&again));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, found));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    handler = found;
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
    CHECK(found != handler && found != MPI_ERRORS_RETURN);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&found));
    FAILS(MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&handler));
}

static int called, last_file_code;

static void of_file(MPI_File *file, int *code, ...)
{
    called++;
    last_file_code = *code;
    CHECK(*file == MPI_FILE_NULL);
}

static void files(void)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, found;
    MPI_File file = MPI_FILE_NULL;
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_File_open(MPI_COMM_SELF, "nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(of_file, &handler));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK(called == 1 && last_file_code == MPI_ERR_IO);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&handler));
    FAILS(MPI_ERR_FILE, MPI_File_get_errhandler((MPI_File)0x12345, &found));
}

/* The tools interface calls no handler (MPI 5.0, 15.3.9). */
static void tools(void)
{
    int n = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_T_cvar_get_num(NULL) != MPI_SUCCESS);
    CHECK(MPI_T_category_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, &n) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    own();
    standard();
    changed();
    asked();
    files();
    tools();
    OK(MPI_Finalize());
    return result();
}
