/* Canelé: message passing between processes. This is its own interface for C and C++; MPI's is in mpi.h.
 *
 * Made from the sources by `CANELE_UPDATE=1 cargo test -p canele-capi --test header`: do not edit.
 *
 * A job is a number of processes, its ranks, which `canele run` starts together. Ranks exchange messages with tags
 * on flows, put data into each other's regions, post to mailboxes, and take part in collectives. docs/c.md has a
 * first program.
 *
 * Errors: functions return CANELE_OK, which is 0, or a code; canele_error_text() then names the rank, the value and
 * the remedy. For functions that return something else the comment names the result of an error; that error has a
 * text, too.
 *
 * Handles: a function that makes a handle stores it where one of its last arguments points to; if it fails, it stores
 * NULL there. A function that closes a handle takes its address and sets it to NULL. A NULL handle is an error. A copy
 * of a closed handle is an error, too, but only until its memory serves another handle.
 *
 * Pointers: NULL is an error unless there are no bytes, or the comment allows it. Any other pointer must point to as
 * much memory as the arguments say. Bytes need no alignment; items of a type need the alignment of the type. Texts are
 * in UTF-8 and end with a zero byte.
 *
 * Memory of a blocking call may be used again when the call returns. Memory of a non-blocking call (canele_flow_isend,
 * canele_flow_irecv and so on) belongs to the library until its request has ended.
 *
 * Threads: any thread may make any call at any time. Two threads must not use the same request, message or matched
 * message at the same time, and no thread may close a handle that another thread uses.
 *
 * Numbers: lengths and offsets are in bytes, times in nanoseconds; CANELE_FOREVER is a time without limit. */


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
 * In place of a time: a wait without limit.
 */
#define CANELE_FOREVER UINT64_MAX

/**
 * In place of a rank: messages from any rank.
 */
#define CANELE_ANY_SOURCE UINT32_MAX

/**
 * In place of a tag: messages with any tag.
 */
#define CANELE_ANY_TAG UINT64_MAX

/**
 * The result of a call: CANELE_OK, or the reason of its failure. The numbers stay the same in all versions
 * with the same soname; later versions may have more. canele_error_text() names the rank, the value, and the
 * remedy.
 */
enum canele_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The call succeeded.
     */
    CANELE_OK = 0,
    /**
     * An argument is invalid: a null pointer, a handle that is NULL or of another kind, an unknown type, or
     * memory that is not aligned.
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
     * A message was longer than the memory for it. The message is consumed, and nothing was written.
     */
    CANELE_ERROR_TRUNCATED = 4,
    /**
     * A rank died.
     */
    CANELE_ERROR_PEER_FAILED = 5,
    /**
     * No network leads to a rank.
     */
    CANELE_ERROR_UNREACHABLE = 6,
    /**
     * A rank broke the protocol, most likely because its memory is corrupted; another rank accepts no more
     * packets from it.
     */
    CANELE_ERROR_CUT_OFF = 7,
    /**
     * A rank has left the job in good order, and takes part in no more operations.
     */
    CANELE_ERROR_PEER_FINISHED = 8,
    /**
     * A call waited for a message from any rank, and no rank is left that could send one.
     */
    CANELE_ERROR_NO_SENDER_LEFT = 9,
    /**
     * The operation was cancelled.
     */
    CANELE_ERROR_CANCELLED = 10,
    /**
     * The ranks that communicate on a flow have revoked it.
     */
    CANELE_ERROR_REVOKED = 11,
    /**
     * A region that a message was to be copied from or to is closed.
     */
    CANELE_ERROR_REGION_LOST = 12,
    /**
     * The time limit of the call has passed.
     */
    CANELE_ERROR_DEADLINE = 13,
    /**
     * The call was made in a forked child.
     */
    CANELE_ERROR_FORKED = 14,
    /**
     * There is not enough memory.
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
     * The name is published already, or belongs to an object of another kind.
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
     * The bytes lie outside the region.
     */
    CANELE_ERROR_RANGE = 22,
    /**
     * The next items of the message have another type, or are fewer.
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
 * One end of a virtual channel between two ranks. Messages are received in the order in which the other end
 * sent them. Made by canele_job_channel.
 */
typedef struct canele_channel canele_channel;

/**
 * An ordered stream of messages among all ranks of a job. Messages of one flow never match receives of
 * another. Between two ranks, messages of a flow are matched in the order in which they were sent. Made by
 * canele_job_world, canele_flow_duplicate or canele_flow_duplicate_on_lane.
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
 * A message that a probe has taken, so that no other receiver can get it. It must be received by
 * canele_matched_recv.
 */
typedef struct canele_matched canele_matched;

/**
 * A message for a mailbox: items that are packed one after the other, and unpacked in the same order. Made
 * by canele_message_new or canele_mailbox_retrieve.
 */
typedef struct canele_message canele_message;

/**
 * Memory allocated by Canelé, zeroed at first. Ranks of this host map it. Ranks of other hosts access it
 * through this rank's library, whenever a thread of this rank makes progress (always with
 * CANELE_PROGRESS_THREAD=1). Made by canele_job_region.
 */
typedef struct canele_region canele_region;

/**
 * A region of any rank, this one included, as another rank accesses it. Made by canele_job_find_region or
 * canele_region_remote.
 */
typedef struct canele_remote_region canele_remote_region;

/**
 * A send or a receive under way. Its memory belongs to the library until canele_request_wait,
 * canele_request_test, canele_wait_all, canele_wait_any or canele_wait_some reports its end. Until then,
 * memory that is sent must not be changed or freed, and memory that is received into must not be accessed or
 * freed. Each request must be waited for.
 */
typedef struct canele_request canele_request;

/**
 * The description of a message, or of a send.
 */
typedef struct canele_status {
    /**
     * The sender; for a send, the receiver.
     */
    uint32_t source;
    /**
     * The tag of the message.
     */
    uint32_t tag;
    /**
     * The length of the message in bytes, which may be less than the memory for it.
     */
    size_t bytes;
} canele_status;

/**
 * A type of items: one of CANELE_INT8 to CANELE_DOUBLE. All ranks of a job represent items in the same way.
 */
typedef int32_t canele_type;

/**
 * An operation by which reductions combine items: CANELE_SUM, CANELE_MIN, CANELE_MAX or CANELE_PROD.
 */
typedef int32_t canele_op;

/**
 * A notice: it informs the owner of a region that a put is complete.
 */
typedef struct canele_notice {
    /**
     * The rank that put.
     */
    uint32_t source;
    /**
     * The identifier that this rank gave.
     */
    uint64_t id;
} canele_notice;

/**
 * A function that is called for notices, with the context given to canele_job_on_notice.
 */
typedef void (*canele_notice_call)(const struct canele_notice *notice, void *context);

/**
 * A slice of memory to send.
 */
typedef struct canele_slice {
    /**
     * The address of its first byte.
     */
    const void *data;
    /**
     * Its length in bytes.
     */
    size_t bytes;
} canele_slice;

/**
 * A slice of memory to receive into.
 */
typedef struct canele_slice_mut {
    /**
     * The address of its first byte.
     */
    void *data;
    /**
     * Its length in bytes.
     */
    size_t bytes;
} canele_slice_mut;

/**
 * int8_t
 */
#define CANELE_INT8 1

/**
 * uint8_t, and bytes of any data
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
 * The smallest item; -0 is smaller than +0, and a number is preferred to a NaN.
 */
#define CANELE_MIN 2

/**
 * The largest item; +0 is larger than -0, and a number is preferred to a NaN.
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
 * Returns the text of the last error of a call of the calling thread, in UTF-8; "" if there was none. A call
 * that succeeds does not change it. The text is valid until the thread's next call that fails.
 */
const char *canele_error_text(void);

/**
 * Returns the meaning of a code in two or three words, valid forever; "unknown error" for a number that this
 * version does not have.
 */
const char *canele_error_name(int32_t error);

/**
 * Returns the version of the library, as "0.1.0", valid forever. CANELE_VERSION is the version of the
 * header. Programs run with the library of the header that they were compiled with, and with any later one
 * of the same soname.
 */
const char *canele_version(void);

/**
 * Joins the job in which `canele run` started this process, and stores a handle of it in `job`. Without a
 * launcher it is a job of one rank. Call it once in a program.
 *
 * Errors: CANELE_ERROR_TUNABLE, CANELE_ERROR_LAUNCHER, CANELE_ERROR_MEMORY, CANELE_ERROR_NETWORK; the text
 * says what to change.
 */
canele_error canele_job_start(struct canele_job **job);

/**
 * Ends this rank's part in good order, and closes the job. Everything sent before it will arrive. A rank
 * that exits without this call has failed. Close all other handles first. Later calls with them, and waiting
 * calls of other threads, return CANELE_ERROR_FINISHED.
 *
 * Errors: CANELE_ERROR_LAUNCHER. The job is closed nevertheless.
 */
canele_error canele_job_finish(struct canele_job **job);

/**
 * Returns the number of this process, from 0 to canele_job_size() - 1; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_rank(const struct canele_job *job);

/**
 * Returns the number of ranks of the job; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_size(const struct canele_job *job);

/**
 * Returns the number of this rank among the ranks of its host; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_local_rank(const struct canele_job *job);

/**
 * Returns the number of ranks of this host; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_local_size(const struct canele_job *job);

/**
 * Returns the number of hosts that had ranks of the job at its start; UINT32_MAX if `job` is no job.
 */
uint32_t canele_job_hosts(const struct canele_job *job);

/**
 * Returns the flow that all ranks share from the start; NULL if `job` is no job. It belongs to the job: it
 * is open until canele_job_finish, and canele_flow_close refuses it.
 */
struct canele_flow *canele_job_world(const struct canele_job *job);

/**
 * Sets the strategy that makes packets of the messages that wait for a peer: "aggregate", "fifo", "priority"
 * or "split". It applies to this rank's messages to all ranks. Set it while no message is under way.
 *
 * Errors: CANELE_ERROR_STRATEGY.
 */
canele_error canele_job_set_strategy(const struct canele_job *job, const char *name);

/**
 * Returns the number of this process in the job; UINT32_MAX if `flow` is no flow.
 */
uint32_t canele_flow_rank(const struct canele_flow *flow);

/**
 * Returns the number of ranks of the job; UINT32_MAX if `flow` is no flow.
 */
uint32_t canele_flow_size(const struct canele_flow *flow);

/**
 * Makes a new flow of the same ranks, on the same lane, and stores a handle of it in `copy`. Its messages
 * match no receive on any other flow, so a library can have a flow of its own. A collective: all ranks call
 * it.
 *
 * Errors: as canele_flow_barrier; CANELE_ERROR_LENGTHS while some 32,000 flows are in use.
 */
canele_error canele_flow_duplicate(const struct canele_flow *flow, struct canele_flow **copy);

/**
 * Makes a new flow as canele_flow_duplicate does, on the lane of this number. Threads that use flows on
 * different lanes do not wait for each other. Lanes are numbered from 0, the lane of canele_job_world; a
 * number beyond the last lane of a rank counts again from 0. The flow lies on lane 0 if a rank cannot open
 * the lane, or if ranks name different lanes. No strategy combines messages of several lanes.
 *
 * Errors: as canele_flow_duplicate.
 */
canele_error canele_flow_duplicate_on_lane(const struct canele_flow *flow,
                                           uint32_t lane,
                                           struct canele_flow **copy);

/**
 * Closes this rank's handle of a flow; the handle becomes NULL. The flow is released after its requests have
 * ended. Messages that were not received on it are lost. The flow of canele_job_world cannot be closed.
 */
canele_error canele_flow_close(struct canele_flow **flow);

/**
 * Sets the priority of this rank's later messages on the flow, from 0 to 7, the most urgent; a new flow has
 * 3. The priority counts only while messages wait, and under a strategy that uses it
 * (canele_job_set_strategy).
 *
 * Errors: CANELE_ERROR_LENGTHS: the level is above 7.
 */
canele_error canele_flow_set_priority(const struct canele_flow *flow, uint8_t level);

/**
 * Chooses the rail for this rank's messages on the flow; while it is full they may use another rail. Rails
 * to other hosts are numbered from 1. Messages through shared memory are not affected.
 *
 * Errors: CANELE_ERROR_LENGTHS: there is no such rail.
 */
canele_error canele_flow_prefer_rail(const struct canele_flow *flow, uint8_t rail);

/**
 * Chooses the only rail for this rank's messages on the flow to other hosts. Messages wait while the rail is
 * cut, and forever if the other host is not on it.
 *
 * Errors: CANELE_ERROR_LENGTHS: there is no such rail.
 */
canele_error canele_flow_require_rail(const struct canele_flow *flow, uint8_t rail);

/**
 * Sends `bytes` bytes at `data` to rank `to` with a tag. After the return they may be changed; the message
 * may still be under way.
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
 * Sends as canele_flow_send does, but returns only after the receiver has begun to receive.
 */
canele_error canele_flow_send_sync(const struct canele_flow *flow,
                                   uint32_t to,
                                   uint32_t tag,
                                   const void *data,
                                   size_t bytes);

/**
 * Sends as canele_flow_send does, but gives up after `wait_ns` nanoseconds; then nothing was sent.
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
 * Receives the next matching message into `bytes` bytes at `data`. `from` is a rank or CANELE_ANY_SOURCE,
 * `tag` a tag or CANELE_ANY_TAG. The message may be shorter. Stores its sender, tag and length in `status`,
 * unless NULL.
 *
 * Errors: CANELE_ERROR_TRUNCATED: the message is longer; it is consumed, and later messages are not
 * affected. CANELE_ERROR_NO_SUCH_RANK; the rank is gone, as for canele_flow_send. With CANELE_ANY_SOURCE: a
 * rank died, which each flow reports once; CANELE_ERROR_NO_SENDER_LEFT: all other ranks have finished or
 * died, and this thread, the only one of its rank, would wait forever.
 */
canele_error canele_flow_recv(const struct canele_flow *flow,
                              uint32_t from,
                              uint64_t tag,
                              void *data,
                              size_t bytes,
                              struct canele_status *status);

/**
 * Receives as canele_flow_recv does, but gives up after `wait_ns` nanoseconds. A message that arrives later
 * can still be received.
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
 * Starts to send `bytes` bytes at `data` to rank `to` with a tag, and stores a handle of the operation in
 * `request`. The memory must stay unchanged until the request has ended.
 *
 * Errors: CANELE_ERROR_NO_SUCH_RANK, CANELE_ERROR_FINISHED: nothing was started. Waiting reports other
 * errors.
 */
canele_error canele_flow_isend(const struct canele_flow *flow,
                               uint32_t to,
                               uint32_t tag,
                               const void *data,
                               size_t bytes,
                               struct canele_request **request);

/**
 * Starts to send as canele_flow_isend does; the request ends only after the receiver has begun to receive.
 */
canele_error canele_flow_isend_sync(const struct canele_flow *flow,
                                    uint32_t to,
                                    uint32_t tag,
                                    const void *data,
                                    size_t bytes,
                                    struct canele_request **request);

/**
 * Starts to receive a matching message into `bytes` bytes at `data`, and stores a handle of the operation in
 * `request`. `from` is a rank or CANELE_ANY_SOURCE, `tag` a tag or CANELE_ANY_TAG. The memory must not be
 * accessed or freed until the request has ended.
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
 * Makes progress, and stores true in `ended` if the request has ended. If so, the request is closed,
 * `request` becomes NULL, and the sender, tag and length of the message are stored in `status`, unless NULL.
 *
 * Errors: as canele_flow_send or canele_flow_recv, if the operation failed; then the request has ended, too,
 * and `request` becomes NULL. If `request` does not become NULL, the test failed and the operation is still
 * under way.
 */
canele_error canele_request_test(struct canele_request **request, bool *ended, struct canele_status *status);

/**
 * Waits until the request has ended, and closes it: `request` becomes NULL, and the sender, tag and length
 * of the message are stored in `status`, unless NULL.
 *
 * Errors: as canele_request_test.
 */
canele_error canele_request_wait(struct canele_request **request, struct canele_status *status);

/**
 * Waits as canele_request_wait does, at most `wait_ns` nanoseconds.
 *
 * Errors: as canele_request_test; CANELE_ERROR_DEADLINE: the operation is still under way, and `request` is
 * unchanged.
 */
canele_error canele_request_wait_deadline(struct canele_request **request,
                                          struct canele_status *status,
                                          uint64_t wait_ns);

/**
 * Cancels an operation if it is not too late: a receive without a message, or a send that has neither left
 * nor been copied. Stores true in `withdrawn`, unless NULL, if it is cancelled. The request must still be
 * waited for; the wait then returns CANELE_ERROR_CANCELLED. For a long send that is already announced the
 * receiver is asked, and the wait reports the result.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_request_cancel(struct canele_request *request, bool *withdrawn);

/**
 * Waits for all of `count` requests; those that are NULL are skipped. All become NULL. `statuses`, unless
 * NULL, is an array of `count`; its elements for requests that failed or are NULL do not change.
 *
 * Errors: the error of the first request that failed, after all have ended.
 */
canele_error canele_wait_all(struct canele_request **requests, size_t count, struct canele_status *statuses);

/**
 * Waits until one of `count` requests has ended; those that are NULL are skipped. The request is closed and
 * becomes NULL. Stores its index in the array in `index`, and the sender, tag and length of its message in
 * `status`, unless NULL.
 *
 * Errors: the error of the operation; `index` has its index, and the handle is NULL. CANELE_ERROR_LENGTHS:
 * all requests are NULL.
 */
canele_error canele_wait_any(struct canele_request **requests,
                             size_t count,
                             size_t *index,
                             struct canele_status *status);

/**
 * Waits until at least one of `count` requests has ended; those that are NULL are skipped. All requests that
 * have ended are closed and become NULL. Stores their number in `ended`, and their indices in the array
 * `indices` of `count`. `statuses`, unless NULL, is an array of `count`; the sender, tag and length of their
 * messages are stored there in the same order.
 *
 * Errors: the error of the first request that failed; `ended` and `indices` are valid nevertheless.
 * CANELE_ERROR_LENGTHS: all requests are NULL.
 */
canele_error canele_wait_some(struct canele_request **requests,
                              size_t count,
                              size_t *ended,
                              size_t *indices,
                              struct canele_status *statuses);

/**
 * Waits for a matching message, and stores its sender, tag and length in `status`, unless NULL. The message
 * stays.
 *
 * Errors: as canele_flow_recv, except CANELE_ERROR_TRUNCATED.
 */
canele_error canele_flow_probe(const struct canele_flow *flow,
                               uint32_t from,
                               uint64_t tag,
                               struct canele_status *status);

/**
 * Stores true in `found` if a matching message has arrived, and then its sender, tag and length in `status`,
 * unless NULL. The message stays.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_flow_iprobe(const struct canele_flow *flow,
                                uint32_t from,
                                uint64_t tag,
                                bool *found,
                                struct canele_status *status);

/**
 * Waits for a matching message and takes it, so that no receive of another thread can get it. Stores a
 * handle of it in `matched`, and its sender, tag and length in `status`, unless NULL.
 *
 * Errors: as canele_flow_probe.
 */
canele_error canele_flow_mprobe(const struct canele_flow *flow,
                                uint32_t from,
                                uint64_t tag,
                                struct canele_matched **matched,
                                struct canele_status *status);

/**
 * Takes a matching message, as canele_flow_mprobe does, if one has arrived; otherwise `matched` becomes
 * NULL.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_flow_improbe(const struct canele_flow *flow,
                                 uint32_t from,
                                 uint64_t tag,
                                 struct canele_matched **matched,
                                 struct canele_status *status);

/**
 * Receives a message that a probe has taken into `bytes` bytes at `data`. The handle is closed and becomes
 * NULL, even if the call fails.
 *
 * Errors: CANELE_ERROR_TRUNCATED: the message is longer; its sender died.
 */
canele_error canele_matched_recv(struct canele_matched **matched,
                                 void *data,
                                 size_t bytes,
                                 struct canele_status *status);

/**
 * Returns after all ranks of the flow have called it. All ranks make the same collective calls on a flow in
 * the same order, with the same lengths, roots and operations. Messages of collectives never match receives
 * on the flow.
 *
 * Errors: a rank died (CANELE_ERROR_PEER_FAILED), or finished without this call
 * (CANELE_ERROR_PEER_FINISHED).
 */
canele_error canele_flow_barrier(const struct canele_flow *flow);

/**
 * Copies the `bytes` bytes at `data` of rank `root` to `data` of all other ranks.
 *
 * Errors: as canele_flow_barrier; CANELE_ERROR_NO_SUCH_RANK; CANELE_ERROR_LENGTHS: another rank gave another
 * length.
 */
canele_error canele_flow_broadcast(const struct canele_flow *flow, uint32_t root, void *data, size_t bytes);

/**
 * Reduces `count` items of a type of each rank, element by element, into `count` items at `result` of rank
 * `root`. On other ranks `result` is not used and may be NULL. The result has the same bits in every run
 * with as many ranks. `items` and `result` must not overlap.
 *
 * Errors: as canele_flow_broadcast; CANELE_ERROR_ARGUMENT: there is no such type or operation, or memory is
 * not aligned.
 */
canele_error canele_flow_reduce(const struct canele_flow *flow,
                                uint32_t root,
                                const void *items,
                                void *result,
                                size_t count,
                                canele_type type,
                                canele_op op);

/**
 * Reduces `count` items of a type of each rank, element by element, into `count` items at `result` on all
 * ranks. The result has the same bits on every rank and in every run with as many ranks. `items` and
 * `result` must not overlap.
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
 * Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of rank `root`, which has
 * room for `bytes` bytes of each rank. On other ranks `all` is not used and may be NULL. `data` and `all`
 * must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_gather(const struct canele_flow *flow,
                                uint32_t root,
                                const void *data,
                                size_t bytes,
                                void *all);

/**
 * Copies to `data` of each rank its part of the bytes at `all` of rank `root`, which has `bytes` bytes for
 * each rank, in the order of ranks. On other ranks `all` is not used and may be NULL. `data` and `all` must
 * not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_scatter(const struct canele_flow *flow,
                                 uint32_t root,
                                 const void *all,
                                 void *data,
                                 size_t bytes);

/**
 * Gathers `bytes` bytes at `data` of each rank, in the order of ranks, at `all` of all ranks, which has room
 * for `bytes` bytes of each rank. `data` and `all` must not overlap.
 *
 * Errors: as canele_flow_broadcast.
 */
canele_error canele_flow_allgather(const struct canele_flow *flow, const void *data, size_t bytes, void *all);

/**
 * Sends each rank its `bytes` bytes of those at `data`, and receives `bytes` bytes from each rank at
 * `result`, both in the order of ranks. Part n of rank m becomes part m of rank n. Both have `bytes` bytes
 * for each rank, and must not overlap.
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
 * Errors: CANELE_ERROR_MEMORY; the text names the memory that is needed and the memory that there is.
 */
canele_error canele_job_region(const struct canele_job *job, size_t bytes, struct canele_region **region);

/**
 * Finds a region that any rank published under `name`; waits for it at most `wait_ns` nanoseconds. Stores a
 * handle of it in `remote`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_REGION_LOST: the region was closed meanwhile;
 * CANELE_ERROR_NAME_TAKEN: the name belongs to an object of another kind.
 */
canele_error canele_job_find_region(const struct canele_job *job,
                                    const char *name,
                                    uint64_t wait_ns,
                                    struct canele_remote_region **remote);

/**
 * Returns the length of a region in bytes; 0 if `region` is no region.
 */
size_t canele_region_len(const struct canele_region *region);

/**
 * Returns the address of a region in this process, valid until it is closed; NULL if `region` is no region.
 * Other ranks may read and write the region at any time, as other threads may. Use atomic operations,
 * notices or messages to know when data is complete.
 */
void *canele_region_address(const struct canele_region *region);

/**
 * Publishes the region under `name`, so that any rank can find it.
 *
 * Errors: CANELE_ERROR_NAME_TAKEN.
 */
canele_error canele_region_publish(const struct canele_region *region, const char *name);

/**
 * Makes a handle by which this rank accesses its own region as other ranks do, and stores it in `remote`.
 */
canele_error canele_region_remote(const struct canele_region *region, struct canele_remote_region **remote);

/**
 * Copies `bytes` bytes of the region, from `offset` bytes on, to `data`.
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
 * Closes a region and releases its memory; the handle becomes NULL. Transfers under way end in good order.
 */
canele_error canele_region_close(struct canele_region **region);

/**
 * Returns the rank that owns the region; UINT32_MAX if `remote` is no remote region.
 */
uint32_t canele_remote_region_owner(const struct canele_remote_region *remote);

/**
 * Writes `bytes` bytes at `data` into the region, from `offset` bytes on. On return the bytes are in the
 * region. The owner must make progress for this if it runs on another host.
 *
 * Errors: CANELE_ERROR_RANGE. On another host: CANELE_ERROR_REFUSED; the owner is gone, as for
 * canele_flow_send.
 */
canele_error canele_remote_region_put(const struct canele_remote_region *remote,
                                      size_t offset,
                                      const void *data,
                                      size_t bytes);

/**
 * Reads `bytes` bytes of the region, from `offset` bytes on, into `data`.
 *
 * Errors: as canele_remote_region_put.
 */
canele_error canele_remote_region_get(const struct canele_remote_region *remote,
                                      size_t offset,
                                      void *data,
                                      size_t bytes);

/**
 * Writes as canele_remote_region_put does, and then sends the owner a notice with the identifier `notice`
 * (canele_job_wait_notice). The bytes are in the region when the owner sees the notice. After the return
 * `data` may be changed; the bytes may still be under way. The owner sees the notices of a rank in the order
 * of its calls.
 *
 * Errors: CANELE_ERROR_RANGE; the owner is gone, as for canele_flow_send. The next
 * canele_remote_region_fence reports other errors on another host; then the owner sees no notice.
 */
canele_error canele_remote_region_put_notify(const struct canele_remote_region *remote,
                                             size_t offset,
                                             const void *data,
                                             size_t bytes,
                                             uint64_t notice);

/**
 * Waits until all earlier puts into regions of this owner are in its memory, at most `wait_ns` nanoseconds.
 *
 * Errors: CANELE_ERROR_DEADLINE; the owner is gone; CANELE_ERROR_REFUSED: a put with a notice since the last
 * fence to this owner went to a region that the owner has closed.
 */
canele_error canele_remote_region_fence(const struct canele_remote_region *remote, uint64_t wait_ns);

/**
 * Adds `n` to the 64-bit word at `offset` bytes, a multiple of 8, atomically among all ranks, and stores its
 * old value in `old`, unless NULL.
 *
 * Errors: CANELE_ERROR_RANGE: the word lies outside the region or is not aligned; otherwise as
 * canele_remote_region_put.
 */
canele_error canele_remote_region_fetch_add(const struct canele_remote_region *remote,
                                            size_t offset,
                                            uint64_t n,
                                            uint64_t *old);

/**
 * Replaces the 64-bit word at `offset` bytes by `new_value` if it is `expected`, atomically among all ranks,
 * and stores its old value in `old`.
 *
 * Errors: as canele_remote_region_fetch_add.
 */
canele_error canele_remote_region_compare_and_swap(const struct canele_remote_region *remote,
                                                   size_t offset,
                                                   uint64_t expected,
                                                   uint64_t new_value,
                                                   uint64_t *old);

/**
 * Closes a handle of a remote region; the handle becomes NULL. The region stays.
 */
canele_error canele_remote_region_close(struct canele_remote_region **remote);

/**
 * Stores true in `found` if a notice has arrived, and then the next one in `notice`.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_job_try_notice(const struct canele_job *job, bool *found, struct canele_notice *notice);

/**
 * Waits for the next notice, at most `wait_ns` nanoseconds, and stores it in `notice`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_FINISHED. With CANELE_FOREVER: CANELE_ERROR_NO_SENDER_LEFT, as
 * for canele_flow_recv.
 */
canele_error canele_job_wait_notice(const struct canele_job *job,
                                    uint64_t wait_ns,
                                    struct canele_notice *notice);

/**
 * Calls `call` with `context` for each notice whose identifier is at least `first` and below `end`. The call
 * comes from any thread, during any call that makes progress; it must not call the library.
 * canele_job_try_notice and canele_job_wait_notice do not report these notices any more.
 *
 * Errors: CANELE_ERROR_FINISHED.
 */
canele_error canele_job_on_notice(const struct canele_job *job,
                                  uint64_t first,
                                  uint64_t end,
                                  canele_notice_call call,
                                  void *context);

/**
 * Sends `bytes` bytes of a region, from `offset` bytes on, to rank `to` with a tag. Messages above the eager
 * size are copied once. The bytes must not be changed before this call returns.
 *
 * Errors: CANELE_ERROR_RANGE; otherwise as canele_flow_send.
 */
canele_error canele_flow_send_region(const struct canele_flow *flow,
                                     uint32_t to,
                                     uint32_t tag,
                                     const struct canele_region *region,
                                     size_t offset,
                                     size_t bytes);

/**
 * Receives the next matching message, as canele_flow_recv does, into `bytes` bytes of a region, from
 * `offset` bytes on.
 *
 * Errors: CANELE_ERROR_RANGE; otherwise as canele_flow_recv.
 */
canele_error canele_flow_recv_region(const struct canele_flow *flow,
                                     uint32_t from,
                                     uint64_t tag,
                                     const struct canele_region *region,
                                     size_t offset,
                                     size_t bytes,
                                     struct canele_status *status);

/**
 * Opens the channel `number` to rank `peer`, which opens it with the same number, and stores a handle of it
 * in `channel`. A pair of ranks has a channel for each number. Opening is free and needs no agreement with
 * the peer.
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
 * Returns the number of the channel; UINT32_MAX if `channel` is no channel.
 */
uint32_t canele_channel_number(const struct canele_channel *channel);

/**
 * Sends `bytes` bytes at `data`. After the return they may be changed; the message may still be under way.
 *
 * Errors: the peer is gone, as for canele_flow_send.
 */
canele_error canele_channel_send(const struct canele_channel *channel, const void *data, size_t bytes);

/**
 * Sends as canele_channel_send does, but gives up after `wait_ns` nanoseconds; then nothing was sent.
 *
 * Errors: as canele_channel_send; CANELE_ERROR_DEADLINE.
 */
canele_error canele_channel_send_deadline(const struct canele_channel *channel,
                                          const void *data,
                                          size_t bytes,
                                          uint64_t wait_ns);

/**
 * Receives the next message into `bytes` bytes at `data`; stores its length in bytes in `received`, unless
 * NULL.
 *
 * Errors: CANELE_ERROR_TRUNCATED: the message is longer; it is consumed, and later messages are not
 * affected. The peer is gone, as for canele_flow_send.
 */
canele_error canele_channel_recv(const struct canele_channel *channel,
                                 void *data,
                                 size_t bytes,
                                 size_t *received);

/**
 * Receives as canele_channel_recv does, but gives up after `wait_ns` nanoseconds. A message that arrives
 * later can still be received.
 *
 * Errors: as canele_channel_recv; CANELE_ERROR_DEADLINE.
 */
canele_error canele_channel_recv_deadline(const struct canele_channel *channel,
                                          void *data,
                                          size_t bytes,
                                          size_t *received,
                                          uint64_t wait_ns);

/**
 * Sends `count` slices of memory as one message, gathered when it leaves.
 *
 * Errors: as canele_channel_send.
 */
canele_error canele_channel_send_list(const struct canele_channel *channel,
                                      const struct canele_slice *slices,
                                      size_t count);

/**
 * Receives the next message into `count` slices of memory, which do not overlap, scattered when it arrives;
 * stores its length in bytes in `received`, unless NULL.
 *
 * Errors: as canele_channel_recv.
 */
canele_error canele_channel_recv_list(const struct canele_channel *channel,
                                      const struct canele_slice_mut *slices,
                                      size_t count,
                                      size_t *received);

/**
 * Sends `bytes` bytes of a region, from `offset` bytes on, as canele_flow_send_region does.
 *
 * Errors: CANELE_ERROR_RANGE; otherwise as canele_channel_send.
 */
canele_error canele_channel_send_region(const struct canele_channel *channel,
                                        const struct canele_region *region,
                                        size_t offset,
                                        size_t bytes);

/**
 * Receives the next message into `bytes` bytes of a region, from `offset` bytes on; stores its length in
 * bytes in `received`, unless NULL.
 *
 * Errors: CANELE_ERROR_RANGE; otherwise as canele_channel_recv.
 */
canele_error canele_channel_recv_region(const struct canele_channel *channel,
                                        const struct canele_region *region,
                                        size_t offset,
                                        size_t bytes,
                                        size_t *received);

/**
 * Closes this end of a channel; the handle becomes NULL.
 */
canele_error canele_channel_close(struct canele_channel **channel);

/**
 * Creates a mailbox with room for `depth` messages and stores a handle of it in `mailbox`. Ranks of all
 * hosts find it by its name.
 *
 * Errors: CANELE_ERROR_NAME_TAKEN; CANELE_ERROR_LENGTHS: a depth of 0; CANELE_ERROR_MEMORY.
 */
canele_error canele_job_create_mailbox(const struct canele_job *job,
                                       const char *name,
                                       size_t depth,
                                       struct canele_mailbox **mailbox);

/**
 * Finds a mailbox by its name; waits for it at most `wait_ns` nanoseconds. Stores a handle for posting to it
 * in `sender`.
 *
 * Errors: CANELE_ERROR_DEADLINE; CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as for canele_flow_send.
 */
canele_error canele_job_find_mailbox(const struct canele_job *job,
                                     const char *name,
                                     uint64_t wait_ns,
                                     struct canele_mailbox_sender **sender);

/**
 * Waits for a message, takes it out of the mailbox, and stores a handle of it in `message`.
 *
 * Errors: a rank died: each waiting call reports this once, and the next call works as before; the message's
 * sender died before its data arrived; CANELE_ERROR_NO_SENDER_LEFT, as for canele_flow_recv.
 */
canele_error canele_mailbox_retrieve(const struct canele_mailbox *mailbox, struct canele_message **message);

/**
 * Takes the next message out of the mailbox if there is one now; otherwise `message` becomes NULL.
 *
 * Errors: as canele_mailbox_retrieve.
 */
canele_error canele_mailbox_try_retrieve(const struct canele_mailbox *mailbox,
                                         struct canele_message **message);

/**
 * Retrieves as canele_mailbox_retrieve does, but waits at most `wait_ns` nanoseconds.
 *
 * Errors: CANELE_ERROR_DEADLINE; otherwise as canele_mailbox_retrieve.
 */
canele_error canele_mailbox_retrieve_deadline(const struct canele_mailbox *mailbox,
                                              struct canele_message **message,
                                              uint64_t wait_ns);

/**
 * Closes a mailbox; the handle becomes NULL. Messages that were not retrieved are lost, and later posts fail
 * with CANELE_ERROR_MAILBOX_CLOSED.
 */
canele_error canele_mailbox_close(struct canele_mailbox **mailbox);

/**
 * Returns the rank that owns the mailbox; UINT32_MAX if `sender` is no mailbox sender.
 */
uint32_t canele_mailbox_sender_owner(const struct canele_mailbox_sender *sender);

/**
 * Posts a message; waits while the mailbox is full. The message is closed, and its handle becomes NULL. A
 * post to a mailbox of another host takes a round trip at least, during which the owner must make progress.
 *
 * Errors: CANELE_ERROR_MAILBOX_CLOSED; the owner is gone, as for canele_flow_send; CANELE_ERROR_MEMORY. The
 * message is closed nevertheless.
 */
canele_error canele_mailbox_sender_post(const struct canele_mailbox_sender *sender,
                                        struct canele_message **message);

/**
 * Posts a message if the mailbox is not full. The message is closed, and its handle becomes NULL, except for
 * CANELE_ERROR_MAILBOX_FULL.
 *
 * Errors: CANELE_ERROR_MAILBOX_FULL; otherwise as canele_mailbox_sender_post.
 */
canele_error canele_mailbox_sender_try_post(const struct canele_mailbox_sender *sender,
                                            struct canele_message **message);

/**
 * Posts a message; waits while the mailbox is full, at most `wait_ns` nanoseconds. The message is closed,
 * and its handle becomes NULL, except for CANELE_ERROR_MAILBOX_FULL.
 *
 * Errors: as canele_mailbox_sender_try_post.
 */
canele_error canele_mailbox_sender_post_deadline(const struct canele_mailbox_sender *sender,
                                                 struct canele_message **message,
                                                 uint64_t wait_ns);

/**
 * Closes the posting end of a mailbox; the handle becomes NULL. The mailbox stays.
 */
canele_error canele_mailbox_sender_close(struct canele_mailbox_sender **sender);

/**
 * Makes an empty message and stores a handle of it in `message`. Post the message, or close it by
 * canele_message_close.
 */
canele_error canele_message_new(struct canele_message **message);

/**
 * Appends `count` items of a type to the message.
 *
 * Errors: CANELE_ERROR_ARGUMENT.
 */
canele_error canele_message_pack(struct canele_message *message,
                                 canele_type type,
                                 const void *data,
                                 size_t count);

/**
 * Takes the next `count` items of a type out of the message and copies them to `data`. Bytes (CANELE_UINT8)
 * can be unpacked as any type. So can a posted message of exactly 48 bytes, because it has no room for its
 * types.
 *
 * Errors: CANELE_ERROR_UNPACK: the next items have another type or are fewer; nothing is taken.
 */
canele_error canele_message_unpack(struct canele_message *message,
                                   canele_type type,
                                   void *data,
                                   size_t count);

/**
 * Returns the length of the message in bytes, including unpacked items; 0 if `message` is no message.
 */
size_t canele_message_len(const struct canele_message *message);

/**
 * Returns the address of the canele_message_len() bytes of the message, including unpacked items; NULL if
 * `message` is no message. The address is valid until the message is packed, posted or closed. The bytes of
 * a long message, which lie in a region, are copied for it.
 */
const void *canele_message_bytes(struct canele_message *message);

/**
 * Returns the rank that posted the message; UINT32_MAX if it was not retrieved from a mailbox, or `message`
 * is no message.
 */
uint32_t canele_message_sender(const struct canele_message *message);

/**
 * Closes a message; the handle becomes NULL.
 */
canele_error canele_message_close(struct canele_message **message);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CANELE_H */
