// SPDX-License-Identifier: Apache-2.0
// What became of random programs of page tables on two back ends, as the file has it that table_walks.py judges:
// content that has changed, faults, and what is counted.
#ifndef FERRY_TESTS_TABLE_RECORD_H
#define FERRY_TESTS_TABLE_RECORD_H

#include "agreement_buffers.h"
#include "system.h"
#include "table_programs.h"

// Content in video memory, of which the last ones are written by jobs; brought to and from `check` one behind the
// other.
static const struct range {
    uint32_t first, pages;
} local[] = {{0, 16}, {500, 28}, {1012, 12}, {32, 16}, {80, 16}, {544, 16}};
#define FIRST_WRITTEN  3u
#define LOCAL_RANGES   (sizeof local / sizeof *local)
#define LOCAL_TOGETHER 104u

struct record {
    FILE *file;
    struct side *sides;
    uint64_t host;                    // Bus address of the region of host memory.
    uint8_t *region[2];               // It, on both sides.
    uint8_t *seen[2], *local_seen[2]; // What of it and of `check` the file knows.
    uint64_t faults;
};

// The file knows all of it.
static inline void record_knows(struct record *r)
{
    for (int s = 0; s < 2; s++) {
        memcpy(r->seen[s], r->region[s], PAGE(512));
        memcpy(r->local_seen[s], r->sides[s].check.address, PAGE(LOCAL_TOGETHER));
    }
}

// Side 2: of both.
static inline void record_page(const struct record *r, uint32_t side, bool host, uint64_t page, const uint8_t *content)
{
    fprintf(r->file, "page %u %u %llu ", side, host, (unsigned long long)page);
    for (uint32_t i = 0; i < 4096; i++)
        fprintf(r->file, "%02x", content[i]);
    fputc('\n', r->file);
}

// Pages that are not what the file said last.
static inline void record_changes(struct record *r, uint32_t first)
{
    uint64_t host = r->host / 4096;

    for (int s = 0; s < 2; s++) {
        const uint8_t *check = r->sides[s].check.address;

        for (uint32_t page = 0; page < 512; page++)
            if ((page < TABLES_AT || page >= TABLES_AT + TABLES / 2) &&
                memcmp(&r->region[s][PAGE(page)], &r->seen[s][PAGE(page)], 4096))
                record_page(r, (uint32_t)s, true, host + page, &r->region[s][PAGE(page)]);
        memcpy(r->seen[s], r->region[s], PAGE(512));
        for (uint32_t i = 0, at = 0; i < LOCAL_RANGES; at += local[i++].pages)
            for (uint32_t page = 0; i >= first && page < local[i].pages; page++) {
                uint64_t place = PAGE(at + page);

                if (memcmp(&check[place], &r->local_seen[s][place], 4096))
                    record_page(r, (uint32_t)s, false, local[i].first + page, &check[place]);
            }
        memcpy(r->local_seen[s], check, PAGE(LOCAL_TOGETHER));
    }
}

static inline void record_faults(struct record *r)
{
    for (int s = 0; s < 2; s++) {
        struct ferry_fault f;

        for (bool found = true;;) {
            memset(&f, 0, sizeof f);
            f.size = sizeof f;
            ok(ferry_gpu_next_fault(r->sides[s].gpu, &f, &found));
            if (!found)
                break;
            r->faults++;
            assert_int_equal(f.sequence, ++r->sides[s].faults);
            fprintf(r->file, "fault %d %llu %u %u %u %u %llu %u %u %u %llu %u\n", s, (unsigned long long)f.fence_value,
                    f.packet_offset, f.kind, f.address_kind, f.is_write, (unsigned long long)f.address, f.walked,
                    f.walk_space, f.walk_level, (unsigned long long)f.walk_entry, f.written);
        }
    }
}

// What must agree of counts; of walks the devices may need different ones.
static inline void record_counts(const struct record *r)
{
    for (int s = 0; s < 2; s++) {
        struct ferry_statistics now = {.size = sizeof now};

        ok(ferry_gpu_counters(r->sides[s].gpu, &now));
        fprintf(r->file, "counters %d %llu %llu %llu\n", s, (unsigned long long)now.table_forgets,
                (unsigned long long)now.table_walks, (unsigned long long)now.table_reads);
    }
    for (int s = 0; s < 2; s++)
        for (uint32_t ring = 0; ring < RINGS; ring++) {
            struct ferry_gpu_fence now;

            ok(ferry_gpu_ring_completed(r->sides[s].gpu, ring, &now));
            fprintf(r->file, "ring %d %u %llu %u %u %u\n", s, ring, (unsigned long long)now.value, now.retired,
                    now.faults, now.last_faulted);
        }
}

#endif
