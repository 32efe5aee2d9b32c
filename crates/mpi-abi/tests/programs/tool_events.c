/* Events of the tools interface: their data and receivers, dropped events, and the end of a registration. */
#include "check.h"
#include <pthread.h>
#include <stddef.h>

#define GIVES(code, call) CHECK((call) == (code))

enum { MANY = 4000, LONG = 1 << 20 };

struct unexpected {
    int source;
    unsigned tag, flow;
    unsigned long bytes;
};

struct seen {
    long events, of_flood, dropped, freed;
    MPI_T_cb_safety safety;
    MPI_Count stamp;
    struct unexpected last;
    MPI_T_event_instance instance;
    MPI_T_event_registration registration;
};

static MPI_T_event_registration listen_to(const char *name)
{
    int index = -1;
    MPI_T_event_registration registration;
    GIVES(MPI_SUCCESS, MPI_T_event_get_index(name, &index));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    return registration;
}

static void arrived(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    struct seen *seen = user;
    unsigned tag = 0;
    int source = -1;
    MPI_Count stamp = 0;
    seen->events++;
    seen->safety = safety;
    seen->instance = instance;
    CHECK(registration == seen->registration);
    GIVES(MPI_SUCCESS, MPI_T_event_copy(instance, &seen->last));
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 1, &tag));
    CHECK(tag == seen->last.tag);
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_event_read(instance, 4, &tag));
    GIVES(MPI_SUCCESS, MPI_T_event_get_source(instance, &source));
    GIVES(MPI_SUCCESS, MPI_T_event_get_timestamp(instance, &stamp));
    CHECK(source == 0 && stamp >= seen->stamp);
    seen->stamp = stamp;
    /* Messages of barriers, of any rank, may be unexpected too. */
    seen->of_flood += seen->last.source == 0 && seen->last.tag == 5;
}

static void dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *user)
{
    struct seen *seen = user;
    (void)safety;
    CHECK(registration == seen->registration && source == 0 && count > 0);
    seen->dropped += count;
}

static void freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    struct seen *seen = user;
    (void)safety;
    CHECK(registration == seen->registration);
    seen->freed++;
}

/* Rank 1 receives the last of rank 0's messages first, so the others arrive unexpected. */
static void flood(int rank, int messages)
{
    int got = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        for (int n = 0; n < messages; n++)
            OK(MPI_Send(&n, 1, MPI_INT, 1, 5, MPI_COMM_WORLD));
        OK(MPI_Send(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD));
    } else if (rank == 1) {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int n = 0; n < messages; n++) {
            OK(MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(got == n);
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void kinds(void)
{
    int num, len, elements, bind, items, sources, order, index;
    char name[64];
    MPI_Datatype types[4];
    MPI_Aint places[4];
    MPI_T_enum names;
    MPI_Info info;
    MPI_Count ticks, most, stamp;
    GIVES(MPI_SUCCESS, MPI_T_event_get_num(&num));
    for (int n = 0; n < num; n++) {
        len = sizeof(name), elements = 4;
        GIVES(MPI_SUCCESS, MPI_T_event_get_info(n, name, &len, NULL, types, places, &elements, &names, &info, NULL, NULL, &bind));
        GIVES(MPI_SUCCESS, MPI_T_event_get_index(name, &index));
        CHECK(index == n && elements > 0 && elements <= 4 && places[0] == 0 && bind == MPI_T_BIND_NO_OBJECT);
        GIVES(MPI_SUCCESS, MPI_T_enum_get_info(names, &items, NULL, NULL));
        CHECK(items == elements);
        OK(MPI_Info_free(&info));
    }
    GIVES(MPI_SUCCESS, MPI_T_event_get_index("unexpected_arrived", &index));
    elements = 4;
    GIVES(MPI_SUCCESS, MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &elements, NULL, NULL, NULL, NULL, NULL));
    CHECK(types[0] == MPI_INT && types[1] == MPI_UNSIGNED && types[3] == MPI_UNSIGNED_LONG);
    CHECK(places[1] == offsetof(struct unexpected, tag) && places[3] == offsetof(struct unexpected, bytes));
    elements = 0;
    GIVES(MPI_SUCCESS, MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &elements, NULL, NULL, NULL, NULL, NULL));
    CHECK(elements == 4);
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_event_get_index("no such event", &index));
    GIVES(MPI_SUCCESS, MPI_T_source_get_num(&sources));
    len = sizeof(name);
    GIVES(MPI_SUCCESS, MPI_T_source_get_info(0, name, &len, NULL, NULL, (MPI_T_source_order *)&order, &ticks, &most, NULL));
    GIVES(MPI_SUCCESS, MPI_T_source_get_timestamp(0, &stamp));
    CHECK(sources == 1 && order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > stamp && stamp > 0);
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_source_get_timestamp(1, &stamp));
}

static void unexpected_ones(int rank)
{
    static struct seen seen;
    unsigned tag;
    MPI_Info info;
    seen.registration = listen_to("unexpected_arrived");
    GIVES(MPI_T_ERR_INVALID, MPI_T_event_register_callback(seen.registration, (MPI_T_cb_safety)5, MPI_INFO_NULL, &seen, arrived));
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(seen.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen, arrived));
    GIVES(MPI_SUCCESS, MPI_T_event_set_dropped_handler(seen.registration, dropped));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_get_info(seen.registration, &info));
    GIVES(MPI_SUCCESS, MPI_T_event_handle_set_info(seen.registration, info));
    OK(MPI_Info_free(&info));
    GIVES(MPI_SUCCESS, MPI_T_event_callback_get_info(seen.registration, MPI_T_CB_REQUIRE_NONE, &info));
    GIVES(MPI_SUCCESS, MPI_T_event_callback_set_info(seen.registration, MPI_T_CB_REQUIRE_NONE, info));
    OK(MPI_Info_free(&info));
    flood(rank, 3);
    if (rank == 1) {
        CHECK(seen.events >= 3 && seen.dropped == 0 && seen.safety == MPI_T_CB_REQUIRE_NONE);
        CHECK(seen.of_flood == 3);
    }
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_read(seen.instance, 1, &tag));
    long before = seen.events;
    flood(rank, MANY);
    if (rank == 1)
        CHECK(seen.dropped > 0 && seen.events - before + seen.dropped >= MANY);
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(seen.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL));
    before = seen.events;
    flood(rank, 3);
    CHECK(seen.events == before);
    GIVES(MPI_SUCCESS, MPI_T_event_handle_free(seen.registration, &seen, freed));
    CHECK(seen.freed == 1);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_event_handle_free(seen.registration, &seen, freed));
}

static int chosen_long;

static void chosen(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user)
{
    unsigned long bytes = 0;
    int is_sender = -1, peer = -1;
    (void)safety, (void)user;
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 0, &peer));
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 2, &is_sender));
    GIVES(MPI_SUCCESS, MPI_T_event_read(instance, 3, &bytes));
    if (bytes == LONG) {
        CHECK(peer == 0 && !is_sender);
        chosen_long++;
        /* A callback may free its own registration, and send messages. */
        GIVES(MPI_SUCCESS, MPI_T_event_handle_free(registration, NULL, NULL));
        OK(MPI_Sendrecv_replace(&peer, 1, MPI_INT, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    }
}

static void long_ones(int rank)
{
    static char buffer[LONG];
    MPI_T_event_registration registration = listen_to("protocol_chosen");
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, chosen));
    for (int n = 0; n < 2; n++) {
        if (rank == 0)
            OK(MPI_Send(buffer, LONG, MPI_CHAR, 1, 2, MPI_COMM_WORLD));
        else if (rank == 1)
            OK(MPI_Recv(buffer, LONG, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(chosen_long == (rank == 1));
}

int main(int argc, char **argv)
{
    int provided, rank;
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    kinds();
    /* A registration before MPI_Init gets events, too. */
    static struct seen early;
    early.registration = listen_to("unexpected_arrived");
    GIVES(MPI_SUCCESS, MPI_T_event_register_callback(early.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &early, arrived));
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    flood(rank, 2);
    CHECK(early.events >= 2 || rank != 1);
    unexpected_ones(rank);
    long_ones(rank);
    OK(MPI_Finalize());
    GIVES(MPI_SUCCESS, MPI_T_finalize());
    return result();
}
