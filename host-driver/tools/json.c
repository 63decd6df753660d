// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include <inttypes.h>
#include <stdbool.h>

#include "tools/output.h"
#include "tools/tool.h"

void ferry_json_text(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', file);
    while (*at) {
        int length = ferry_utf8_length((const char *)at);
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(file, "\\u%04x", *at);
        else if (length == 0)
            fputs("\\ufffd", file);
        else
            fwrite(at, 1, (size_t)length, file);
        at += length ? length : 1;
    }
    fputc('"', file);
}

static void number(FILE *file, const char *name, uint64_t value)
{
    fprintf(file, "  \"%s\": %" PRIu64 ",\n", name, value);
}

static void real(FILE *file, const char *name, double value)
{
    fprintf(file, "  \"%s\": %.6g,\n", name, value);
}

static void programs(FILE *file, const struct ferry_report *report)
{
    fputs("  \"programs\": [", file);
    for (unsigned i = 0; i < report->program_count; i++) {
        const struct ferry_program_report *program = &report->programs[i];
        const struct {
            const char *name;
            uint64_t value;
        } numbers[] = {
            {"weight", program->weight},
            {"reservation_bytes", program->reservation},
            {"budget_bytes", program->budget},
            {"frames", program->frames},
            {"allocations", program->allocations},
            {"draws", program->draws},
            {"targets", program->targets},
            {"writes", program->writes},
            {"jobs", program->used.jobs},
            {"bytes_in", program->used.bytes_in},
            {"bytes_out", program->used.bytes_out},
            {"bytes_discarded", program->used.bytes_discarded},
            {"bytes_filled", program->used.bytes_filled},
            {"bytes_moved", program->used.bytes_moved},
            {"evictions", program->used.evictions},
            {"last_job_cycle", program->used.last_job},
            {"gpu_cycles", program->used.gpu_cycles},
            {"verified_bytes", program->verified_bytes},
            {"bad_bytes", program->bad_bytes},
        };
        fprintf(file, "%s\n    {\"trace\": ", i ? "," : "");
        ferry_json_text(file, program->trace_name);
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            fprintf(file, ", \"%s\": %" PRIu64, numbers[k].name, numbers[k].value);
        fprintf(file, ", \"gpu_share\": %.6g}", ferry_gpu_share(report, program));
    }
    fputs("\n  ],\n", file);
}

int ferry_json_write(const char *path, const struct ferry_report *report)
{
    const struct ferry_statistics *statistics = &report->statistics;
    struct ferry_output output;
    if (ferry_output_open(&output, path) != 0)
        return -1;
    FILE *file = output.file;
    fputs("{\n  \"trace\": ", file);
    ferry_json_text(file, report->trace_name);
    fputs(",\n  \"backend\": ", file);
    ferry_json_text(file, report->backend);
    fputs(",\n", file);
    number(file, "driver_model", report->driver_model);
    number(file, "video_memory_bytes", report->video_memory_bytes);
    number(file, "seed", report->seed);
    number(file, "frames", report->frames);
    number(file, "allocations", report->allocations);
    number(file, "draws", report->draws);
    number(file, "targets", report->targets);
    number(file, "writes", report->writes);
    number(file, "locks", report->locks);
    number(file, "bytes_in", statistics->bytes_in);
    number(file, "bytes_out", statistics->bytes_out);
    number(file, "bytes_discarded", statistics->bytes_discarded);
    number(file, "bytes_filled", statistics->bytes_filled);
    number(file, "bytes_moved", statistics->bytes_moved);
    number(file, "evictions", statistics->evictions);
    number(file, "worst_frame_bytes", report->worst_frame_bytes);
    number(file, "paging_buffers", statistics->paging_buffers);
    number(file, "busy_retries", statistics->busy_retries);
    fputs("  \"operations\": {", file);
    bool any = false;
    for (unsigned operation = 0; operation < FERRY_OPERATIONS; operation++) {
        if (!statistics->operations[operation])
            continue;
        fprintf(file, "%s\n    \"%s\": %" PRIu64, any ? "," : "", ferry_operation_name(operation),
                statistics->operations[operation]);
        any = true;
    }
    fputs(any ? "\n  },\n" : "},\n", file);
    number(file, "cycles", statistics->cycles);
    number(file, "engine_busy_cycles", statistics->engine_busy_cycles);
    number(file, "engine_jobs", statistics->engine_jobs);
    number(file, "local_read_beats", statistics->local_read_beats);
    number(file, "local_write_beats", statistics->local_write_beats);
    number(file, "host_read_beats", statistics->host_read_beats);
    number(file, "host_write_beats", statistics->host_write_beats);
    number(file, "link_receive_beats", statistics->link_receive_beats);
    number(file, "link_send_beats", statistics->link_send_beats);
    number(file, "stall_read_cycles", statistics->stall_read_cycles);
    number(file, "stall_write_cycles", statistics->stall_write_cycles);
    number(file, "stall_job_cycles", statistics->stall_job_cycles);
    number(file, "stall_link_cycles", statistics->stall_link_cycles);
    number(file, "table_walks", statistics->table_walks);
    number(file, "table_reads", statistics->table_reads);
    number(file, "table_forgets", statistics->table_forgets);
    number(file, "firmware_packets", statistics->firmware_packets);
    number(file, "firmware_busy_cycles", statistics->firmware_busy_cycles);
    real(file, "firmware_cycles_per_packet", ferry_cycles_per_packet(statistics));
    real(file, "link_share", ferry_link_share(statistics));
    real(file, "bus_share", ferry_bus_share(statistics));
    programs(file, report);
    real(file, "seconds", report->seconds);
    real(file, "sim_khz", ferry_sim_khz(report));
    number(file, "faults", report->faults);
    number(file, "unmapped_accesses", statistics->unmapped_accesses);
    number(file, "noise_bytes", statistics->noise_bytes);
    number(file, "broken_frames", statistics->broken_frames);
    number(file, "frames_again", statistics->frames_again);
    number(file, "dummy_page_writes", statistics->dummy_page_writes);
    number(file, "renames", statistics->renames);
    number(file, "discard_stalls", statistics->discard_stalls);
    number(file, "verified_bytes", report->verified_bytes);
    number(file, "bad_bytes", report->bad_bytes);
    fprintf(file, "  \"exit_code\": %d\n}\n", report->exit_code);
    return ferry_output_close(&output, true);
}
