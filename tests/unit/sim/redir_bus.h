// SPDX-License-Identifier: Apache-2.0
// A bus with one device on it, for the tests of the redirection's end that has the device: it does what the test sets.
#ifndef FERRY_TESTS_SIM_REDIR_BUS_H
#define FERRY_TESTS_SIM_REDIR_BUS_H

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "server/redir.h"

static uint8_t device_descriptor[] = {18,   1,    0,    2,    0xff, 0x12, 0x13, 64, 0x09,
                                      0x12, 0x01, 0x00, 0x34, 0x02, 1,    2,    3,  1};
static const uint8_t whole[] = {9,    2, 32, 0, 1, 1, 0,  0x80, 250, 9, 4, 3,    0, 2,  0xff, 0x14,
                                0x15, 0, 7,  5, 1, 2, 64, 0,    5,   7, 5, 0x81, 2, 32, 0,    6};
static const uint8_t *configuration = whole; // What it says of itself, and how that ends.
static size_t configuration_bytes;
static atomic_int configuration_result;
static atomic_int descriptor_bytes, reset_result, refuses; // Requests are: the device's own word for it.
static atomic_int gives;                                   // So many bytes comes with what is asked of it.
static uint8_t given[256];                                 // What came with a request.
static atomic_int idles;                                   // Time changes nothing in the device.
static atomic_int outs, out_result;                        // So many packets are taken; how the next one ends.
static atomic_int ins, in_bytes, in_result;                // So many come, of so many bytes; how the next one ends.
static atomic_int moved_out;                               // Bytes that the device has taken.
static uint8_t asked[8]; // The last request that was none for a descriptor; whoever hears the answer may look.
static uint8_t taken[1 << 17];
static _Atomic(const char *) breaks;

// Nothing happens: others may go on.
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static enum redir_result reset(void *context)
{
    (void)context;
    return (enum redir_result)reset_result;
}

static enum redir_result control(void *context, const uint8_t setup[8], uint8_t *data, size_t *moved)
{
    const size_t room = setup[6] | (size_t)setup[7] << 8;
    const uint8_t *answer = setup[3] == 1 ? device_descriptor : configuration;

    (void)context;
    if (setup[0] == 0x80 && setup[1] == 6) {
        const size_t bytes = setup[3] == 1 ? (size_t)descriptor_bytes : configuration_bytes;
        *moved = bytes < room ? bytes : room;
        memcpy(data, answer, *moved);
        return setup[3] == 1 ? REDIR_DONE : (enum redir_result)configuration_result;
    }
    memcpy(asked, setup, sizeof asked);
    if (refuses) {
        data[0] = 9;
    } else if (setup[0] == 0x81 && setup[1] == 10) {
        data[0] = 5;
        *moved = room;
    } else if (setup[0] & 0x80) {
        *moved = (size_t)gives < room ? (size_t)gives : room;
        memset(data, 0x5a, *moved);
    } else {
        memcpy(given, data, room < sizeof given ? room : sizeof given);
        *moved = room;
    }
    return refuses ? REDIR_STALL : REDIR_DONE;
}

static enum redir_result out(void *context, unsigned endpoint, const uint8_t *data, size_t bytes)
{
    (void)context;
    assert(endpoint == 1 && bytes <= REDIR_PACKET);
    if (outs == 0) {
        rest();
        return (enum redir_result)out_result;
    }
    outs--;
    memcpy(taken + moved_out, data, bytes);
    moved_out += (int)bytes;
    return REDIR_DONE;
}

static enum redir_result in(void *context, unsigned endpoint, uint8_t *data, size_t *bytes)
{
    (void)context;
    assert(endpoint == 1);
    if (ins == 0) {
        rest();
        return (enum redir_result)in_result;
    }
    ins--;
    *bytes = (size_t)in_bytes;
    memset(data, 0x40 + ins, *bytes);
    return REDIR_DONE;
}

static void idle(void *context)
{
    (void)context;
    rest();
}

static bool busy(void *context)
{
    (void)context;
    return !idles; // The test may give more to do at any moment, unless it says so.
}

static const char *broken(void *context)
{
    (void)context;
    return breaks;
}

#endif
