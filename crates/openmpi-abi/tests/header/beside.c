/* Extensions of Open MPI's header: split types, datatypes, limits of info objects, addresses for Fortran. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int holds, int which) {
    if (holds) return;
    printf("check %d does not hold\n", which);
    MPI_Abort(MPI_COMM_WORLD, which);
}

static int split(int type) {
    MPI_Comm part = MPI_COMM_NULL;
    int size = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part);
    if (part == MPI_COMM_NULL) return 0;
    MPI_Comm_size(part, &size);
    MPI_Comm_free(&part);
    return size;
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void infos(void) {
    char text[300];
    MPI_Info info;
    MPI_Info_create(&info);
    memset(text, 'a', sizeof text);
    text[MPI_MAX_INFO_KEY] = 0;
    expect(class_of(MPI_Info_set(info, text, "value")) == MPI_ERR_INFO_KEY, 10);
    text[MPI_MAX_INFO_KEY - 1] = 0;
    expect(MPI_Info_set(info, text, "value") == MPI_SUCCESS, 11);
    char key[MPI_MAX_INFO_KEY];
    MPI_Info_get_nthkey(info, 0, key);
    expect(strcmp(key, text) == 0, 12);
    memset(text, 'b', sizeof text);
    text[MPI_MAX_INFO_VAL] = 0;
    expect(class_of(MPI_Info_set(info, "key", text)) == MPI_ERR_INFO_VALUE, 13);
    text[MPI_MAX_INFO_VAL - 1] = 0;
    expect(MPI_Info_set(info, "key", text) == MPI_SUCCESS, 14);
    MPI_Info_free(&info);
}

static void datatypes(int rank, int ranks) {
    MPI_Datatype types[2] = {MPI_2COMPLEX, MPI_2DOUBLE_COMPLEX};
    for (int n = 0; n < 2; n++) {
        int bytes;
        float sent[8], got[8];
        MPI_Type_size(types[n], &bytes);
        for (int at = 0; at < 8; at++) sent[at] = 10 * rank + at, got[at] = -1;
        MPI_Sendrecv(sent, 1, types[n], (rank + 1) % ranks, 0, got, 1, types[n], (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank %d: %d is a datatype of %d bytes:", rank, MPI_Type_c2f(types[n]), bytes);
        for (int at = 0; at < 8; at++) printf(" %g", got[at]);
        printf("\n");
    }
}

/* The interface that a later release's Fortran library needs: a string is an object that its last holder
   frees. */
struct class {
    void *name, *parent, *construct, *destruct;
    int initialized, depth;
    void **constructors;
    void (**destructors)(void *);
    size_t bytes;
};
struct counted {
    struct class *class;
    int references;
    size_t length;
    char before_first, first[1];
};

static void release(struct counted *string) {
    if (--string->references > 0) return;
    for (void (**call)(void *) = string->class->destructors; *call; call++) (*call)(string);
    free(string);
}

static void counted_strings(void) {
    int (*get)(MPI_Info, const char *, struct counted **, int *) = dlsym(RTLD_DEFAULT, "ompi_info_get");
    int (*get_length)(MPI_Info, const char *, int *, int *) = dlsym(RTLD_DEFAULT, "ompi_info_get_valuelen");
    int (*get_key)(MPI_Info, int, struct counted **) = dlsym(RTLD_DEFAULT, "ompi_info_get_nthkey");
    struct counted *string = NULL;
    MPI_Info info;
    int flag = -1, length = -1;
    expect(get && get_length && get_key, 40);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "the value");
    expect(get(info, "key", &string, &flag) == MPI_SUCCESS && flag == 1, 41);
    expect(string->length == 9 && strcmp(string->first, "the value") == 0, 42);
    release(string);
    expect(get(info, "none", &string, &flag) == MPI_SUCCESS && flag == 0, 43);
    expect(get_length(info, "key", &length, &flag) == MPI_SUCCESS && flag == 1 && length == 9, 44);
    expect(get_key(info, 0, &string) == MPI_SUCCESS && strcmp(string->first, "key") == 0, 45);
    release(string);
    string = NULL;
    expect(get_key(info, 1, &string) != MPI_SUCCESS && string == NULL, 46);
    MPI_Info_free(&info);
}

/* Sessions came with a later release. */
static void sessions(void) {
    int (*init)(MPI_Info, MPI_Errhandler, void **) = dlsym(RTLD_DEFAULT, "MPI_Session_init");
    int (*set_info)(void *, MPI_Info) = dlsym(RTLD_DEFAULT, "MPI_Session_set_info");
    int (*finalize)(void **) = dlsym(RTLD_DEFAULT, "MPI_Session_finalize");
    if (!init) return;
    void *session;
    MPI_Info info;
    expect(set_info && finalize && init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS, 30);
    MPI_Info_create(&info);
    expect(set_info(session, info) == MPI_SUCCESS, 31);
    MPI_Info_free(&info);
    expect(finalize(&session) == MPI_SUCCESS, 32);
    counted_strings();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int type = OMPI_COMM_TYPE_HWTHREAD; type <= OMPI_COMM_TYPE_CLUSTER; type++) expect(split(type) > 0, type);
    printf("rank %d: nodes, boards, hosts, clusters of %d %d %d %d\n", rank, split(OMPI_COMM_TYPE_NODE), split(OMPI_COMM_TYPE_BOARD), split(OMPI_COMM_TYPE_HOST),
           split(OMPI_COMM_TYPE_CLUSTER));
    infos();
    datatypes(rank, ranks);
    expect(MPI_F_STATUS_IGNORE == dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_") && MPI_F_STATUS_IGNORE, 20);
    expect(MPI_F_STATUSES_IGNORE == dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore_") && MPI_F_STATUSES_IGNORE, 21);
    sessions();
    MPI_Finalize();
}
