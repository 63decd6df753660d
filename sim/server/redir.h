// SPDX-License-Identifier: Apache-2.0
// A USB device for a virtual machine, or whoever else speaks usbredir (QEMU's usb-redir on a socket): the end that has
// the device.
#ifndef FERRY_SERVER_REDIR_H
#define FERRY_SERVER_REDIR_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REDIR_PACKET 64u // Bytes of a full-speed packet, at most.

enum redir_result {
    REDIR_DONE,
    REDIR_NAK,   // Not now.
    REDIR_STALL, // Never.
    REDIR_FAULT, // No whole answer.
};

/// What carries transfers out: a host controller at the device's pins. Time passes for the device inside these calls
/// alone.
struct redir_host {
    void *context;
    /// Bus reset; the device has an address behind it and no configuration. FAULT = nobody answers.
    enum redir_result (*reset)(void *context);
    /// A whole control transfer: `data` has, or gets, as many bytes as setup's wLength says; `moved` of them went.
    enum redir_result (*control)(void *context, const uint8_t setup[8], uint8_t *data, size_t *moved);
    /// One transaction of up to REDIR_PACKET bytes.
    enum redir_result (*out)(void *context, unsigned endpoint, const uint8_t *data, size_t bytes);
    /// One transaction; `data` has room for REDIR_PACKET bytes, `bytes` tells how many came.
    enum redir_result (*in)(void *context, unsigned endpoint, uint8_t *data, size_t *bytes);
    /// Let some time pass in which nobody asks for anything.
    void (*idle)(void *context);
    /// More time would change something in the device.
    bool (*busy)(void *context);
    /// What broke, so that there is no device any more, or NULL.
    const char *(*broken)(void *context);
};

/// Serve one guest after the other at `listener`, until *stop is set or the device breaks; who comes while another has
/// the device is turned away. 0, or -1 when the system or the device fails (said on stderr). SIGINT and SIGTERM are
/// blocked while this runs, and come in its waits.
int redir_run(int listener, const struct redir_host *host, const volatile sig_atomic_t *stop);

#endif
