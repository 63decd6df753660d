// SPDX-License-Identifier: Apache-2.0
#include "link/end_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "ferry_contract.h"

#define MOST_FILES 16u

// Read in the handler.
static atomic_int file[MOST_FILES]; // Plus 1; 0 = free.
static atomic_int owner;            // The process.

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned guarded;

// Those with which a terminal, a system that shuts down, or a fault of its own ends a program.
static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGFPE, SIGSEGV, SIGPIPE, SIGTERM};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

/// Only the system is called here. The answer to the last read comes behind all that the device had sent before.
static void take_off_the_bus(void)
{
    for (unsigned n = 0; n < MOST_FILES && atomic_load(&owner) == getpid(); n++) {
        const int config = atomic_load(&file[n]) - 1;
        uint32_t command;
        if (config >= 0 && pread(config, &command, 4, FERRY_CONFIG_SPACE_COMMAND) == 4) {
            command &= 0xffffu & ~FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK;
            (void)!pwrite(config, &command, 4, FERRY_CONFIG_SPACE_COMMAND);
            (void)!pread(config, &command, 4, FERRY_CONFIG_SPACE_COMMAND);
        }
    }
}

/// Then it ends the process as it would have: at once when this returns, or when what it is about is done again.
static void on_signal(int number)
{
    const struct sigaction as_before = {.sa_handler = SIG_DFL};
    take_off_the_bus();
    (void)sigaction(number, &as_before, NULL);
    (void)raise(number);
}

static void at_exit(void)
{
    (void)atexit(take_off_the_bus);
}

static void change_handlers(void (*from)(int), void (*to)(int))
{
    struct sigaction now, ours = {.sa_handler = to};
    sigemptyset(&ours.sa_mask);
    for (unsigned n = 0; n < ENDS; n++) {
        if (sigaction(ends[n], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == from) {
            (void)sigaction(ends[n], &ours, NULL);
        }
    }
}

bool ferry_end_guard(int config)
{
    bool done = false;
    pthread_once(&once, at_exit);
    pthread_mutex_lock(&mutex);
    for (unsigned n = 0; n < MOST_FILES && !done; n++) {
        if (atomic_load(&file[n]) == 0) {
            atomic_store(&owner, (int)getpid());
            atomic_store(&file[n], config + 1);
            if (guarded++ == 0) {
                change_handlers(SIG_DFL, on_signal);
            }
            done = true;
        }
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

void ferry_end_unguard(int config)
{
    pthread_mutex_lock(&mutex);
    for (unsigned n = 0; n < MOST_FILES; n++) {
        if (config >= 0 && atomic_load(&file[n]) == config + 1) {
            atomic_store(&file[n], 0);
            if (--guarded == 0) {
                change_handlers(on_signal, SIG_DFL);
            }
        }
    }
    pthread_mutex_unlock(&mutex);
}
