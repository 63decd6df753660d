// SPDX-License-Identifier: Apache-2.0
// Jobs for the engine. Between jobs the high words of the staging registers are zero, which saves the common job, whose
// addresses are offsets in a video memory below 4 GiB, two stores.
#include "firmware.h"

struct ferry_engine ferry_engine;

void ferry_engine_start(void)
{
    ferry_engine.queued = hal_read(FERRY_CORE_JOBS_QUEUED);
    // Whatever a firmware before this one had queued is gone: the hardware sees to that before it starts the core.
    ferry_assert(hal_read(FERRY_CORE_JOBS_RETIRED) == ferry_engine.queued, FERRY_HALT_JOBS_QUEUED, ferry_engine.queued);
    ferry_engine.room = 0;
    hal_write(FERRY_CORE_JOB_SOURCE_HIGH, 0);
    hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, 0);
}

bool ferry_engine_wait_room(void)
{
    bool waiting = false, stuck = false;

    while (!stuck) {
        ferry_engine.room = hal_read(FERRY_CORE_JOB_ROOM);
        if (ferry_engine.room)
            break;
        // Time that the engine needs is not time that decoding needs.
        if (!waiting) {
            waiting = true;
            hal_write(FERRY_CORE_BUSY, 0);
        }
        ferry_queues_service();
        stuck = ferry_engine_stuck();
    }
    if (waiting)
        hal_write(FERRY_CORE_BUSY, 1);
    return !stuck;
}

void ferry_engine_queue(const struct ferry_job *job)
{
    hal_write(FERRY_CORE_JOB_SOURCE_LOW, job->source_low);
    hal_write(FERRY_CORE_JOB_SOURCE_HIGH, job->source_high);
    hal_write(FERRY_CORE_JOB_DESTINATION_LOW, job->destination_low);
    hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, job->destination_high);
    hal_write(FERRY_CORE_JOB_LENGTH, job->length);
    hal_write(FERRY_CORE_JOB_LIST, job->list_at);
    hal_write(FERRY_CORE_JOB_CONTROL, job->control);
    hal_write(FERRY_CORE_JOB_SOURCE_HIGH, 0);
    hal_write(FERRY_CORE_JOB_DESTINATION_HIGH, 0);
    ferry_engine.room--;
    ferry_engine.queued++;
}
