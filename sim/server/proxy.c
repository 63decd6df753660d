// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // MSG_CMSG_CLOEXEC
#include "server/proxy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Places in what follows the header.
enum { CONFIG_ADDRESS = 0, CONFIG_VALUE = 4, CONFIG_LENGTH = 8, CONFIG_SIZE = 12 };
enum { BAR_ADDRESS = 0, BAR_VALUE = 8, BAR_LENGTH = 16, BAR_IS_MEMORY = 20, BAR_SIZE = 24 };
enum { MEMORY_ADDRESSES = 0, MEMORY_SIZES = 64, MEMORY_OFFSETS = 128, MEMORY_SIZE = 192 };

static const struct {
    uint32_t bytes;
    unsigned least, most; // Descriptors.
} expected[PROXY_COMMANDS] = {
    [PROXY_MEMORY] = {MEMORY_SIZE, 1, GUEST_RANGES},
    [PROXY_CONFIG_WRITE] = {CONFIG_SIZE, 0, 0},
    [PROXY_CONFIG_READ] = {CONFIG_SIZE, 0, 0},
    [PROXY_BAR_WRITE] = {BAR_SIZE, 0, 0},
    [PROXY_BAR_READ] = {BAR_SIZE, 0, 0},
    [PROXY_INTERRUPTS] = {0, 2, 2},
    [PROXY_RESET] = {0, 0, 0},
};

static uint32_t word_at(const struct proxy *proxy, size_t place)
{
    uint32_t word;
    memcpy(&word, proxy->data + place, sizeof(word));
    return word;
}

static uint64_t long_at(const struct proxy *proxy, size_t place)
{
    uint64_t value;
    memcpy(&value, proxy->data + place, sizeof(value));
    return value;
}

void proxy_open(struct proxy *proxy, int fd)
{
    *proxy = (struct proxy){.fd = fd};
}

void proxy_done(struct proxy *proxy)
{
    while (proxy->descriptors != 0) {
        close(proxy->descriptor[--proxy->descriptors]);
    }
    proxy->got = 0;
}

void proxy_close(struct proxy *proxy)
{
    proxy_done(proxy);
    close(proxy->fd);
    proxy->fd = -1;
}

/// What came with some bytes; false = more than a message may bring.
static bool take_descriptors(struct proxy *proxy, struct msghdr *from)
{
    bool fits = (from->msg_flags & MSG_CTRUNC) == 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(from); part != NULL; part = CMSG_NXTHDR(from, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t n = 0; n < count; n++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + n * sizeof(fd), sizeof(fd));
            if (proxy->descriptors < GUEST_RANGES) {
                proxy->descriptor[proxy->descriptors++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits;
}

/// Up to `end` bytes of the message in all. PROXY_A_MESSAGE: they are there.
static enum proxy_result read_up_to(struct proxy *proxy, size_t end, const char **wrong)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 2 * GUEST_RANGES)];
    } control;
    while (proxy->got < end) {
        struct iovec room = {proxy->data + proxy->got, end - proxy->got};
        struct msghdr into = {
            .msg_iov = &room, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
        const ssize_t got = recvmsg(proxy->fd, &into, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return PROXY_NOTHING;
        }
        if (got <= 0) {
            return PROXY_GONE;
        }
        if (!take_descriptors(proxy, &into)) {
            *wrong = "more descriptors than a message has";
            return PROXY_WRONG;
        }
        proxy->got += (size_t)got;
    }
    return PROXY_A_MESSAGE;
}

static const char *look_at_header(const struct proxy *proxy)
{
    const uint32_t command = word_at(proxy, 0);
    if (command >= PROXY_COMMANDS || command == PROXY_RETURN) {
        return "a command that there is not";
    }
    return long_at(proxy, 8) != expected[command].bytes ? "a message that is not as long as its command has it" : NULL;
}

static const char *take_config(const struct proxy *proxy, struct proxy_message *message)
{
    message->address = word_at(proxy, PROXY_HEADER + CONFIG_ADDRESS);
    message->value = word_at(proxy, PROXY_HEADER + CONFIG_VALUE);
    message->bytes = word_at(proxy, PROXY_HEADER + CONFIG_LENGTH);
    const unsigned bytes = message->bytes;
    return (bytes != 1 && bytes != 2 && bytes != 4) || message->address > 256 - bytes ||
                   message->address % 4 + bytes > 4
               ? "an access to configuration space that is not inside of it, or not inside of a word"
               : NULL;
}

static const char *take_bar(const struct proxy *proxy, struct proxy_message *message)
{
    message->address = long_at(proxy, PROXY_HEADER + BAR_ADDRESS);
    message->value = long_at(proxy, PROXY_HEADER + BAR_VALUE);
    message->bytes = word_at(proxy, PROXY_HEADER + BAR_LENGTH);
    const unsigned bytes = message->bytes;
    if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || message->address % bytes != 0) {
        return "an access of other than 1, 2, 4 or 8 bytes, or at no multiple of them";
    }
    return proxy->data[PROXY_HEADER + BAR_IS_MEMORY] == 0 ? "an access to ports, of which the device has none" : NULL;
}

static const char *take_apart(const struct proxy *proxy, struct proxy_message *message)
{
    *message = (struct proxy_message){.command = (enum proxy_command)word_at(proxy, 0)};
    if (proxy->descriptors < expected[message->command].least || proxy->descriptors > expected[message->command].most) {
        return "descriptors that are not as many as the command has them";
    }
    switch (message->command) {
    case PROXY_CONFIG_WRITE:
    case PROXY_CONFIG_READ: return take_config(proxy, message);
    case PROXY_BAR_WRITE:
    case PROXY_BAR_READ: return take_bar(proxy, message);
    case PROXY_MEMORY:
        message->ranges = proxy->descriptors;
        for (unsigned n = 0; n < message->ranges; n++) {
            message->range[n] = (struct guest_range){.address = long_at(proxy, PROXY_HEADER + MEMORY_ADDRESSES + 8 * n),
                                                     .bytes = long_at(proxy, PROXY_HEADER + MEMORY_SIZES + 8 * n),
                                                     .offset = long_at(proxy, PROXY_HEADER + MEMORY_OFFSETS + 8 * n),
                                                     .fd = proxy->descriptor[n]};
        }
        return NULL;
    default: return NULL;
    }
}

enum proxy_result proxy_receive(struct proxy *proxy, struct proxy_message *message, const char **wrong)
{
    enum proxy_result result = read_up_to(proxy, PROXY_HEADER, wrong);
    if (result == PROXY_A_MESSAGE) {
        *wrong = look_at_header(proxy);
        result =
            *wrong != NULL ? PROXY_WRONG : read_up_to(proxy, PROXY_HEADER + expected[word_at(proxy, 0)].bytes, wrong);
    }
    if (result == PROXY_A_MESSAGE) {
        *wrong = take_apart(proxy, message);
        result = *wrong != NULL ? PROXY_WRONG : PROXY_A_MESSAGE;
    }
    return result;
}

bool proxy_answer(struct proxy *proxy, uint64_t value)
{
    unsigned char answer[PROXY_HEADER + sizeof(value)] = {PROXY_RETURN, [8] = sizeof(value)};
    memcpy(answer + PROXY_HEADER, &value, sizeof(value));
    // Who asks waits for the answer, so there is room.
    return send(proxy->fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(answer);
}
