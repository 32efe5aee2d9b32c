/* Attributes and the order of their functions, info objects, classes of errors. */
#include "conformance.h"

static int copy(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    say("copy %ld %ld", (long)state, (long)in);
    *(void **)out = (void *)((long)in + 1);
    *flag = (long)in % 2 == 0;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key;
    say("delete %ld %ld", (long)state, (long)value);
    return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype datatype, int key, void *state, void *in, void *out, int *flag)
{
    (void)datatype, (void)key;
    say("copy type %ld %ld", (long)state, (long)in);
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype datatype, int key, void *value, void *state)
{
    (void)datatype, (void)key;
    say("delete type %ld %ld", (long)state, (long)value);
    return MPI_SUCCESS;
}

static void value(const char *what, MPI_Comm comm, int key)
{
    void *found = NULL;
    int flag = -1;
    MPI_Comm_get_attr(comm, key, &found, &flag);
    say("%s: %d %ld", what, flag, flag ? (long)found : 0);
}

void attributes(void)
{
    MPI_Comm comm, other;
    MPI_Datatype datatype, second;
    int key[3], kept, dup, nothing, flag, *found;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int n = 0; n < 3; n++)
        MPI_Comm_create_keyval(copy, delete, &key[n], (void *)(long)(n + 1));
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &nothing, NULL);
    value("unset", comm, key[0]);
    /* One attribute at a time: the standard does not say in which order several are copied or deleted. */
    MPI_Comm_set_attr(comm, key[0], (void *)20L);
    MPI_Comm_set_attr(comm, dup, (void *)5L);
    MPI_Comm_set_attr(comm, nothing, (void *)6L);
    MPI_Comm_dup(comm, &other);
    value("copied", other, key[0]);
    value("dup", other, dup);
    value("nothing", other, nothing);
    MPI_Comm_free(&other);
    MPI_Comm_set_attr(comm, key[0], (void *)21L);
    value("replaced", comm, key[0]);
    MPI_Comm_dup(comm, &other);
    value("not copied", other, key[0]);
    MPI_Comm_free(&other);
    MPI_Comm_delete_attr(comm, key[0]);
    value("deleted", comm, key[0]);
    MPI_Comm_set_attr(comm, key[1], (void *)30L);
    kept = key[1];
    MPI_Comm_free_keyval(&key[1]);
    say("invalid: %d", key[1] == MPI_KEYVAL_INVALID);
    value("of a freed key", comm, kept);
    MPI_Comm_free(&comm);
    say("freed");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag);
    say("tags: %d %d", flag, *found >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &found, &flag);
    say("time: %d", flag);
    int type_key;
    MPI_Type_create_keyval(copy_type, delete_type, &type_key, (void *)9L);
    MPI_Type_contiguous(2, MPI_INT, &datatype);
    MPI_Type_set_attr(datatype, type_key, (void *)8L);
    MPI_Type_dup(datatype, &second);
    MPI_Type_get_attr(second, type_key, &found, &flag);
    say("type: %d %ld", flag, (long)found);
    /* The key is freed after the duplicate: MPICH keeps the attributes of a datatype as long as others
       derived from it exist. */
    MPI_Type_delete_attr(second, type_key);
    MPI_Type_free(&second);
    MPI_Type_free(&datatype);
    MPI_Type_free_keyval(&type_key);
    MPI_Comm_free_keyval(&key[0]);
    MPI_Comm_free_keyval(&key[2]);
    MPI_Comm_free_keyval(&dup);
    MPI_Comm_free_keyval(&nothing);
}

void infos(void)
{
    MPI_Info info, copied;
    char text[100], key[MPI_MAX_INFO_KEY + 1];
    int n, flag, len;
    MPI_Info_create(&info);
    MPI_Info_set(info, "one", "1");
    MPI_Info_set(info, "two", "a longer value");
    MPI_Info_set(info, "three", "3");
    MPI_Info_set(info, "one", "first");
    MPI_Info_get_nkeys(info, &n);
    say("keys: %d", n);
    for (int i = 0; i < n; i++) {
        MPI_Info_get_nthkey(info, i, key);
        len = sizeof text;
        MPI_Info_get_string(info, key, &len, text, &flag);
        say("%s = %s, %d %d", key, text, len, flag);
    }
    len = 5;
    memset(text, 'x', sizeof text);
    MPI_Info_get_string(info, "two", &len, text, &flag);
    say("short: '%s' %d %d", text, len, flag);
    len = 0;
    MPI_Info_get_string(info, "two", &len, text, &flag);
    say("length: %d %d", len, flag);
    len = 10;
    MPI_Info_get_string(info, "four", &len, text, &flag);
    say("none: %d", flag);
    MPI_Info_dup(info, &copied);
    CODE(MPI_Info_delete(info, "two"));
    CODE(MPI_Info_delete(info, "two"));
    MPI_Info_get_nkeys(info, &n);
    say("keys: %d", n);
    MPI_Info_get_nkeys(copied, &n);
    say("keys of the copy: %d", n);
    MPI_Info_free(&info);
    MPI_Info_free(&copied);
    say("null: %d", info == MPI_INFO_NULL);
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    say("handler: world %d rank error %d", *comm == MPI_COMM_WORLD, class == MPI_ERR_RANK);
    handled++;
}

void errors(void)
{
    int one[4] = {0}, three[3] = {0}, n, class;
    MPI_Comm comm;
    MPI_Datatype made;
    MPI_Errhandler own, found;
    MPI_Status status;
    MPI_Group world;
    CODE(MPI_Send(one, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
    CODE(MPI_Send(one, 1, MPI_INT, -50, 0, MPI_COMM_WORLD));
    CODE(MPI_Recv(one, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status));
    CODE(MPI_Send(one, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    CODE(MPI_Send(one, 1, MPI_INT, 0, -1, MPI_COMM_WORLD));
    CODE(MPI_Send(one, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
    CODE(MPI_Comm_size(MPI_COMM_NULL, &n));
    CODE(MPI_Comm_dup(MPI_COMM_NULL, &comm));
    CODE(MPI_Bcast(one, 1, MPI_INT, size, MPI_COMM_WORLD));
    CODE(MPI_Bcast(one, 1, MPI_INT, -1, MPI_COMM_WORLD));
    CODE(MPI_Reduce(one, one + 1, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD));
    /* A negative count of MPI_Allreduce is left out: MPICH copies memory with it. */
    /* Null handles of operations and requests are left out: MPICH crashes on them. */
    CODE(MPI_Type_contiguous(-1, MPI_INT, &made));
    CODE(MPI_Type_free(&(MPI_Datatype){MPI_DATATYPE_NULL}));
    MPI_Type_contiguous(2, MPI_INT, &made);
    CODE(MPI_Send(one, 1, made, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    MPI_Type_free(&made);
    CODE(MPI_Group_size(MPI_GROUP_NULL, &n));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int bad[2] = {0, size};
    MPI_Group group;
    CODE(MPI_Group_incl(world, 2, bad, &group));
    /* A rank that is named twice is left out, and the remote size of an intracommunicator: MPICH permits
       both. */
    MPI_Group_free(&world);
    CODE(MPI_Cartdim_get(MPI_COMM_WORLD, &n));
    CODE(MPI_Comm_free_keyval(&(int){MPI_KEYVAL_INVALID}));
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    CODE(MPI_Sendrecv(three, 3, MPI_INT, next, 0, one, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &status));
    MPI_Request two[2];
    MPI_Status both[2];
    MPI_Irecv(one, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &two[0]);
    MPI_Isend(three, 2, MPI_INT, next, 0, MPI_COMM_WORLD, &two[1]);
    CODE(MPI_Waitall(2, two, both));
    MPI_Error_class(both[0].MPI_ERROR, &class);
    say("truncated: %d", class == MPI_ERR_TRUNCATE);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    MPI_Errhandler_free(&found);
    /* The returned code is left out: the handler's code by MPI 5.0, section 9.3.1, but success with MPICH. */
    MPI_Send(one, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_RANK);
    say("handled: %d", handled);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Send(one, 1, MPI_INT, size, 0, comm);
    say("handled: %d", handled);
    MPI_Comm_free(&comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    say("return: %d", found == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&own);
    int new_class, code, last = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&new_class);
    MPI_Add_error_code(new_class, &code);
    MPI_Add_error_string(code, "of our own");
    MPI_Error_string(code, text, &n);
    MPI_Error_class(code, &class);
    say("own: '%s' %d %d %d", text, n, class == new_class, last);
}
