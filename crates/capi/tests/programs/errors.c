/* Wrong arguments: each is an error with a code and a text, without any other effect. For two ranks. */
#include "expect.h"

#include <sys/wait.h>
#include <unistd.h>

static void handles(canele_job *job, canele_flow *world)
{
    char byte = 0;
    FAILS(ARGUMENT, "the flow is NULL", canele_flow_send(NULL, 0, 0, &byte, 1));
    FAILS(ARGUMENT, "is no flow", canele_flow_send((canele_flow *)job, 0, 0, &byte, 1));
    FAILS(ARGUMENT, "is no job", canele_job_set_strategy((canele_job *)world, "fifo"));
    EXPECT(canele_job_rank(NULL) == UINT32_MAX && strstr(canele_error_text(), "the job is NULL") != NULL);
    EXPECT(canele_job_world(NULL) == NULL && canele_flow_size(NULL) == UINT32_MAX);

    canele_flow *copy = NULL;
    OK(canele_flow_duplicate(world, &copy));
    canele_flow *again = copy;
    OK(canele_flow_close(&copy));
    EXPECT(copy == NULL);
    FAILS(ARGUMENT, "the flow is NULL", canele_flow_close(&copy));
    FAILS(CLOSED_HANDLE, "the flow is closed already", canele_flow_close(&again));
    FAILS(CLOSED_HANDLE, "the flow is closed already", canele_flow_barrier(again));
    FAILS(ARGUMENT, "null pointer", canele_flow_close(NULL));
    canele_flow *theirs = world;
    FAILS(ARGUMENT, "belongs to the job", canele_flow_close(&theirs));
    EXPECT(theirs == world);
    FAILS(ARGUMENT, "null pointer", canele_flow_duplicate(world, NULL));
    canele_job *second = job;
    EXPECT(canele_job_start(NULL) == CANELE_ERROR_ARGUMENT && second == job);
}

static void arguments(canele_job *job, canele_flow *world)
{
    char byte = 0;
    uint32_t me = canele_job_rank(job);
    FAILS(NO_SUCH_RANK, "there is no rank 7 in a job of 2 ranks", canele_flow_send(world, 7, 0, &byte, 1));
    FAILS(NO_SUCH_RANK, "there is no rank 7", canele_flow_recv(world, 7, 0, &byte, 1, NULL));
    FAILS(NO_SUCH_RANK, "there is no rank 7", canele_flow_broadcast(world, 7, &byte, 1));
    FAILS(ARGUMENT, "null pointer, though it has 5 bytes", canele_flow_send(world, me, 0, NULL, 5));
    FAILS(ARGUMENT, "null pointer", canele_flow_recv(world, me, 0, NULL, 5, NULL));
    FAILS(ARGUMENT, "negative", canele_flow_send(world, me, 0, &byte, (size_t)-1));
    FAILS(ARGUMENT, "no tag 4294967296", canele_flow_recv(world, me, UINT64_C(1) << 32, &byte, 1, NULL));
    FAILS(STRATEGY, "there is no strategy \"lifo\"", canele_job_set_strategy(job, "lifo"));
    FAILS(ARGUMENT, "null pointer", canele_job_set_strategy(job, NULL));
    FAILS(ARGUMENT, "UTF-8", canele_job_set_strategy(job, "\xff"));
    FAILS(LENGTHS, "8", canele_flow_set_priority(world, 8));

    double numbers[4] = {1, 2, 3, 4}, result[4];
    FAILS(ARGUMENT, "no type 99", canele_flow_allreduce(world, numbers, result, 4, 99, CANELE_SUM));
    FAILS(ARGUMENT, "no operation 0", canele_flow_allreduce(world, numbers, result, 4, CANELE_DOUBLE, 0));
    FAILS(ARGUMENT, "overlap", canele_flow_allreduce(world, numbers, numbers + 1, 3, CANELE_DOUBLE, CANELE_SUM));
    FAILS(ARGUMENT, "overlap", canele_flow_allgather(world, numbers, 8, numbers));
    FAILS(ARGUMENT, "not aligned",
          canele_flow_allreduce(world, (char *)numbers + 1, result, 1, CANELE_DOUBLE, CANELE_SUM));
    FAILS(ARGUMENT, "more than memory has", canele_flow_allgather(world, numbers, SIZE_MAX / 2 + 1, result));
    /* No refused call has sent a message: all ranks are in step. */
    OK(canele_flow_allreduce(world, numbers, result, 4, CANELE_DOUBLE, CANELE_SUM));
    EXPECT(result[0] == 2 && result[3] == 8);
}

static void messages(canele_flow *world, uint32_t me)
{
    char text[8];
    canele_status status;
    FAILS(DEADLINE, "a message from rank 1 with tag 3", canele_flow_recv_deadline(world, 1, 3, text, 8, NULL, 1000));
    OK(canele_flow_send(world, me, 9, "too long", 8));
    FAILS(TRUNCATED, "8 bytes", canele_flow_recv(world, me, 9, text, 4, NULL));
    OK(canele_flow_send(world, me, 9, NULL, 0));
    OK(canele_flow_recv(world, CANELE_ANY_SOURCE, CANELE_ANY_TAG, NULL, 0, &status));
    EXPECT(status.source == me && status.tag == 9 && status.bytes == 0);
}

static void codes(void)
{
    EXPECT(strcmp(canele_error_name(CANELE_OK), "no error") == 0);
    EXPECT(strcmp(canele_error_name(CANELE_ERROR_DEADLINE), "deadline passed") == 0);
    EXPECT(strcmp(canele_error_name(CANELE_ERROR_INTERNAL), "internal error") == 0);
    EXPECT(strcmp(canele_error_name(CANELE_ERROR_INTERNAL + 1), "unknown error") == 0);
    EXPECT(strcmp(canele_error_name(-1), "unknown error") == 0);
    EXPECT(strcmp(canele_version(), CANELE_VERSION) == 0);
}

static void forked(canele_flow *world)
{
    pid_t child = fork();
    if (child == 0) {
        char byte = 0;
        FAILS(FORKED, "forked child", canele_flow_send(world, 0, 0, &byte, 1));
        _exit(0);
    }
    int status = 1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    canele_job *job = NULL;
    EXPECT(strcmp(canele_error_text(), "") == 0);
    OK(canele_job_start(&job));
    canele_flow *world = canele_job_world(job);
    handles(job, world);
    arguments(job, world);
    messages(world, canele_job_rank(job));
    codes();
    forked(world);
    OK(canele_flow_barrier(world));
    canele_flow *kept = NULL;
    OK(canele_flow_duplicate(world, &kept));
    canele_job *copy = job;
    OK(canele_job_finish(&job));
    char byte = 0;
    EXPECT(job == NULL);
    FAILS(FINISHED, "the job is of a job that was finished", canele_job_finish(&copy));
    FAILS(FINISHED, "the flow is of a job that was finished", canele_flow_send(world, 0, 0, &byte, 1));
    FAILS(FINISHED, "finished", canele_flow_send(kept, 0, 0, &byte, 1));
    OK(canele_flow_close(&kept));
    puts("passed");
    return 0;
}
