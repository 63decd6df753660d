// SPDX-License-Identifier: Apache-2.0
// What QEMU's device x-pci-proxy-dev says over its socket, and what is answered. A message is a header of 16 bytes
// (32-bit command, nothing, 64-bit size) and `size` bytes; descriptors come with the first of them.
#ifndef FERRY_SERVER_PROXY_H
#define FERRY_SERVER_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/guest_memory.h"

enum proxy_command {
    PROXY_MEMORY, // The guest's memory, instead of what was told before; not answered.
    PROXY_RETURN, // The answer, 64 bits: to all but PROXY_MEMORY and PROXY_INTERRUPTS.
    PROXY_CONFIG_WRITE,
    PROXY_CONFIG_READ,
    PROXY_BAR_WRITE,
    PROXY_BAR_READ,
    PROXY_INTERRUPTS, // Two descriptors for an interrupt line.
    PROXY_RESET,
    PROXY_COMMANDS
};

#define PROXY_HEADER 16u
#define PROXY_MOST   192u // Bytes behind it.

struct proxy_message {
    enum proxy_command command;
    uint64_t address, value; // Of configuration or BAR.
    unsigned bytes;
    struct guest_range range[GUEST_RANGES];
    unsigned ranges;
};

/// One end of the socket, and the message that is coming in.
struct proxy {
    int fd;
    size_t got;
    unsigned char data[PROXY_HEADER + PROXY_MOST];
    int descriptor[GUEST_RANGES];
    unsigned descriptors;
};

enum proxy_result { PROXY_NOTHING, PROXY_A_MESSAGE, PROXY_GONE, PROXY_WRONG };

void proxy_open(struct proxy *proxy, int fd);
/// The descriptor too.
void proxy_close(struct proxy *proxy);
/// Take what has come, without waiting. The descriptors of a message's ranges are valid until proxy_done().
/// PROXY_WRONG: *wrong says what was no message; nothing more can be understood.
enum proxy_result proxy_receive(struct proxy *proxy, struct proxy_message *message, const char **wrong);
void proxy_done(struct proxy *proxy);
/// false = nobody takes it.
bool proxy_answer(struct proxy *proxy, uint64_t value);

#endif
