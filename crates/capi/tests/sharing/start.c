/* Starts a job in a process that has loaded another library before, and prints the result.
 *
 *   start LIBRARY */
#include <canele.h>

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    canele_job *job = NULL;
    if (argc != 2 || dlopen(argv[1], RTLD_NOW) == NULL) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "start LIBRARY");
        return 2;
    }
    if (canele_job_start(&job) != CANELE_OK) {
        printf("%s\n", canele_error_text());
        return 0;
    }
    printf("started\n");
    return canele_job_finish(&job) != CANELE_OK;
}
