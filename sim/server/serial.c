// SPDX-License-Identifier: Apache-2.0
#include "server/serial.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ferry_serial_sim.h"
#include "server/pty.h"

#define SLICE 4000u // Cycles between two looks at the port: a hundred bytes.
// What has begun when the host leaves is over by then, but for what it was to acknowledge, which the device sends again
// until somebody comes.
#define ALONE_CYCLES 2000000u

struct serial {
    struct server_pty pty;
    struct ferry_serial_sim *sim;
    uint8_t in[256], out[4096];
    size_t in_count, in_taken, out_count, out_taken;
};

static void move(struct serial *serial)
{
    if (serial->in_taken == serial->in_count) {
        serial->in_taken = 0;
        serial->in_count = server_pty_read(&serial->pty, serial->in, sizeof(serial->in));
    }
    serial->in_taken +=
        ferry_serial_sim_feed(serial->sim, serial->in + serial->in_taken, serial->in_count - serial->in_taken);
    if (serial->out_taken == serial->out_count) {
        serial->out_taken = 0;
        serial->out_count = ferry_serial_sim_take(serial->sim, serial->out, sizeof(serial->out));
    }
    if (serial->out_taken != serial->out_count) {
        serial->out_taken +=
            server_pty_write(&serial->pty, serial->out + serial->out_taken, serial->out_count - serial->out_taken);
    }
}

/// The clock runs while something is under way. A host that does not read holds up nothing: no wire waits.
static void serve(struct serial *serial, const volatile sig_atomic_t *stop)
{
    uint32_t alone = 0;
    while (!*stop && ferry_serial_sim_violation(serial->sim) == NULL) {
        const bool writes = serial->out_taken != serial->out_count;
        alone = server_pty_has_host(&serial->pty) ? 0 : alone + SLICE;
        const bool busy =
            alone < ALONE_CYCLES && (ferry_serial_sim_busy(serial->sim) || serial->in_taken != serial->in_count);
        server_pty_wait(&serial->pty, writes, busy ? 0 : -1);
        move(serial);
        ferry_serial_sim_run(serial->sim, SLICE);
        move(serial);
    }
}

int serial_run(const struct ferry_sim_config *config, const volatile sig_atomic_t *stop)
{
    static struct serial serial;
    serial.sim = ferry_serial_sim_open(config);
    if (serial.sim == NULL) {
        fprintf(stderr, "ferry-sim: no memory for the device\n");
        return -1;
    }
    const bool open = server_pty_open(&serial.pty);
    // Nobody finds a port that could not be told.
    const bool told = open && printf("serial port at %s\n", serial.pty.path) > 0 && fflush(stdout) == 0;
    if (open && !told) {
        fprintf(stderr, "ferry-sim: cannot write where the serial port is: %s\n", strerror(errno));
    }
    if (told) {
        serve(&serial, stop);
        if (ferry_serial_sim_violation(serial.sim) != NULL) {
            fprintf(stderr, "ferry-sim: simulation stopped at cycle %llu: %s\n",
                    (unsigned long long)ferry_serial_sim_cycles(serial.sim), ferry_serial_sim_violation(serial.sim));
        }
    }
    if (open) {
        server_pty_close(&serial.pty);
    }
    const bool good = told && ferry_serial_sim_violation(serial.sim) == NULL;
    ferry_serial_sim_close(serial.sim);
    return good ? 0 : -1;
}
