/* Canelé: message passing between processes. This is its own interface for C and C++; MPI's is in mpi.h.
 *
 * Made from the sources by `CANELE_UPDATE=1 cargo test -p canele-capi --test header`: do not edit.
 *
 * A job is a number of processes, its ranks, started together with `canele run`. Ranks exchange messages with tags on
 * flows, put data into each other's regions, post to mailboxes, and take part in collectives. docs/c.md has a first
 * program.
 *
 * Errors: functions return CANELE_OK, which is 0, or a code; canele_error_text() then says which rank, which value, and
 * what to do. Functions that return something else say what they return for an error, which has a text as well.
 *
 * Handles: a function that makes one stores it where one of its last arguments points to, or NULL if it fails. A function
 * that closes one takes the address of the handle and makes it NULL. A NULL handle is an error. A copy of a closed handle
 * is one, too, until its memory serves another handle: do not count on it.
 *
 * Pointers: NULL is an error unless there are no bytes, or the text allows it; any other pointer is taken to point to as
 * much memory as the arguments say. Bytes need no alignment; items of a type need that of the type. Texts are in UTF-8
 * and end with a zero byte.
 *
 * Memory of a call that waits for its end may be used again when it returns. Memory of one that begins with i
 * (canele_flow_isend and so on) belongs to the library until its request has ended.
 *
 * Threads: any thread may make any call at any time, but two may not use the same request, message or matched message at
 * the same time, nor close what another thread uses.
 *
 * Numbers: lengths and offsets are in bytes, times in nanoseconds; CANELE_FOREVER as a time means that there is no limit. */


#ifndef CANELE_H
#define CANELE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header; canele_version() tells the library's. */
#define CANELE_VERSION_MAJOR 0
#define CANELE_VERSION_MINOR 1
#define CANELE_VERSION_PATCH 0
#define CANELE_VERSION "0.1.0"


/**
 * A wait without end.
 */
#define CANELE_FOREVER UINT64_MAX

/**
 * In place of a rank: messages of any rank.
 */
#define CANELE_ANY_SOURCE UINT32_MAX

/**
 * In place of a tag: messages of any tag.
 */
#define CANELE_ANY_TAG UINT64_MAX

/**
 * What a call gives: CANELE_OK, or why it failed. The numbers stay the same in all versions with the same soname; later versions
 * may have more. canele_error_text() tells the rank, the value, and what to do.
 */
enum canele_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The call did what it says.
     */
    CANELE_OK = 0,
    /**
     * An argument cannot be: a null pointer, a handle that is NULL or of another kind, an unknown type, memory that is not aligned.
     */
    CANELE_ERROR_ARGUMENT = 1,
    /**
     * The handle was closed before.
     */
    CANELE_ERROR_CLOSED_HANDLE = 2,
    /**
     * The job has no such rank.
     */
    CANELE_ERROR_NO_SUCH_RANK = 3,
    /**
     * A message was longer than the memory for it. It is consumed, and nothing was written.
     */
    CANELE_ERROR_TRUNCATED = 4,
    /**
     * A rank died.
     */
    CANELE_ERROR_PEER_FAILED = 5,
    /**
     * There is no way to a rank.
     */
    CANELE_ERROR_UNREACHABLE = 6,
    /**
     * A rank broke the protocol, most likely because its memory is corrupted; another accepts nothing more from it.
     */
    CANELE_ERROR_CUT_OFF = 7,
    /**
     * A rank has left the job in good order, and takes part in nothing more.
     */
    CANELE_ERROR_PEER_FINISHED = 8,
    /**
     * A message of any rank was waited for, and no rank is left that could send one.
     */
    CANELE_ERROR_NO_SENDER_LEFT = 9,
    /**
     * The operation was cancelled.
     */
    CANELE_ERROR_CANCELLED = 10,
    /**
     * The ranks that communicate on a flow have given it up.
     */
    CANELE_ERROR_REVOKED = 11,
    /**
     * A region that a message was to be copied from or to is gone.
     */
    CANELE_ERROR_REGION_LOST = 12,
    /**
     * The time that was given has passed.
     */
    CANELE_ERROR_DEADLINE = 13,
    /**
     * The call was made in a forked child.
     */
    CANELE_ERROR_FORKED = 14,
    /**
     * Not enough memory.
     */
    CANELE_ERROR_MEMORY = 15,
    /**
     * The network of this host cannot be used.
     */
    CANELE_ERROR_NETWORK = 16,
    /**
     * The launcher is gone, or the program was started by another system's launcher.
     */
    CANELE_ERROR_LAUNCHER = 17,
    /**
     * A setting in the environment is wrong.
     */
    CANELE_ERROR_TUNABLE = 18,
    /**
     * The name is published already, or belongs to something else.
     */
    CANELE_ERROR_NAME_TAKEN = 19,
    /**
     * There is no such strategy.
     */
    CANELE_ERROR_STRATEGY = 20,
    /**
     * A number of items or bytes, or a level, does not fit the call.
     */
    CANELE_ERROR_LENGTHS = 21,
    /**
     * The bytes lie outside of the region.
     */
    CANELE_ERROR_RANGE = 22,
    /**
     * The message holds something else next.
     */
    CANELE_ERROR_UNPACK = 23,
    /**
     * The owner of a region refused the operation, most likely because it has closed the region.
     */
    CANELE_ERROR_REFUSED = 24,
    /**
     * The mailbox was closed by its owner.
     */
    CANELE_ERROR_MAILBOX_CLOSED = 25,
    /**
     * The mailbox is full: a message must be retrieved first.
     */
    CANELE_ERROR_MAILBOX_FULL = 26,
    /**
     * The job was finished by this rank before.
     */
    CANELE_ERROR_FINISHED = 27,
    /**
     * Processes could not be started or connected.
     */
    CANELE_ERROR_SPAWN = 28,
    /**
     * A defect of the library, which the text describes. Please report it.
     */
    CANELE_ERROR_INTERNAL = 29,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum canele_error canele_error;
#else
typedef int32_t canele_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One end of a virtual channel to a rank. Messages are received in the order in which the other end sent them. Made by
 * canele_job_channel.
 */
typedef struct canele_channel canele_channel;

/**
 * An ordered stream of messages among all ranks of a job; messages of one flow never match receives of another. Between two ranks
 * messages of a flow are matched in the order in which they were sent. Made by canele_job_world, canele_flow_duplicate or
 * canele_flow_duplicate_on_lane.
 */
typedef struct canele_flow canele_flow;

/**
 * The processes that were started together, seen from one of them. Made by canele_job_start.
 */
typedef struct canele_job canele_job;

/**
 * A mailbox of this rank, shared by its threads. Made by canele_job_create_mailbox.
 */
typedef struct canele_mailbox canele_mailbox;

/**
 * The posting end of a mailbox of any rank, shared by threads. Made by canele_job_find_mailbox.
 */
typedef struct canele_mailbox_sender canele_mailbox_sender;

/**
 * A message that a probe has taken, which no other receive can get. It must be received by canele_matched_recv.
 */
typedef struct canele_matched canele_matched;

/**
 * A message for a mailbox: items packed one after the other, to be unpacked in the same order. Made by canele_message_new or
 * canele_mailbox_retrieve.
 */
typedef struct canele_message canele_message;

/**
 * Memory allocated by Canelé that ranks of this host map and those of other hosts reach through this rank's library, whenever any
 * thread of this rank makes progress (with CANELE_PROGRESS_THREAD=1: always). Zeroed at first. Made by canele_job_region.
 */
typedef struct canele_region canele_region;

/**
 * A region of some rank, this one's included, as seen from here. Made by canele_job_find_region or canele_region_remote.
 */
typedef struct canele_remote_region canele_remote_region;

/**
 * A send or a receive under way. Its memory belongs to the library until canele_request_wait, canele_request_test or one of
 * canele_wait_all, canele_wait_any, canele_wait_some has said that it has ended: memory that is sent must not be changed or freed until
 * then, memory that is received into not be touched or freed. Each request must be waited for.
 */
typedef struct canele_request canele_request;

/**
 * What a message was, or a send.
 */
typedef struct canele_status {
    /**
     * Who sent it; of a send, to whom it goes.
     */
    uint32_t source;
    /**
     * Its tag.
     */
    uint32_t tag;
    /**
     * How long it was in bytes, which may be less than the memory for it.
     */
    size_t bytes;
} canele_status;

/**
 * A type of items: one of CANELE_INT8 to CANELE_DOUBLE. Programs of one job on machines of one kind see the same items.
 */
typedef int32_t canele_type;

/**
 * How reductions combine items: CANELE_SUM, CANELE_MIN, CANELE_MAX or CANELE_PROD.
 */
typedef int32_t canele_op;

/**
 * What a put with a notice shows the owner of the region.
 */
typedef struct canele_notice {
    /**
     * Who put.
     */
    uint32_t source;
    /**
     * The identifier that it gave.
     */
    uint64_t id;
} canele_notice;

/**
 * A function that is called for notices, with the context that canele_job_on_notice was given.
 */
typedef void (*canele_notice_call)(const struct canele_notice *notice, void *context);

/**
 * A stretch of memory that is sent.
 */
typedef struct canele_slice {
    /**
     * Where it begins.
     */
    const void *data;
    /**
     * Its length.
     */
    size_t bytes;
} canele_slice;

/**
 * A stretch of memory that is received into.
 */
typedef struct canele_slice_mut {
    /**
     * Where it begins.
     */
    void *data;
    /**
     * Its length.
     */
    size_t bytes;
} canele_slice_mut;

/**
 * int8_t
 */
#define CANELE_INT8 1

/**
 * uint8_t, and bytes of anything
 */
#define CANELE_UINT8 2

/**
 * int16_t
 */
#define CANELE_INT16 3

/**
 * uint16_t
 */
#define CANELE_UINT16 4

/**
 * int32_t
 */
#define CANELE_INT32 5

/**
 * uint32_t
 */
#define CANELE_UINT32 6

/**
 * int64_t
 */
#define CANELE_INT64 7

/**
 * uint64_t
 */
#define CANELE_UINT64 8

/**
 * float
 */
#define CANELE_FLOAT 9

/**
 * double
 */
#define CANELE_DOUBLE 10

/**
 * The sum; integers wrap around.
 */
#define CANELE_SUM 1

/**
 * The smallest; -0 is smaller than +0, and a number is taken before a NaN.
 */
#define CANELE_MIN 2

/**
 * The largest; likewise.
 */
#define CANELE_MAX 3

/**
 * The product; integers wrap around.
 */
#define CANELE_PROD 4

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the text of the last error that a call of the calling thread has given, in UTF-8; "" if there was none. A call that
 * succeeds leaves it as it is. It stays until the thread's next call that fails.
 */
const char *canele_error_text(void);

/**
 * Returns what a code means in two or three words, for ever; "unknown error" for a number that this version does not have.
 */
const char *canele_error_name(int32_t error);

/**
 * Returns the library's version, as "0.1.0", for ever. The header's is CANELE_VERSION. Programs run with the library of the header
 * that they were compiled with and with any later one of the same soname.
 */
const char *canele_version(void);

/**
 * Joins the job that this process was started in by `canele run`, and stores a handle of it in `job`; without a launcher, a job of
 * one rank. Call it once in a program.
 *
 * Errors: CANELE_ERROR_TUNABLE, CANELE_ERROR_LAUNCHER, CANELE_ERROR_MEMORY, CANELE_ERROR_NETWORK; the text says what to change.
 */
canele_error canele_job_start(struct canele_job **job);

/**
 * Ends this rank's part in good order, and closes the job: everything sent so far will arrive. A rank that exits without it has
 * failed. Close what else is open first; what is used later gives CANELE_ERROR_FINISHED, and so do calls of other threads that wait.
 *
 * Errors: CANELE_ERROR_LAUNCHER. The job is closed all the same.
 */
canele_error canele_job_finish(struct canele_job **job);

/**
 * Returns this process's number, from 0 to canele_job_size() - 1; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_rank(const struct canele_job *job);

/**
 * Returns how many ranks the job has; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_size(const struct canele_job *job);

/**
 * Returns this rank's number among those of its host; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_local_rank(const struct canele_job *job);

/**
 * Returns how many ranks this host has; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_local_size(const struct canele_job *job);

/**
 * Returns how many hosts have had ranks of the job at its start; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_hosts(const struct canele_job *job);

/**
 * Returns the flow that all ranks share from the start; NULL if `job` is no job. It belongs to the job: it is open until
 * canele_job_finish, and is not closed by itself.
 */
struct canele_flow *canele_job_world(const struct canele_job *job);

/**
 * Puts what waits for peers into packets by the built-in policy `name` from now on: "aggregate", "fifo", "priority" or "split".
 * It concerns what this rank sends, to all ranks; choose while nothing is under way.
 *
 * Errors: CANELE_ERROR_STRATEGY.
 */
canele_error canele_job_set_strategy(const struct canele_job *job,
                                     const char *name);

/**
 * Returns this process's number in the job; UINT32_MAX if `flow` is no flow.
 */
uint32_t canele_flow_rank(const struct canele_flow *flow);

/**
 * Returns how many ranks the job has; UINT32_MAX if `flow` is no flow.
 */
uint32_t canele_flow_size(const struct canele_flow *flow);

/**
 * Makes a new flow of the same ranks, on the same lane, and stores a handle of it in `copy`: its messages match no receive on any other, as a
 * library needs it. A collective: all ranks call it.
 *
 * Errors: as canele_flow_barrier; CANELE_ERROR_LENGTHS while some 32,000 flows are in use.
 */
canele_error canele_flow_duplicate(const struct canele_flow *flow,
                                   struct canele_flow **copy);

/**
 * As canele_flow_duplicate, on the lane of this number: threads that use flows on different lanes do not wait for each other. Lanes are counted from
 * 0, that of canele_job_world, and beyond those that a rank may have from the first again. The flow lies on the first lane where a rank
 * cannot open the lane, or the ranks name different ones. No strategy plans what waits on several lanes together.
 *
 * Errors: as canele_flow_duplicate.
 */
canele_error canele_flow_duplicate_on_lane(const struct canele_flow *flow,
                                           uint32_t lane,
                                           struct canele_flow **copy);

/**
 * Closes this rank's handle of a flow, which becomes NULL. The flow is given back once its requests have ended, too: messages that were not
 * received there are lost. The flow of canele_job_world cannot be closed.
 */
canele_error canele_flow_close(struct canele_flow **flow);

/**
 * Says how urgent this rank's messages on the flow are from now on, from 0 to 7; a flow begins with 3. It counts where messages wait, and
 * under a strategy that heeds it (canele_job_set_strategy).
 *
 * Errors: CANELE_ERROR_LENGTHS: there is no such level.
 */
canele_error canele_flow_set_priority(const struct canele_flow *flow,
                                      uint8_t level);

/**
 * Says which rail takes this rank's messages on the flow while it has room, others when it has none. Rails to other hosts are numbered
 * from 1; shared memory is not concerned.
 *
 * Errors: CANELE_ERROR_LENGTHS: there is no such rail.
 */
canele_error canele_flow_prefer_rail(const struct canele_flow *flow,
                                     uint8_t rail);

/**
 * Says which rail alone takes this rank's messages to other hosts on the flow. They wait while it is cut, and for ever where the other host
 * is not on it.
 *
 * Errors: CANELE_ERROR_LENGTHS: there is no such rail.
 */
canele_error canele_flow_require_rail(const struct canele_flow *flow,
                                      uint8_t rail);

/**
 * Sends `bytes` bytes at `data` to rank `to` with a tag. On return they may be changed; the message may still be on its way.
 *
 * Errors: CANELE_ERROR_NO_SUCH_RANK; the rank is gone (CANELE_ERROR_PEER_FAILED, CANELE_ERROR_PEER_FINISHED,
 * CANELE_ERROR_UNREACHABLE, CANELE_ERROR_CUT_OFF); CANELE_ERROR_FINISHED.
 */
canele_error canele_flow_send(const struct canele_flow *flow,
                              uint32_t to,
                              uint32_t tag,
                              const void *data,
                              size_t bytes);

/**
 * As canele_flow_send, but returns once the receiver has begun to receive.
 */
canele_error canele_flow_send_sync(const struct canele_flow *flow,
                                   uint32_t to,
                                   uint32_t tag,
                                   const void *data,
                                   size_t bytes);

/**
 * As canele_flow_send, but gives up after `wait_ns` nanoseconds; then nothing was sent.
 *
 * Errors: as canele_flow_send; CANELE_ERROR_DEADLINE.
 */
canele_error canele_flow_send_deadline(const struct canele_flow *flow,
                                       uint32_t to,
                                       uint32_t tag,
                                       const void *data,
                                       size_t bytes,
                                       uint64_t wait_ns);

/**
 * Receives the next matching message into `bytes` bytes at `data`. `from` is a rank or CANELE_ANY_SOURCE, `tag` a tag or
 * CANELE_ANY_TAG. The message may be shorter; `status`, unless NULL, gets its sender, tag and length.
 *
 * Errors: CANELE_ERROR_TRUNCATED: it is longer (it is consumed, and nothing else is harmed); CANELE_ERROR_NO_SUCH_RANK; the rank is
 * gone, as of canele_flow_send. From any rank: a rank died, which each flow is told once; CANELE_ERROR_NO_SENDER_LEFT: all other ranks
 * have finished or died, and this thread, the only one of its rank, would wait for ever.
 */
canele_error canele_flow_recv(const struct canele_flow *flow,
                              uint32_t from,
                              uint64_t tag,
                              void *data,
                              size_t bytes,
                              struct canele_status *status);

/**
 * As canele_flow_recv, but gives up after `wait_ns` nanoseconds; then the message, should it come, is still there.
 *
 * Errors: as canele_flow_recv; CANELE_ERROR_DEADLINE.
 */
canele_error canele_flow_recv_deadline(const struct canele_flow *flow,
                                       uint32_t from,
                                       uint64_t tag,
                                       void *data,
                                       size_t bytes,
                                       struct canele_status *status,
                                       uint64_t wait_ns);

/**
 * Starts to send `bytes` bytes at `data` to rank `to` with a tag, and stores a handle of the operation in `request`. The memory must stay as it
 * is until the request has ended.
 *
 * Errors: CANELE_ERROR_NO_SUCH_RANK, CANELE_ERROR_FINISHED: nothing was started. What else fails, waiting tells.
 */
canele_error canele_flow_isend(const struct canele_flow *flow,
                               uint32_t to,
                               uint32_t tag,
                               const void *data,
                               size_t bytes,
                               struct canele_request **request);

/**
 * As canele_flow_isend; the request ends once the receiver has begun to receive.
 */
canele_error canele_flow_isend_sync(const struct canele_flow *flow,
                                    uint32_t to,
                                    uint32_t tag,
                                    const void *data,
                                    size_t bytes,
                                    struct canele_request **request);

/**
 * Starts to receive a matching message into `bytes` bytes at `data`, and stores a handle of the operation in `request`. `from` is a rank or
 * CANELE_ANY_SOURCE, `tag` a tag or CANELE_ANY_TAG. The memory must stay, and not be touched, until the request has ended.
 *
 * Errors: as canele_flow_isend.
 */
canele_error canele_flow_irecv(const struct canele_flow *flow,
                               uint32_t from,
                               uint64_t tag,
                               void *data,
                               size_t bytes,
                               struct canele_request **request);

/**
 * Makes progress, and stores in `ended` whether the request has ended. If so it is closed, `request` becomes NULL, and `status`, unless
 * NULL, says what the message was.
 *
 * Errors: why the operation failed, as canele_flow_send or canele_flow_recv; then, too, it has ended, and `request` becomes NULL. If it
 * does not become NULL, the test failed and the operation is under way.
 */
canele_error canele_request_test(struct canele_request **request,
                                 bool *ended,
                                 struct canele_status *status);

/**
 * Waits until the request has ended and closes it: `request` becomes NULL, and `status`, unless NULL, says what the message was.
 *
 * Errors: as canele_request_test.
 */
canele_error canele_request_wait(struct canele_request **request,
                                 struct canele_status *status);

/**
 * As canele_request_wait, for at most `wait_ns` nanoseconds.
 *
 * Errors: as canele_request_test; CANELE_ERROR_DEADLINE: the operation is still under way, and `request` as it was.
 */
canele_error canele_request_wait_deadline(struct canele_request **request,
                                          struct canele_status *status,
                                          uint64_t wait_ns);

/**
 * Withdraws an operation if it is not too late: a receive without a message, a send that has not left and was not copied. Stores in
 * `withdrawn`, unless NULL, whether it was. It must still be waited for, which then gives CANELE_ERROR_CANCELLED. A long send that is announced
 * already is asked back: waiting for it tells.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_request_cancel(struct canele_request *request,
                                   bool *withdrawn);

/**
 * Waits for all of `count` requests, of which those that are NULL are left out; all become NULL. `statuses`, unless NULL, is an array of
 * `count`, of which those of requests that failed or are NULL stay as they are.
 *
 * Errors: that of the first request that failed, after all have ended.
 */
canele_error canele_wait_all(struct canele_request **requests,
                             size_t count,
                             struct canele_status *statuses);

/**
 * Waits until one of `count` requests, of which those that are NULL are left out, has ended; it is closed and becomes NULL. Stores its
 * number in the array in `index`, and what its message was in `status`, unless NULL.
 *
 * Errors: why that operation failed; `index` has its number, and the handle is NULL. CANELE_ERROR_LENGTHS: all are NULL.
 */
canele_error canele_wait_any(struct canele_request **requests,
                             size_t count,
                             size_t *index,
                             struct canele_status *status);

/**
 * Waits until at least one of `count` requests, of which those that are NULL are left out, has ended; all that have are closed and become
 * NULL. Stores how many these are in `ended`, and their numbers in the array `indices` of `count`; what their messages were in the same places
 * of `statuses` (an array of `count`), unless NULL.
 *
 * Errors: that of the first request that failed; `ended` and `indices` tell which have ended all the same. CANELE_ERROR_LENGTHS: all are NULL.
 */
canele_error canele_wait_some(struct canele_request **requests,
                              size_t count,
                              size_t *ended,
                              size_t *indices,
                              struct canele_status *statuses);

/**
 * Waits for a matching message and stores what a receive would get in `status`; the message stays.
 *
 * Errors: as canele_flow_recv, but for CANELE_ERROR_TRUNCATED.
 */
canele_error canele_flow_probe(const struct canele_flow *flow,
                               uint32_t from,
                               uint64_t tag,
                               struct canele_status *status);

/**
 * Stores in `found` whether there is a matching message now, and if so what a receive would get in `status`; the message stays.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_flow_iprobe(const struct canele_flow *flow,
                                uint32_t from,
                                uint64_t tag,
                                bool *found,
                                struct canele_status *status);

/**
 * Waits for a matching message and takes it, so that no other thread's receive can get it; stores a handle of it in `matched`, and
 * what it is in `status`, unless NULL.
 *
 * Errors: as canele_flow_probe.
 */
canele_error canele_flow_mprobe(const struct canele_flow *flow,
                                uint32_t from,
                                uint64_t tag,
                                struct canele_matched **matched,
                                struct canele_status *status);

/**
 * Takes a matching message if there is one now, as canele_flow_mprobe; if not, `matched` becomes NULL.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_flow_improbe(const struct canele_flow *flow,
                                 uint32_t from,
                                 uint64_t tag,
                                 struct canele_matched **matched,
                                 struct canele_status *status);

/**
 * Receives a message that a probe has taken into `bytes` bytes at `data`; the handle is closed and becomes NULL, also where that
 * fails.
 *
 * Errors: CANELE_ERROR_TRUNCATED: it is longer; its sender died.
 */
canele_error canele_matched_recv(struct canele_matched **matched,
                                 void *data,
                                 size_t bytes,
                                 struct canele_status *status);

/**
 * Returns once all ranks of the flow have called it. As with every collective, all ranks make the same calls on a flow in the same
 * order, with the same lengths, roots and operations; the messages of collectives never match receives on the flow.
 *
 * Errors: a rank died (CANELE_ERROR_PEER_FAILED), or finished without this call (CANELE_ERROR_PEER_FINISHED).
 */
canele_error canele_flow_barrier(const struct canele_flow *flow);

/**
 * Gives all ranks the `bytes` bytes at `data` of rank `root`.
 *
 * Errors: as canele_flow_barrier; CANELE_ERROR_NO_SUCH_RANK; CANELE_ERROR_LENGTHS: another rank gave another length.
 */
canele_error canele_flow_broadcast(const struct canele_flow *flow,
                                   uint32_t root,
                                   void *data,
                                   size_t bytes);

/**
 * Reduces `count` items of a type of each rank, place by place, into `count` items at `result` of rank `root`; elsewhere `result` is
 * not used and may be NULL. The result has the same bits in every run with as many ranks. `items` and `result` must not overlap.
 *
 * Errors: as canele_flow_broadcast; CANELE_ERROR_ARGUMENT: there is no such type or operation, or memory is not aligned.
 */
canele_error canele_flow_reduce(const struct canele_flow *flow,
                                uint32_t root,
                                const void *items,
                                void *result,
                                size_t count,
                                canele_type type,
                                canele_op op);

/**
 * Reduces `count` items of a type of each rank, place by place, into `count` items at `result` on all ranks. The result has the same
 * bits on every rank and in every run with as many ranks. `items` and `result` must not overlap.
 *
 * Errors: as canele_flow_reduce.
 */
canele_error canele_flow_allreduce(const struct canele_flow *flow,
                                   const void *items,
                                   void *result,
                                   size_t count,
                                   canele_type type,
                                   canele_op op);

/**
 * Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of rank `root`, which has room for `bytes` bytes of each
 * rank; elsewhere `all` is not used and may be NULL. `data` and `all` must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_gather(const struct canele_flow *flow,
                                uint32_t root,
                                const void *data,
                                size_t bytes,
                                void *all);

/**
 * Gives each rank its `bytes` bytes of those at `all` of rank `root`, which has `bytes` bytes for each rank, in the order of ranks; elsewhere
 * `all` is not used and may be NULL. They come to `data`. `data` and `all` must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_scatter(const struct canele_flow *flow,
                                 uint32_t root,
                                 const void *all,
                                 void *data,
                                 size_t bytes);

/**
 * Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of all ranks, which has room for `bytes` bytes of each rank.
 * `data` and `all` must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_allgather(const struct canele_flow *flow,
                                   const void *data,
                                   size_t bytes,
                                   void *all);

/**
 * Gives each rank its `bytes` bytes of those at `data`, in the order of ranks, and gets as many from each rank at `result`, in that order: part
 * n of rank m becomes part m of rank n. Both have `bytes` bytes for each rank, and must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_alltoall(const struct canele_flow *flow,
                                  const void *data,
                                  void *result,
                                  size_t bytes);

/**
 * Allocates a region of `bytes` bytes and stores a handle of it in `region`.
 *
 * Errors: CANELE_ERROR_MEMORY, naming what is needed and what there is.
 */
canele_error canele_job_region(const struct canele_job *job, size_t bytes, struct canele_region **region);

/**
 * Finds a region that any rank published under `name`; waits until there is one, at most `wait_ns` nanoseconds. Stores a handle of it
 * in `remote`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_REGION_LOST: it was closed meanwhile; CANELE_ERROR_NAME_TAKEN: the name is not of a region.
 */
canele_error canele_job_find_region(const struct canele_job *job,
                                    const char *name,
                                    uint64_t wait_ns,
                                    struct canele_remote_region **remote);

/**
 * Returns a region's length in bytes; 0 if `region` is no region.
 */
size_t canele_region_len(const struct canele_region *region);

/**
 * Returns where a region begins in this process, until it is closed; NULL if `region` is no region. Other ranks may read and write there at
 * any time, as other threads may: use atomic operations, notices or messages to know when data is complete.
 */
void *canele_region_address(const struct canele_region *region);

/**
 * Lets any rank find the region under `name`.
 *
 * Errors: CANELE_ERROR_NAME_TAKEN.
 */
canele_error canele_region_publish(const struct canele_region *region, const char *name);

/**
 * Stores a handle of this rank's region, as other ranks have it, in `remote`.
 */
canele_error canele_region_remote(const struct canele_region *region, struct canele_remote_region **remote);

/**
 * Copies `bytes` bytes from `offset` bytes on out of the region, to `data`.
 *
 * Errors: CANELE_ERROR_RANGE.
 */
canele_error canele_region_read(const struct canele_region *region, size_t offset, void *data, size_t bytes);

/**
 * Copies `bytes` bytes at `data` into the region, from `offset` bytes on.
 *
 * Errors: CANELE_ERROR_RANGE.
 */
canele_error canele_region_write(const struct canele_region *region,
                                 size_t offset,
                                 const void *data,
                                 size_t bytes);

/**
 * Closes a region, which becomes NULL: its memory is given up, and transfers under way end in good order.
 */
canele_error canele_region_close(struct canele_region **region);

/**
 * Returns the rank whose region it is; UINT32_MAX if `remote` is no remote region.
 */
uint32_t canele_remote_region_owner(const struct canele_remote_region *remote);

/**
 * Writes `bytes` bytes at `data` into the region, from `offset` bytes on. Complete at both ends on return, to which end the owner on another host
 * answers.
 *
 * Errors: CANELE_ERROR_RANGE. On another host: CANELE_ERROR_REFUSED; the owner is gone, as of canele_flow_send.
 */
canele_error canele_remote_region_put(const struct canele_remote_region *remote,
                                      size_t offset,
                                      const void *data,
                                      size_t bytes);

/**
 * Reads `bytes` bytes from `offset` bytes of the region on, to `data`.
 *
 * Errors: as canele_remote_region_put.
 */
canele_error canele_remote_region_get(const struct canele_remote_region *remote,
                                      size_t offset,
                                      void *data,
                                      size_t bytes);

/**
 * Writes as canele_remote_region_put and then shows the owner the identifier `notice` (canele_job_wait_notice): the bytes are in the region when the
 * notice is seen. On return `data` may be changed; it may still be on its way. Notices of a rank are seen in the order of its calls.
 *
 * Errors: CANELE_ERROR_RANGE; the owner is gone, as of canele_flow_send. What else goes wrong on another host the next
 * canele_remote_region_fence tells, and the notice is not seen.
 */
canele_error canele_remote_region_put_notify(const struct canele_remote_region *remote,
                                             size_t offset,
                                             const void *data,
                                             size_t bytes,
                                             uint64_t notice);

/**
 * Waits until everything put into regions of this owner so far is in its memory, at most `wait_ns` nanoseconds.
 *
 * Errors: CANELE_ERROR_DEADLINE; the owner is gone; CANELE_ERROR_REFUSED for the first put with a notice, since the last fence to this
 * owner, to a region that it has closed.
 */
canele_error canele_remote_region_fence(const struct canele_remote_region *remote,
                                        uint64_t wait_ns);

/**
 * Adds `n` to the 64-bit word at `offset` bytes (a multiple of 8), atomically among all ranks, and stores its old value in `old`, unless NULL.
 *
 * Errors: CANELE_ERROR_RANGE: the word lies outside or is not aligned; else as canele_remote_region_put.
 */
canele_error canele_remote_region_fetch_add(const struct canele_remote_region *remote,
                                            size_t offset,
                                            uint64_t n,
                                            uint64_t *old);

/**
 * Replaces the 64-bit word at `offset` bytes by `new_value` if it is `expected`, and stores its old value in `old`.
 *
 * Errors: as canele_remote_region_fetch_add.
 */
canele_error canele_remote_region_compare_and_swap(const struct canele_remote_region *remote,
                                                   size_t offset,
                                                   uint64_t expected,
                                                   uint64_t new_value,
                                                   uint64_t *old);

/**
 * Closes a handle of a remote region, which becomes NULL; the region stays.
 */
canele_error canele_remote_region_close(struct canele_remote_region **remote);

/**
 * Stores in `found` whether a notice has come, and if so the next one in `notice`.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_job_try_notice(const struct canele_job *job, bool *found, struct canele_notice *notice);

/**
 * Waits for the next notice, at most `wait_ns` nanoseconds, and stores it in `notice`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_FINISHED. With CANELE_FOREVER: CANELE_ERROR_NO_SENDER_LEFT, as of canele_flow_recv.
 */
canele_error canele_job_wait_notice(const struct canele_job *job,
                                    uint64_t wait_ns,
                                    struct canele_notice *notice);

/**
 * Calls `call` with `context` for each notice whose identifier is at least `first` and below `end`, from within whatever call of whatever
 * thread makes progress; it must not call the library. Such notices are no longer seen by canele_job_try_notice and canele_job_wait_notice.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_job_on_notice(const struct canele_job *job,
                                  uint64_t first,
                                  uint64_t end,
                                  canele_notice_call call,
                                  void *context);

/**
 * Sends `bytes` bytes of a region from `offset` bytes on to rank `to` with a tag, which above the eager size are copied once. They must not be
 * changed before this returns.
 *
 * Errors: CANELE_ERROR_RANGE; else as canele_flow_send.
 */
canele_error canele_flow_send_region(const struct canele_flow *flow,
                                     uint32_t to,
                                     uint32_t tag,
                                     const struct canele_region *region,
                                     size_t offset,
                                     size_t bytes);

/**
 * Receives the next matching message, as canele_flow_recv, into `bytes` bytes of a region from `offset` bytes on.
 *
 * Errors: CANELE_ERROR_RANGE; else as canele_flow_recv.
 */
canele_error canele_flow_recv_region(const struct canele_flow *flow,
                                     uint32_t from,
                                     uint64_t tag,
                                     const struct canele_region *region,
                                     size_t offset,
                                     size_t bytes,
                                     struct canele_status *status);

/**
 * Opens the channel `number` to rank `peer`, which opens it with the same number, and stores a handle of it in `channel`. A pair of ranks has
 * as many channels as there are numbers; opening costs nothing, and no agreement is needed.
 *
 * Errors: CANELE_ERROR_NO_SUCH_RANK.
 */
canele_error canele_job_channel(const struct canele_job *job,
                                uint32_t peer,
                                uint32_t number,
                                struct canele_channel **channel);

/**
 * Returns the rank at the other end; UINT32_MAX if `channel` is no channel.
 */
uint32_t canele_channel_peer(const struct canele_channel *channel);

/**
 * Returns the channel's number; UINT32_MAX if `channel` is no channel.
 */
uint32_t canele_channel_number(const struct canele_channel *channel);

/**
 * Sends `bytes` bytes at `data`. On return they may be changed; the message may still be on its way.
 *
 * Errors: the peer is gone, as of canele_flow_send.
 */
canele_error canele_channel_send(const struct canele_channel *channel, const void *data, size_t bytes);

/**
 * As canele_channel_send, but gives up after `wait_ns` nanoseconds; then nothing was sent.
 *
 * Errors: as canele_channel_send; CANELE_ERROR_DEADLINE.
 */
canele_error canele_channel_send_deadline(const struct canele_channel *channel,
                                          const void *data,
                                          size_t bytes,
                                          uint64_t wait_ns);

/**
 * Receives the next message into `bytes` bytes at `data`; stores its length in bytes in `received`, unless NULL.
 *
 * Errors: CANELE_ERROR_TRUNCATED: it is longer (it is consumed, and nothing else is harmed); the peer is gone, as of canele_flow_send.
 */
canele_error canele_channel_recv(const struct canele_channel *channel,
                                 void *data,
                                 size_t bytes,
                                 size_t *received);

/**
 * As canele_channel_recv, but gives up after `wait_ns` nanoseconds; then the message, should it come, is still there.
 *
 * Errors: as canele_channel_recv; CANELE_ERROR_DEADLINE.
 */
canele_error canele_channel_recv_deadline(const struct canele_channel *channel,
                                          void *data,
                                          size_t bytes,
                                          size_t *received,
                                          uint64_t wait_ns);

/**
 * Sends `count` stretches of memory as one message, gathered as it leaves.
 *
 * Errors: as canele_channel_send.
 */
canele_error canele_channel_send_list(const struct canele_channel *channel,
                                      const struct canele_slice *slices,
                                      size_t count);

/**
 * Receives the next message into `count` stretches of memory, which do not overlap, scattered as it arrives; stores its length in bytes in
 * `received`, unless NULL.
 *
 * Errors: as canele_channel_recv.
 */
canele_error canele_channel_recv_list(const struct canele_channel *channel,
                                      const struct canele_slice_mut *slices,
                                      size_t count,
                                      size_t *received);

/**
 * Sends `bytes` bytes of a region from `offset` bytes on, as canele_flow_send_region.
 *
 * Errors: CANELE_ERROR_RANGE; else as canele_channel_send.
 */
canele_error canele_channel_send_region(const struct canele_channel *channel,
                                        const struct canele_region *region,
                                        size_t offset,
                                        size_t bytes);

/**
 * Receives the next message into `bytes` bytes of a region from `offset` bytes on; stores its length in bytes in `received`, unless NULL.
 *
 * Errors: CANELE_ERROR_RANGE; else as canele_channel_recv.
 */
canele_error canele_channel_recv_region(const struct canele_channel *channel,
                                        const struct canele_region *region,
                                        size_t offset,
                                        size_t bytes,
                                        size_t *received);

/**
 * Closes this end of a channel, which becomes NULL.
 */
canele_error canele_channel_close(struct canele_channel **channel);

/**
 * Creates a mailbox with room for `depth` messages, which any rank of any host finds by its name, and stores a handle of it in `mailbox`.
 *
 * Errors: CANELE_ERROR_NAME_TAKEN; CANELE_ERROR_LENGTHS: a depth of 0; CANELE_ERROR_MEMORY.
 */
canele_error canele_job_create_mailbox(const struct canele_job *job,
                                       const char *name,
                                       size_t depth,
                                       struct canele_mailbox **mailbox);

/**
 * Finds a mailbox by its name; waits until there is one, at most `wait_ns` nanoseconds. Stores a handle for posting to it in `sender`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as of canele_flow_send.
 */
canele_error canele_job_find_mailbox(const struct canele_job *job,
                                     const char *name,
                                     uint64_t wait_ns,
                                     struct canele_mailbox_sender **sender);

/**
 * Takes the next message out of the mailbox, waiting for one, and stores a handle of it in `message`.
 *
 * Errors: a rank died: every waiting call is told once, and the next one works as before; the message's sender died before its data came;
 * CANELE_ERROR_NO_SENDER_LEFT, as of canele_flow_recv.
 */
canele_error canele_mailbox_retrieve(const struct canele_mailbox *mailbox,
                                     struct canele_message **message);

/**
 * Takes the next message out of the mailbox if there is one now; if not, `message` becomes NULL.
 *
 * Errors: as canele_mailbox_retrieve.
 */
canele_error canele_mailbox_try_retrieve(const struct canele_mailbox *mailbox,
                                         struct canele_message **message);

/**
 * As canele_mailbox_retrieve, for at most `wait_ns` nanoseconds.
 *
 * Errors: CANELE_ERROR_DEADLINE; else as canele_mailbox_retrieve.
 */
canele_error canele_mailbox_retrieve_deadline(const struct canele_mailbox *mailbox,
                                              struct canele_message **message,
                                              uint64_t wait_ns);

/**
 * Closes a mailbox, which becomes NULL: what was not retrieved is lost, and those who post get CANELE_ERROR_MAILBOX_CLOSED.
 */
canele_error canele_mailbox_close(struct canele_mailbox **mailbox);

/**
 * Returns the rank whose mailbox it is; UINT32_MAX if `sender` is no mailbox sender.
 */
uint32_t canele_mailbox_sender_owner(const struct canele_mailbox_sender *sender);

/**
 * Posts a message; waits while the mailbox is full. The message is closed and becomes NULL. To a mailbox of another host that takes a round trip
 * at least, for which the owner must be in some call that makes progress.
 *
 * Errors: CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as of canele_flow_send; CANELE_ERROR_MEMORY. The message is closed all the same.
 */
canele_error canele_mailbox_sender_post(const struct canele_mailbox_sender *sender,
                                        struct canele_message **message);

/**
 * Posts a message if the mailbox is not full. It is closed and becomes NULL, but for CANELE_ERROR_MAILBOX_FULL.
 *
 * Errors: CANELE_ERROR_MAILBOX_FULL; else as canele_mailbox_sender_post.
 */
canele_error canele_mailbox_sender_try_post(const struct canele_mailbox_sender *sender,
                                            struct canele_message **message);

/**
 * Posts a message; waits while the mailbox is full, at most `wait_ns` nanoseconds. It is closed and becomes NULL, but for
 * CANELE_ERROR_MAILBOX_FULL.
 *
 * Errors: as canele_mailbox_sender_try_post.
 */
canele_error canele_mailbox_sender_post_deadline(const struct canele_mailbox_sender *sender,
                                                 struct canele_message **message,
                                                 uint64_t wait_ns);

/**
 * Closes the way to a mailbox, which becomes NULL; the mailbox stays.
 */
canele_error canele_mailbox_sender_close(struct canele_mailbox_sender **sender);

/**
 * Makes a message without contents and stores a handle of it in `message`. Post it, or close it by canele_message_close.
 */
canele_error canele_message_new(struct canele_message **message);

/**
 * Adds `count` items of a type at the message's end.
 *
 * Errors: CANELE_ERROR_ARGUMENT.
 */
canele_error canele_message_pack(struct canele_message *message,
                                 canele_type type,
                                 const void *data,
                                 size_t count);

/**
 * Takes the next `count` items of a type out of the message, to `data`. Bytes (CANELE_UINT8) can be unpacked as anything; so can a message of
 * exactly 48 bytes that was posted, because it has no room for its types.
 *
 * Errors: CANELE_ERROR_UNPACK: the next items have another type or are fewer; nothing is taken.
 */
canele_error canele_message_unpack(struct canele_message *message,
                                   canele_type type,
                                   void *data,
                                   size_t count);

/**
 * Returns the message's length in bytes, unpacked or not; 0 if `message` is no message.
 */
size_t canele_message_len(const struct canele_message *message);

/**
 * Returns where the message's canele_message_len() bytes can be read, unpacked or not, until it is packed, posted or closed; NULL if `message` is
 * no message. Those of a long message, which lie in a region, are copied for it.
 */
const void *canele_message_bytes(struct canele_message *message);

/**
 * Returns who posted the message; UINT32_MAX if it was not retrieved from a mailbox, or `message` is no message.
 */
uint32_t canele_message_sender(const struct canele_message *message);

/**
 * Closes a message, which becomes NULL.
 */
canele_error canele_message_close(struct canele_message **message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CANELE_H */
