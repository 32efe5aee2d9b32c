/* The tools interface, without the variables that differ between implementations. */
#include "conformance.h"

enum { TEXT = 4096 };

static const char *error_name(int code)
{
    return code == MPI_SUCCESS                    ? "success"
           : code == MPI_T_ERR_NOT_INITIALIZED    ? "not initialized"
           : code == MPI_T_ERR_INVALID_INDEX      ? "invalid index"
           : code == MPI_T_ERR_INVALID_NAME       ? "invalid name"
           : code == MPI_T_ERR_INVALID_HANDLE     ? "invalid handle"
           : code == MPI_T_ERR_INVALID_SESSION    ? "invalid session"
           : code == MPI_T_ERR_INVALID            ? "invalid"
           : code == MPI_T_ERR_CVAR_SET_NOT_NOW   ? "not now"
           : code == MPI_T_ERR_CVAR_SET_NEVER     ? "never"
           : code == MPI_T_ERR_PVAR_NO_STARTSTOP  ? "no start or stop"
           : code == MPI_T_ERR_PVAR_NO_WRITE      ? "no write"
                                                  : "?";
}

#define TOLD(call) say("%s -> %s", #call, error_name(call))

static int is_verbosity(int level)
{
    return level == MPI_T_VERBOSITY_USER_BASIC || level == MPI_T_VERBOSITY_USER_DETAIL || level == MPI_T_VERBOSITY_USER_ALL ||
           level == MPI_T_VERBOSITY_TUNER_BASIC || level == MPI_T_VERBOSITY_TUNER_DETAIL || level == MPI_T_VERBOSITY_TUNER_ALL ||
           level == MPI_T_VERBOSITY_MPIDEV_BASIC || level == MPI_T_VERBOSITY_MPIDEV_DETAIL || level == MPI_T_VERBOSITY_MPIDEV_ALL;
}

static int is_binding(int bind)
{
    return bind == MPI_T_BIND_NO_OBJECT || bind == MPI_T_BIND_MPI_COMM || bind == MPI_T_BIND_MPI_DATATYPE ||
           bind == MPI_T_BIND_MPI_ERRHANDLER || bind == MPI_T_BIND_MPI_FILE || bind == MPI_T_BIND_MPI_GROUP ||
           bind == MPI_T_BIND_MPI_OP || bind == MPI_T_BIND_MPI_REQUEST || bind == MPI_T_BIND_MPI_WIN ||
           bind == MPI_T_BIND_MPI_MESSAGE || bind == MPI_T_BIND_MPI_INFO || bind == MPI_T_BIND_MPI_SESSION;
}

static int is_datatype(MPI_Datatype datatype)
{
    return datatype == MPI_INT || datatype == MPI_UNSIGNED || datatype == MPI_UNSIGNED_LONG ||
           datatype == MPI_UNSIGNED_LONG_LONG || datatype == MPI_COUNT || datatype == MPI_CHAR || datatype == MPI_DOUBLE ||
           datatype == MPI_INT32_T || datatype == MPI_INT64_T || datatype == MPI_UINT32_T || datatype == MPI_UINT64_T;
}

/* Returns true if an enumeration has as many items as it says. */
static int enumerated(MPI_T_enum enumeration)
{
    char text[TEXT];
    int items = -1, value, len = TEXT;
    if (MPI_T_enum_get_info(enumeration, &items, text, &len) != MPI_SUCCESS || items < 1)
        return 0;
    for (int item = 0; item < items; item++) {
        len = TEXT;
        if (MPI_T_enum_get_item(enumeration, item, &value, text, &len) != MPI_SUCCESS || len < 1)
            return 0;
    }
    return 1;
}

static int fits(MPI_Datatype datatype, int count)
{
    int bytes = TEXT;
    MPI_Type_size(datatype, &bytes);
    return count > 0 && count <= TEXT / bytes;
}

/* Checks that each control variable has the fields for a tool, is found by its name, and can be read. */
static void control_variables(void)
{
    static char name[TEXT], text[TEXT], value[TEXT];
    int n = 0, named = 0, formed = 0, found = 0, readable = 0, unbound = 0;
    MPI_T_cvar_get_num(&n);
    say("control variables: %d", n > 0);
    for (int at = 0; at < n; at++) {
        int name_len = TEXT, text_len = TEXT, level, bind, scope, index = -1, count = 0;
        MPI_Datatype datatype;
        MPI_T_enum enumeration;
        MPI_T_cvar_handle handle;
        MPI_T_cvar_get_info(at, name, &name_len, &level, &datatype, &enumeration, text, &text_len, &bind, &scope);
        named += name_len == (int)strlen(name) + 1 && text_len == (int)strlen(text) + 1 && name_len > 1;
        formed += is_verbosity(level) && is_binding(bind) && is_datatype(datatype) &&
                  (enumeration == MPI_T_ENUM_NULL || enumerated(enumeration));
        MPI_T_cvar_get_index(name, &index);
        found += index == at;
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        unbound++;
        if (MPI_T_cvar_handle_alloc(at, NULL, &handle, &count) == MPI_SUCCESS && fits(datatype, count))
            readable += MPI_T_cvar_read(handle, value) == MPI_SUCCESS;
        MPI_T_cvar_handle_free(&handle);
    }
    say("named %d, well formed %d, found by name %d, readable %d", named == n, formed == n, found == n, readable == unbound);
    TOLD(MPI_T_cvar_get_index("no such variable", &n));
    /* The length for a text that does not fit is left out: MPICH returns the given one. */
    int len = 3;
    MPI_T_cvar_get_info(0, name, &(int){TEXT}, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    MPI_T_cvar_get_info(0, text, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    say("short: %d %d", (int)strlen(text), strncmp(name, text, 2) == 0);
}

static void performance_variables(void)
{
    static char name[TEXT], text[TEXT], value[TEXT];
    int n = 0, named = 0, formed = 0, found = 0, handled = 0, unbound = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_get_num(&n);
    TOLD(MPI_T_pvar_session_create(&session));
    for (int at = 0; at < n; at++) {
        int name_len = TEXT, text_len = TEXT, level, class, bind, readonly, continuous, atomic, index = -1, count = 0, good;
        MPI_Datatype datatype;
        MPI_T_enum enumeration;
        MPI_T_pvar_handle handle;
        MPI_T_pvar_get_info(at, name, &name_len, &level, &class, &datatype, &enumeration, text, &text_len, &bind, &readonly,
                            &continuous, &atomic);
        named += name_len == (int)strlen(name) + 1 && text_len == (int)strlen(text) + 1 && name_len > 1;
        formed += is_verbosity(level) && is_binding(bind) && is_datatype(datatype);
        MPI_T_pvar_get_index(name, class, &index);
        found += index == at;
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        unbound++;
        good = MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &count) == MPI_SUCCESS && fits(datatype, count);
        if (good && !continuous)
            good = MPI_T_pvar_start(session, handle) == MPI_SUCCESS;
        good = good && MPI_T_pvar_read(session, handle, value) == MPI_SUCCESS;
        if (good && !continuous)
            good = MPI_T_pvar_stop(session, handle) == MPI_SUCCESS;
        if (good && continuous)
            good = MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP;
        handled += good && MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS && handle == MPI_T_PVAR_HANDLE_NULL;
    }
    say("performance variables: named %d, well formed %d, found by name %d, handled %d", named == n, formed == n, found == n,
        handled == unbound);
    TOLD(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &n));
    TOLD(MPI_T_pvar_session_free(&session));
    say("null: %d", session == MPI_T_PVAR_SESSION_NULL);
}

static void tool_categories(void)
{
    static char name[TEXT], text[TEXT];
    int n = 0, good = 0, cvars = 0, update = 0, same = -1, all;
    MPI_T_category_get_num(&n);
    MPI_T_cvar_get_num(&all);
    MPI_T_category_changed(&update);
    for (int at = 0; at < n; at++) {
        int name_len = TEXT, text_len = TEXT, controls, measures, inner, index = -1, right = 1;
        MPI_T_category_get_info(at, name, &name_len, text, &text_len, &controls, &measures, &inner);
        MPI_T_category_get_index(name, &index);
        int *list = calloc((size_t)controls + 1, sizeof *list);
        MPI_T_category_get_cvars(at, controls, list);
        for (int i = 0; i < controls; i++)
            right = right && list[i] >= 0 && list[i] < all;
        free(list);
        cvars += controls;
        good += right && index == at && name_len == (int)strlen(name) + 1;
    }
    MPI_T_category_changed(&same);
    say("categories: %d, good %d, with variables %d, unchanged %d", n > 0, good == n, cvars > 0, same == update);
    TOLD(MPI_T_category_get_index("no such category", &n));
}

void tools(void)
{
    int provided = -1, n, events = -1, sources = -1;
    TOLD(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    say("threads: %d", provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    TOLD(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    control_variables();
    performance_variables();
    tool_categories();
    TOLD(MPI_T_event_get_num(&events));
    TOLD(MPI_T_source_get_num(&sources));
    say("events: %d, sources: %d", events >= 0, sources >= 0);
    TOLD(MPI_T_finalize());
    TOLD(MPI_T_cvar_get_num(&n));
    TOLD(MPI_T_finalize());
    /* The interface can be initialised again. */
    TOLD(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    TOLD(MPI_T_cvar_get_num(&n));
    /* Calls after the end are left out: MPICH answers them as long as MPI is initialised. */
    TOLD(MPI_T_finalize());
}
