// SPDX-License-Identifier: Apache-2.0
#include "server/usb.h"

#include <stdio.h>

#include "ferry_usb_sim.h"
#include "server/redir.h"

#define IDLE_MICROSECONDS 100u // Of the bus, between two looks at the guest.

static enum redir_result told(enum ferry_usb_result result)
{
    switch (result) {
    case FERRY_USB_DONE: return REDIR_DONE;
    case FERRY_USB_NAK: return REDIR_NAK;
    case FERRY_USB_STALL: return REDIR_STALL;
    default: return REDIR_FAULT;
    }
}

static enum redir_result reset(void *context)
{
    return told(ferry_usb_sim_reset(context));
}

static enum redir_result control(void *context, const uint8_t setup[8], uint8_t *data, size_t *moved)
{
    return told(ferry_usb_sim_control(context, setup, data, moved));
}

static enum redir_result out(void *context, unsigned endpoint, const uint8_t *data, size_t bytes)
{
    return told(ferry_usb_sim_out(context, endpoint, data, bytes));
}

static enum redir_result in(void *context, unsigned endpoint, uint8_t *data, size_t *bytes)
{
    return told(ferry_usb_sim_in(context, endpoint, data, bytes));
}

static void idle(void *context)
{
    ferry_usb_sim_idle(context, IDLE_MICROSECONDS);
}

static bool busy(void *context)
{
    return ferry_usb_sim_busy(context);
}

static const char *broken(void *context)
{
    return ferry_usb_sim_violation(context);
}

int usb_run(int listener, const struct ferry_sim_config *config, const volatile sig_atomic_t *stop)
{
    struct ferry_usb_sim *sim = ferry_usb_sim_open(config);
    if (sim == NULL) {
        fprintf(stderr, "ferry-sim: no memory for the device\n");
        return -1;
    }
    const struct redir_host host = {.context = sim,
                                    .reset = reset,
                                    .control = control,
                                    .out = out,
                                    .in = in,
                                    .idle = idle,
                                    .busy = busy,
                                    .broken = broken};
    const int error = redir_run(listener, &host, stop);
    ferry_usb_sim_close(sim);
    return error;
}
