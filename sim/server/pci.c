// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // ppoll()
#include "server/pci.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/proxy.h"
#include "server/slot.h"
#include "server/wait.h"

#define SLICE       100u // Cycles between two looks at the socket: what a message waits at most.
#define COMMAND_END 3    // Descriptor of whom pci_start() starts.

/// false = there is no device any more.
static bool obey(struct slot *slot, const struct proxy_message *message, uint64_t *value)
{
    *value = 0;
    switch (message->command) {
    case PROXY_CONFIG_READ: *value = slot_config_read(slot, (uint32_t)message->address, message->bytes); break;
    case PROXY_CONFIG_WRITE:
        slot_config_write(slot, (uint32_t)message->address, message->bytes, (uint32_t)message->value);
        break;
    case PROXY_BAR_READ: *value = slot_read(slot, message->address, message->bytes); break;
    case PROXY_BAR_WRITE: slot_write(slot, message->address, message->bytes, message->value); break;
    case PROXY_RESET: return slot_reset(slot);
    default: break; // The interrupt line is nothing to a device that has none.
    }
    return true;
}

static bool is_answered(enum proxy_command command)
{
    return command != PROXY_MEMORY && command != PROXY_INTERRUPTS;
}

/// A message, if one is there whole: it may take the device a while, and a guest's processors each wait for an answer,
/// so that more of them at once come from nobody who should keep the signals out. *spoke: it was one. false = that was
/// it with this guest.
static bool take_message(struct slot *slot, struct proxy *proxy, bool *spoke)
{
    struct proxy_message message;
    const char *wrong = NULL;
    enum proxy_result result = proxy_receive(proxy, &message, &wrong);
    if (result == PROXY_A_MESSAGE) {
        uint64_t value = 0;
        *spoke = true;
        wrong = message.command == PROXY_MEMORY ? guest_memory_set(&slot->memory, message.range, message.ranges) : NULL;
        proxy_done(proxy);
        if (wrong == NULL && !obey(slot, &message, &value)) {
            return false;
        }
        if (wrong == NULL && is_answered(message.command) && !proxy_answer(proxy, value)) {
            wrong = "nothing that takes its answers";
        }
    }
    if (wrong != NULL) {
        fprintf(stderr, "ferry-sim: the virtual machine sent %s, and is hung up on\n", wrong);
    }
    return wrong == NULL && result != PROXY_GONE;
}

static void refuse_another(int listener)
{
    const int other = accept(listener, NULL, NULL);
    if (other >= 0) {
        fprintf(stderr, "ferry-sim: a second virtual machine is refused: the slot is one's\n");
        close(other);
    }
}

/// Serve whoever is at `fd` (closed at the end); `listener` may be -1. false = there is no memory for a device.
static bool serve(int fd, int listener, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop)
{
    static struct slot slot; // Large.
    struct proxy proxy;
    const bool made = slot_open(&slot, config);
    bool spoke = false;
    proxy_open(&proxy, fd);
    for (bool on = made; on && !*stop;) {
        const struct timespec now = {0, 0};
        struct pollfd ready[] = {{.fd = fd, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
        if (server_wait(ready, 2, slot_busy(&slot) ? &now : NULL) < 0) {
            on = errno == EINTR;
            continue;
        }
        on = (ready[0].revents | ready[1].revents) == 0 || take_message(&slot, &proxy, &spoke);
        // Who comes after the guest has gone is no second one, so that was looked at last. Nor is who comes when
        // nobody has said a word.
        if (on && ready[1].revents != 0 && spoke) {
            refuse_another(listener);
        } else if (ready[1].revents != 0) {
            on = false;
        }
        if (on && slot_busy(&slot)) {
            slot_run(&slot, SLICE);
        }
    }
    proxy_close(&proxy);
    slot_close(&slot);
    return made;
}

int pci_listen(int listener, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop)
{
    while (!*stop) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        const int fd = server_wait(&ready, 1, NULL) > 0 ? accept(listener, NULL, NULL) : -1;
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
            fprintf(stderr, "ferry-sim: %s\n", strerror(errno));
            return -1;
        }
        if (fd >= 0) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            if (!serve(fd, listener, config, stop)) {
                return -1;
            }
        }
    }
    return 0;
}

static pid_t start(char **command, const int ends[2])
{
    const pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        // Never itself already: the streams and the other end stand before it.
        if (dup2(ends[1], COMMAND_END) == COMMAND_END) {
            execvp(command[0], command);
        }
        fprintf(stderr, "ferry-sim: cannot start %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    return child;
}

int pci_start(char **command, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop)
{
    int ends[2];
    int status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fprintf(stderr, "ferry-sim: %s\n", strerror(errno));
        return -1;
    }
    const pid_t child = start(command, ends);
    close(ends[1]);
    if (child < 0) {
        fprintf(stderr, "ferry-sim: %s\n", strerror(errno));
        close(ends[0]);
        return -1;
    }
    const bool served = serve(ends[0], -1, config, stop);
    if (!served || *stop) {
        kill(child, SIGTERM);
    }
    // One that was hung up on sees to its own end; it may take its time, and signals come in between.
    sigset_t none;
    sigemptyset(&none);
    while (waitpid(child, &status, WNOHANG) == 0) {
        const struct timespec slice = {0, 20000000};
        if (ppoll(NULL, 0, &slice, &none) < 0 && *stop) {
            kill(child, SIGTERM);
        }
    }
    return !served ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
