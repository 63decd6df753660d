// SPDX-License-Identifier: Apache-2.0
// Back end `sim`: the root complex over the Verilated device.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry_sim.h"
#include "link/link.h"
#include "link/problem.h"
#include "link/root_complex.h"

struct backend {
    struct ferry_sim *sim;
    struct ferry_link_observer observer;
    bool told; // A broken memory port is told once.
    uint32_t words_per_16;
};

static int backend_send(void *context, const uint32_t *words, size_t count)
{
    struct backend *backend = context;
    return ferry_sim_send(backend->sim, words, count) ? FERRY_OK : FERRY_ERROR_BUSY;
}

static size_t backend_queued(void *context)
{
    return ferry_sim_queued(((struct backend *)context)->sim);
}

static const uint32_t *backend_receive(void *context, size_t *count)
{
    return ferry_sim_receive(((struct backend *)context)->sim, count);
}

static uint64_t backend_run(void *context, uint64_t cycles)
{
    struct backend *backend = context;
    uint64_t ran = ferry_sim_run(backend->sim, cycles);
    const char *violation = ferry_sim_violation(backend->sim);
    if (violation != NULL && !backend->told) {
        backend->told = true;
        fprintf(stderr, "ferry: simulation stopped at cycle %llu: %s\n",
                (unsigned long long)ferry_sim_cycles(backend->sim), violation);
    }
    return ran;
}

static uint64_t backend_cycles(void *context)
{
    return ferry_sim_cycles(((struct backend *)context)->sim);
}

static double backend_seconds(void *context)
{
    return ferry_sim_seconds(((struct backend *)context)->sim);
}

static void span(void *context, enum ferry_sim_activity activity, uint64_t begin, uint64_t end)
{
    static const enum ferry_track tracks[FERRY_SIM_ACTIVITIES] = {
        [FERRY_SIM_FIRMWARE] = FERRY_TRACK_FIRMWARE,           [FERRY_SIM_READ_CHANNEL] = FERRY_TRACK_READ_CHANNEL,
        [FERRY_SIM_WRITE_CHANNEL] = FERRY_TRACK_WRITE_CHANNEL, [FERRY_SIM_WALKS] = FERRY_TRACK_WALKS,
        [FERRY_SIM_FORGETTING] = FERRY_TRACK_FORGETTING,
    };
    const struct ferry_link_observer *observer = &((struct backend *)context)->observer;
    if (observer->span != NULL) {
        observer->span(observer->context, tracks[activity], begin, end);
    }
}

static void value(void *context, enum ferry_sim_value what, uint64_t time, uint32_t value)
{
    static const enum ferry_event_kind kinds[FERRY_SIM_VALUES] = {
        [FERRY_SIM_READS_OUTSTANDING] = FERRY_EVENT_READS_OUTSTANDING,
        [FERRY_SIM_TABLE_MISSES] = FERRY_EVENT_TABLE_MISSES,
    };
    const struct ferry_link_observer *observer = &((struct backend *)context)->observer;
    if (observer->value != NULL) {
        observer->value(observer->context, kinds[what], time, value);
    }
}

static void backend_observe(void *context, const struct ferry_link_observer *observer)
{
    struct backend *backend = context;
    const struct ferry_sim_observer inner = {.context = backend, .span = span, .value = value};
    // Spans still open go to the observer that saw them begin.
    ferry_sim_observe(backend->sim, NULL);
    if (observer != NULL) {
        backend->observer = *observer;
        ferry_sim_observe(backend->sim, &inner);
    }
}

static int backend_inject(void *context, enum ferry_injection kind, uint32_t count)
{
    if (kind != FERRY_INJECT_LOCAL_READ_ERROR && kind != FERRY_INJECT_LOCAL_WRITE_ERROR) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    ferry_sim_fail_bursts(((struct backend *)context)->sim, kind == FERRY_INJECT_LOCAL_WRITE_ERROR, count);
    return FERRY_OK;
}

static void backend_describe(void *context, struct ferry_link_description *description)
{
    const struct backend *backend = context;
    snprintf(description->medium, sizeof(description->medium), "packets in this process, %g bytes a cycle each way",
             backend->words_per_16 / 4.0);
    snprintf(description->device, sizeof(description->device), "simulated, full");
}

static void backend_close(void *context)
{
    struct backend *backend = context;
    ferry_sim_close(backend->sim);
    free(backend);
}

static int open_sim(const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_sim_config settings;
    ferry_sim_default_config(&settings);
    settings.read_latency = config->read_latency_cycles;
    settings.link_latency = config->link_latency_cycles != 0 ? config->link_latency_cycles : settings.link_latency;
    settings.link_words_per_16 =
        config->link_words_per_16_cycles != 0 ? config->link_words_per_16_cycles : settings.link_words_per_16;
    settings.reorder_percent = config->in_order_completions ? 0 : settings.reorder_percent;
    settings.link_smallest_credits = config->smallest_credits;
    settings.stall_percent = config->random_stall_percent;
    settings.seed = config->seed;
    settings.wave_file = config->wave_file;
    struct backend *backend = calloc(1, sizeof(*backend));
    if (backend == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    backend->sim = ferry_sim_open(&settings);
    if (backend->sim == NULL) {
        const int why = errno;
        free(backend);
        if (why == ENOMEM) {
            return FERRY_ERROR_NO_HOST_MEMORY;
        }
        if (why == EIO) {
            ferry_problem_set("cannot write the wave file %s", settings.wave_file);
        } else {
            ferry_problem_set("a setting of the simulated device is out of range");
        }
        return FERRY_ERROR_BACKEND;
    }
    backend->words_per_16 = settings.link_words_per_16;
    const struct ferry_tlp_transport transport = {
        .context = backend,
        .send = backend_send,
        .queued = backend_queued,
        .receive = backend_receive,
        .run = backend_run,
        .cycles = backend_cycles,
        .run_seconds = backend_seconds,
        .observe = backend_observe,
        .inject = backend_inject,
        .describe = backend_describe,
        .close = backend_close,
    };
    return ferry_root_complex_open(&transport, config, link);
}

static void list_sim(ferry_candidate_callback *callback, void *context)
{
    callback(context, &(struct ferry_candidate){.size = sizeof(struct ferry_candidate),
                                                .backend = "sim",
                                                .what = "the device's Verilog, simulated in this process"});
}

const struct ferry_backend ferry_backend_sim = {.name = "sim", .open = open_sim, .list = list_sim};
