// SPDX-License-Identifier: Apache-2.0
// Whole runs that must go the same way natively and on the core.
#include <stdio.h>
#include <string.h>

#include "run.h"

#define PATIENCE 3000000u

static char text[400];

static const char *finish(const char *where)
{
    const char *why;

    if (!run_machine(PATIENCE))
        why = machine.wrong[0] ? machine.wrong : "not everything retired";
    else
        why = double_verify();
    if (!why)
        return NULL;
    snprintf(text, sizeof text, "%s: %s", where, why);
    return text;
}

const char *scenario_every_packet(void)
{
    struct buffer b = {.count = 0};

    double_reset();
    run_from_reset();
    put_nop(&b, 2);
    put_nop(&b, 10);
    put_copy(&b, 0, 0, 4096, 0x1000, 0x2000);
    put_copy(&b, UNORDERED, 0, 0xffffffff & 0x3ffffff, 0, 1);
    put_copy(&b, 0, FROM(SYSTEM) | TO(LOCAL), 77, 0xfedcba9876543210ull, 0x123);
    put_copy(&b, UNORDERED, FROM(LOCAL) | TO(SYSTEM), 78, 0x3ffffb2, 0xfedcba9876543219ull);
    put_copy(&b, 0, FROM(SYSTEM) | TO(SYSTEM), 0xffffffff, 0x100000000ull, 0x300000000ull);
    put_copy(&b, 0, FROM(APERTURE) | TO(LOCAL), 4096, 4095ull * 4096, 0);
    put_copy(&b, 0, FROM(LOCAL) | TO(APERTURE), 0, 64u << 20, 4096ull * 4096);
    put_copy_pages(&b, 0, FROM(SYSTEM) | TO(LOCAL) | LIST(SOURCE), 4096, 0, 0x10000, 1);
    put_copy_pages(&b, UNORDERED, FROM(LOCAL) | TO(SYSTEM) | LIST(DESTINATION), 40000, 4095, 0x20001, 11);
    put_copy_pages(&b, 0, FROM(SYSTEM) | TO(APERTURE) | LIST(SOURCE), 1, 4095, 5, 1);
    put_copy_pages(&b, 0, FROM(APERTURE) | TO(SYSTEM) | LIST(DESTINATION), 4097, 0, 5, 2);
    for (unsigned log2 = 0; log2 < 4; log2++)
        put_fill(&b, 0, PATTERN(log2), 1000 + log2, 0x777, 0x8877665544332211ull);
    put_fill(&b, 0, TO(SYSTEM) | PATTERN(2), 33, 0x8000000000000003ull, 0x44332211);
    for (uint32_t bytes = 1; bytes <= 8; bytes++) {
        put_read(&b, 0, FROM(LOCAL), bytes, 0x3ffffff + 1 - bytes);
        put_write(&b, 0, TO(APERTURE), bytes, 77, 0x1122334455667788ull);
    }
    put_read(&b, 0, FROM(SYSTEM), 8, 0xfffffffffffffff8ull);
    put_write(&b, 0, TO(SYSTEM), 3, 0x100000001ull, 0xabcdef);
    put_map(&b, 0, 0, 1);
    put_map(&b, SNOOP, 4090, 6);
    put_unmap(&b, 0, 4096, 0x99999000);
    put_fence(&b, TO(SYSTEM), 0x7fffffff8ull, 0x0123456789abcdefull);
    put_fence(&b, TO(LOCAL), 0x3fffff8, 42);
    put_discard(&b, 0, 64u << 20);
    put_discard(&b, 64u << 20, 0);
    double_submit(0, b.words, b.count, 0x1122334455667788ull, true);

    const char *why = finish("every packet");

    if (!why && double_status(0) != FERRY_BUFFER_STATUS_SUCCESS)
        why = "every packet: not a success";
    if (!why && machine.entries[0].action_count != 39)
        snprintf(text, sizeof text, "every packet: %u actions", machine.entries[0].action_count), why = text;
    return why;
}

const char *scenario_rings_and_order(void)
{
    struct buffer b, empty = {.count = 0};

    double_reset();
    run_from_reset();
    machine.job_ticks = 300;
    machine.rights[2] = 7;
    for (unsigned i = 0; i < 40; i++) {
        uint32_t ring = i % 7 % DOUBLE_RINGS;

        b.count = 0;
        for (unsigned n = 0; n < 1 + i % 12; n++)
            put_copy(&b, UNORDERED, 0, 64 * n, 4096 * n, 1u << 20);
        // Those without the right are refused here; what comes before has been done, the next buffer runs.
        if (i % 3 == 0)
            put_map(&b, 0, i, 3);
        put_fill(&b, 0, 0, 1, i, i);
        double_submit(ring, i % 11 == 10 ? empty.words : b.words, i % 11 == 10 ? 0 : b.count, 1000 + i, i % 4 == 0);
    }
    return finish("rings and order");
}

const char *scenario_faults_and_reset(void)
{
    struct buffer b;

    double_reset();
    run_from_reset();
    // Every buffer: good packets, and one that is refused at the end of every third.
    for (unsigned i = 0; i < 12; i++) {
        b.count = 0;
        for (unsigned n = 0; n < 10; n++)
            put_copy(&b, 0, 0, 128, 128 * n, 1u << 20);
        if (i % 3 == 2)
            put_copy(&b, 0, 0, 128, 0, machine.limits.local_limit - 127);
        else if (i % 3 == 1)
            put_map(&b, 0, 1, 1);
        put_nop(&b, 2);
        double_submit(0, b.words, b.count, i, true);
    }
    double_submit_unfetched(0, FERRY_FAULT_KIND_BUFFER_FETCH, 0xabcdef01fffff008ull, 0xff8, 5);
    double_submit_unfetched(3, FERRY_FAULT_KIND_BUFFER_SIZE, 0x8, 0x10, 6);
    // The third one's place is in the second round of the ring, or behind a carry into the address's upper word.
    for (unsigned i = 0; i < 3; i++)
        double_submit_unfetched(2, FERRY_FAULT_KIND_BUFFER_FETCH, 0, DOUBLE_UNREAD, 0);
    // A job in the middle of buffer 0, the first of buffer 1, the last of buffer 2, which is refused as well.
    double_fault_job(4, FERRY_FAULT_KIND_HOST_UNSUPPORTED, false, 101, 17);
    double_fault_job(10, FERRY_FAULT_KIND_LOCAL_ERROR, true, 64, 0xfffffffe);
    double_fault_job(29, FERRY_FAULT_KIND_WATCHDOG, false, 1, 0);

    const char *why = finish("faults");

    if (why)
        return why;
    // The same once more, cut by a reset while several buffers are in flight; then business goes on.
    for (unsigned i = 0; i < 8; i++) {
        b.count = 0;
        for (unsigned n = 0; n < 10; n++)
            put_copy(&b, 0, 0, 128, 128 * n, 1u << 20);
        double_submit(i % 2, b.words, b.count, 100 + i, true);
    }
    for (unsigned step = 0; step < 3; step++) {
        run_machine(150);
        double_engine_reset(1 + 40 * step);
        why = finish("reset");
        if (why)
            return why;
        b.count = 0;
        for (unsigned n = 0; n < 100; n++)
            put_fill(&b, 0, 0, 8, 8 * n, n);
        double_submit(0, b.words, b.count, 200, false);
        double_submit(1, b.words, b.count, 201, false);
    }
    return finish("after the resets");
}

// A reset begins between any two register accesses around the retirement of a buffer's last job.
const char *scenario_reset_at_any_step(void)
{
    struct buffer b;
    uint64_t after = 1;

    for (unsigned jobs = 1; jobs <= 3; jobs++) {
        for (unsigned step = 0; step < 520; step++) {
            double_reset();
            run_from_reset();
            machine.job_ticks = 150;
            b.count = 0;
            for (unsigned n = 0; n < jobs; n++)
                put_copy(&b, 0, 0, 128, 128 * n, 1u << 20);
            // With an odd step the last job is waited for by a change of the table, else by retirement.
            if (step % 2)
                put_map(&b, 0, 3, 2);
            double_submit(0, b.words, b.count, 1, true);
            double_submit(1, b.words, b.count, 2, true);
            machine.reset_at = after + step / 2 * jobs;
            machine.reset_ticks = 1 + step % 9;

            const char *why = finish("a reset at any step");

            if (why)
                return why;
            // From shortly before the first job's end on.
            if (step == 0)
                after = machine.now > 500 * jobs ? machine.now - 500 * jobs : 1;
        }
    }
    return NULL;
}

// The first job of a buffer faults while others of it are still at work: its fence waits for them.
const char *scenario_fault_with_jobs_behind_it(void)
{
    struct buffer b;

    for (unsigned bad = 0; bad < 6; bad++) {
        double_reset();
        run_from_reset();
        machine.slow_drops = true;
        machine.job_ticks = 400;
        b.count = 0;
        for (unsigned n = 0; n < 6; n++)
            put_copy(&b, 0, 0, 128, 128 * n, 1u << 20);
        double_submit(0, b.words, b.count, 1, true);
        double_submit(0, b.words, b.count, 2, false);
        double_fault_job(bad, FERRY_FAULT_KIND_LOCAL_ERROR, true, 20 * bad, DOUBLE_UP_TO_POSITION);

        const char *why = finish("a fault with jobs behind it");

        if (why)
            return why;
        if (double_status(0) != FERRY_BUFFER_STATUS_FAULTED || double_status(1) != FERRY_BUFFER_STATUS_SUCCESS)
            return "a fault with jobs behind it: status";
    }
    return NULL;
}

const char *scenario_random(uint64_t seed)
{
    uint64_t state = seed;
    struct buffer b;
    unsigned entries = 1 + random_next(&state) % 24;
    unsigned jobs = 0;

    double_reset();
    run_from_reset();
    machine.job_ticks = (uint32_t)(random_next(&state) % 400);
    machine.mmu_ticks_per_page = (uint32_t)(random_next(&state) % 9);
    machine.post_ticks = (uint32_t)(random_next(&state) % 60);
    machine.log_entries_log2 = (uint32_t)(random_next(&state) % 5);
    machine.limits.aperture_pages = random_next(&state) % 8 ? 4096 : 1 + (uint32_t)(random_next(&state) % 0xffffffff);
    switch (random_next(&state) % 4) {
    case 0: machine.limits.local_limit = random_next(&state) >> random_next(&state) % 40; break;
    case 1: machine.limits.local_limit = 1ull << 32 | (random_next(&state) % 3 - 1); break;
    default: machine.limits.local_limit = 16u << 20; break;
    }
    if (random_next(&state) % 2) {
        machine.limits.protect_base = random_next(&state) % (32u << 20) & ~4095ull;
        machine.limits.protect_limit = machine.limits.protect_base + (random_next(&state) % 4096 << 12);
        if (random_next(&state) % 4 == 0)
            machine.limits.protect_base += 3ull << 32, machine.limits.protect_limit += 3ull << 32;
    }
    for (unsigned ring = 0; ring < DOUBLE_RINGS; ring++)
        machine.rights[ring] = (uint32_t)(random_next(&state) % 8);
    if (random_next(&state) % 4)
        machine.rights[0] = 7;
    if (run_may_have_more() && random_next(&state) % 2) {
        double_has_more();
        for (unsigned ring = 0; ring < DOUBLE_RINGS; ring++)
            machine.rights[ring] |= (random_next(&state) % 2 ? FERRY_BAR0_RING_RIGHTS_TABLES_MASK : 0) |
                                    (random_next(&state) % 4 ? 0 : FERRY_CORE_FETCH_NEXT_VIRTUAL_ONLY_MASK);
    }
    for (unsigned i = 0; i < entries; i++) {
        uint32_t ring = (uint32_t)(random_next(&state) % DOUBLE_RINGS);

        if (random_next(&state) % 20 == 0) {
            double_submit_unfetched(ring, 8 + (uint32_t)(random_next(&state) % 2), random_next(&state),
                                    random_next(&state) % 2 ? DOUBLE_UNREAD : (uint32_t)(random_next(&state) % 512) * 8,
                                    i);
            continue;
        }
        random_buffer(&state, &b);
        double_submit(ring, b.words, b.count, random_next(&state), random_next(&state) % 2);
        jobs += b.count / 8;
    }
    if (random_next(&state) % 3 == 0) {
        for (unsigned n = random_next(&state) % 8; n; n--)
            double_fault_job((uint32_t)(random_next(&state) % (jobs + 1)), 10 + (uint32_t)(random_next(&state) % 6),
                             random_next(&state) % 2, (uint32_t)random_next(&state),
                             random_next(&state) % 2 ? DOUBLE_UP_TO_POSITION : (uint32_t)random_next(&state));
    }
    bool cut = random_next(&state) % 3 == 0;

    machine.slow_drops = random_next(&state) % 2;
    machine.shy = (unsigned)(random_next(&state) % 5);
    if (random_next(&state) % 4 == 0) {
        machine.reset_at = 1 + random_next(&state) % 20000;
        machine.reset_ticks = 1 + (unsigned)(random_next(&state) % 60);
    }

    // A full fault log holds everything up until the host reads it.
    if (random_next(&state) % 3 == 0) {
        machine.log_is_read = false;
        for (unsigned round = 0; !run_machine(20000 + random_next(&state) % 20000) && round < 200; round++) {
            if (cut && random_next(&state) % 8 == 0)
                double_engine_reset((unsigned)(random_next(&state) % 100));
            if (random_next(&state) % 2 && machine.log_consumed != machine.fault_records)
                machine.log_consumed++;
        }
        machine.log_consumed = machine.fault_records - (machine.fault_records != machine.log_consumed);
        machine.log_is_read = true;
    }
    for (unsigned n = 0; cut && n < 5; n++) {
        run_machine(random_next(&state) % 4000);
        if (!double_idle())
            double_engine_reset((unsigned)(random_next(&state) % 100));
    }
    return finish("random");
}
