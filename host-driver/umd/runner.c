// SPDX-License-Identifier: Apache-2.0
// Nothing in the device moves unless a call runs it. Who waits in a call runs it himself; who waits in poll() cannot,
// so a thread does it for him: turn after turn of the manager's, as long as anything is queued, and it sleeps when
// nothing is. Calls of the program get in between two turns.
#include "umd/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "link/above_streams.h"

struct umd_runner {
    struct ferry_vidmm *vidmm;
    int event;
    pthread_t thread;
    atomic_bool ending;
    pthread_mutex_t lock; // Of the rest; innermost.
    pthread_cond_t woken;
    bool work;
};

static void tell(const struct umd_runner *runner)
{
    const uint64_t one = 1;

    // It fails when the counter is full: then the descriptor is readable, and stays so. A write that does not wait is
    // not interrupted.
    ssize_t written = write(runner->event, &one, sizeof one);
    (void)written;
}

// Until something may be queued; false at the end.
static bool sleeps(struct umd_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    while (!runner->work && !runner->ending)
        pthread_cond_wait(&runner->woken, &runner->lock);
    runner->work = false;
    pthread_mutex_unlock(&runner->lock);
    return !runner->ending;
}

static void *run(void *context)
{
    struct umd_runner *runner = context;

    while (sleeps(runner)) {
        bool left = true;
        int error = FERRY_OK;

        while (left && error == FERRY_OK && !runner->ending)
            error = ferry_vidmm_work(runner->vidmm, &left);
        // It does not go on by itself. Whoever is told asks, and hears what is wrong.
        if (error != FERRY_OK)
            tell(runner);
    }
    return NULL;
}

static void drop(struct umd_runner *runner)
{
    if (runner->event >= 0)
        close(runner->event);
    pthread_cond_destroy(&runner->woken);
    pthread_mutex_destroy(&runner->lock);
    free(runner);
}

int umd_runner_start(struct umd_adapter *adapter)
{
    sigset_t all, before;

    if (adapter->runner)
        return FERRY_OK;
    struct umd_runner *runner = calloc(1, sizeof *runner);
    if (!runner)
        return FERRY_ERROR_NO_HOST_MEMORY;
    runner->vidmm = adapter->vidmm;
    runner->work = true; // What was queued before is to go on too.
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->woken, NULL);
    runner->event = ferry_above_streams(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    // Signals are the program's own threads' business.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = runner->event >= 0 && pthread_create(&runner->thread, NULL, run, runner) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        drop(runner);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    adapter->runner = runner;
    return FERRY_OK;
}

int umd_runner_descriptor(const struct umd_adapter *adapter, int *fd)
{
    const struct umd_runner *runner = adapter->runner;

    *fd = fcntl(runner->event, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return *fd >= 0 ? FERRY_OK : FERRY_ERROR_NO_HOST_MEMORY;
}

void umd_runner_wake(struct umd_adapter *adapter)
{
    struct umd_runner *runner = adapter->runner;

    if (!runner)
        return;
    pthread_mutex_lock(&runner->lock);
    runner->work = true;
    pthread_cond_signal(&runner->woken);
    pthread_mutex_unlock(&runner->lock);
}

void umd_runner_tell(const struct umd_adapter *adapter)
{
    const struct umd_runner *runner = adapter->runner;

    if (runner)
        tell(runner);
}

void umd_runner_tell_faults(struct umd_adapter *adapter)
{
    if (!adapter->runner)
        return;
    uint64_t faults = ferry_kmd_faults(adapter->kmd);
    // Of two threads here one may write an older count behind the other's newer one: then it is told once more.
    if (atomic_exchange(&adapter->faults_told, faults) != faults)
        umd_runner_tell(adapter);
}

void umd_runner_end(struct umd_adapter *adapter)
{
    struct umd_runner *runner = adapter->runner;

    if (!runner)
        return;
    runner->ending = true;
    umd_runner_wake(adapter);
    pthread_join(runner->thread, NULL);
    tell(runner);
    adapter->runner = NULL;
    drop(runner);
}
