// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "link/bar_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES  4096u
#define MOST_RANGES 32u

// Read in the handler, so a range is whole when its first byte is told.
static struct {
    atomic_uintptr_t first; // 0 = free.
    atomic_size_t bytes;
} range[MOST_RANGES];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned guarded;
static struct sigaction before;

static bool is_guarded(uintptr_t address)
{
    for (unsigned n = 0; n < MOST_RANGES; n++) {
        const uintptr_t first = atomic_load(&range[n].first);
        if (first != 0 && address - first < atomic_load(&range[n].bytes)) {
            return true;
        }
    }
    return false;
}

/// The page is memory of its own from now on, and the access is made again. Only the system is called here.
static bool put_ones(uintptr_t address)
{
    void *page = (void *)(address & ~(uintptr_t)(PAGE_BYTES - 1));
    if (mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page) {
        return false;
    }
    memset(page, 0xff, PAGE_BYTES);
    return true;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    const bool sent = info->si_code <= 0; // By a process: about no access, which would be made again.
    if (!sent && is_guarded(address) && put_ones(address)) {
        return;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else if (!sent || before.sa_handler == SIG_DFL) {
        (void)sigaction(number, &before, NULL); // The access is made again, and ends the program.
        if (sent) {
            raise(number);
        }
    }
}

static bool take_signal(void)
{
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    return guarded != 0 || sigaction(SIGBUS, &ours, &before) == 0;
}

/// Unless somebody has it by now, who may have kept ours to call.
static void give_signal_back(void)
{
    struct sigaction now;
    if (guarded == 0 && sigaction(SIGBUS, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == on_signal) {
        (void)sigaction(SIGBUS, &before, NULL);
    }
}

bool ferry_bar_guard(volatile void *memory, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    bool done = false;
    for (unsigned n = 0; n < MOST_RANGES && !done; n++) {
        if (atomic_load(&range[n].first) == 0 && take_signal()) {
            atomic_store(&range[n].bytes, bytes);
            atomic_store(&range[n].first, (uintptr_t)memory);
            guarded++;
            done = true;
        }
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

void ferry_bar_unguard(volatile void *memory)
{
    pthread_mutex_lock(&mutex);
    for (unsigned n = 0; n < MOST_RANGES; n++) {
        if (memory != NULL && atomic_load(&range[n].first) == (uintptr_t)memory) {
            atomic_store(&range[n].first, 0);
            guarded--;
            give_signal_back();
        }
    }
    pthread_mutex_unlock(&mutex);
}
