// SPDX-License-Identifier: Apache-2.0
#include "tools/report.h"

#include <inttypes.h>

#include "tools/tool.h"

void ferry_statistics_subtract(struct ferry_statistics *later, const struct ferry_statistics *earlier)
{
    for (unsigned i = 0; i < FERRY_OPERATIONS; i++)
        later->operations[i] -= earlier->operations[i];
    // resident_bytes and budget_bytes are levels.
    later->bytes_in -= earlier->bytes_in;
    later->bytes_out -= earlier->bytes_out;
    later->bytes_discarded -= earlier->bytes_discarded;
    later->bytes_filled -= earlier->bytes_filled;
    later->bytes_moved -= earlier->bytes_moved;
    later->evictions -= earlier->evictions;
    later->paging_buffers -= earlier->paging_buffers;
    later->busy_retries -= earlier->busy_retries;
    later->faults -= earlier->faults;
    later->dummy_page_writes -= earlier->dummy_page_writes;
    later->renames -= earlier->renames;
    later->discard_stalls -= earlier->discard_stalls;
    later->cycles -= earlier->cycles;
    later->engine_busy_cycles -= earlier->engine_busy_cycles;
    later->engine_jobs -= earlier->engine_jobs;
    later->local_read_beats -= earlier->local_read_beats;
    later->local_write_beats -= earlier->local_write_beats;
    later->host_read_beats -= earlier->host_read_beats;
    later->host_write_beats -= earlier->host_write_beats;
    later->stall_read_cycles -= earlier->stall_read_cycles;
    later->stall_write_cycles -= earlier->stall_write_cycles;
    later->stall_job_cycles -= earlier->stall_job_cycles;
    later->stall_link_cycles -= earlier->stall_link_cycles;
    later->tlps_received -= earlier->tlps_received;
    later->tlps_sent -= earlier->tlps_sent;
    later->link_receive_beats -= earlier->link_receive_beats;
    later->link_send_beats -= earlier->link_send_beats;
    later->tlps_unsupported -= earlier->tlps_unsupported;
    later->tlps_malformed -= earlier->tlps_malformed;
    later->tlps_poisoned -= earlier->tlps_poisoned;
    later->tlps_unexpected -= earlier->tlps_unexpected;
    later->firmware_packets -= earlier->firmware_packets;
    later->firmware_busy_cycles -= earlier->firmware_busy_cycles;
    later->window_refused -= earlier->window_refused;
    later->unmapped_accesses -= earlier->unmapped_accesses;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

double ferry_link_share(const struct ferry_statistics *statistics)
{
    return ratio(larger(statistics->link_receive_beats, statistics->link_send_beats), statistics->cycles);
}

double ferry_bus_share(const struct ferry_statistics *statistics)
{
    return ratio(larger(statistics->local_read_beats, statistics->local_write_beats), statistics->cycles);
}

double ferry_cycles_per_packet(const struct ferry_statistics *statistics)
{
    return ratio(statistics->firmware_busy_cycles, statistics->firmware_packets);
}

double ferry_sim_khz(const struct ferry_report *report)
{
    return report->seconds > 0 ? (double)report->statistics.cycles / report->seconds / 1000 : 0;
}

static void count_line(FILE *file, const char *name, uint64_t value, const char *note)
{
    char text[28];
    fprintf(file, "  %-32s%16s  %s\n", name, ferry_count_text(value, text), note);
}

static void bytes_line(FILE *file, const char *name, uint64_t value)
{
    char text[28], size[FERRY_SIZE_TEXT];
    fprintf(file, "  %-32s%16s  %s\n", name, ferry_count_text(value, text), ferry_size_text(value, size));
}

static void share_line(FILE *file, const char *name, double share, const char *first, uint64_t first_beats,
                       const char *second, uint64_t second_beats, uint64_t cycles)
{
    fprintf(file, "  %-32s%15.1f%%  %s %.1f%%, %s %.1f%%\n", name, share * 100, first, ratio(first_beats, cycles) * 100,
            second, ratio(second_beats, cycles) * 100);
}

void ferry_report_print(FILE *file, const struct ferry_report *report)
{
    const struct ferry_statistics *statistics = &report->statistics;
    char size[FERRY_SIZE_TEXT], text[96];
    fprintf(file, "\n%s on %s, %s of video memory\n", report->trace_name, report->backend,
            ferry_size_text(report->video_memory_bytes, size));
    fprintf(file, "\n  the program\n");
    count_line(file, "frames", report->frames, "");
    count_line(file, "allocations", report->allocations, "created");
    count_line(file, "draws", report->draws, "GPU jobs that read allocations");
    count_line(file, "render targets written", report->targets, "GPU jobs that write one");
    count_line(file, "writes", report->writes, "by the CPU");
    fprintf(file, "\n  paging operations\n");
    for (unsigned operation = 0; operation < FERRY_OPERATIONS; operation++) {
        if (statistics->operations[operation])
            count_line(file, ferry_operation_name(operation), statistics->operations[operation], "");
    }
    count_line(file, "paging buffers", statistics->paging_buffers, "submitted");
    fprintf(file, "\n  bytes\n");
    bytes_line(file, "in", statistics->bytes_in);
    bytes_line(file, "out", statistics->bytes_out);
    bytes_line(file, "discarded", statistics->bytes_discarded);
    bytes_line(file, "filled", statistics->bytes_filled);
    bytes_line(file, "moved inside", statistics->bytes_moved);
    bytes_line(file, "placed, in the worst frame", report->worst_frame_bytes);
    count_line(file, "evictions", statistics->evictions, "");
    fprintf(file, "\n  the device\n");
    snprintf(text, sizeof text, "%.1f ms at %u MHz", (double)statistics->cycles / 1e5, 100u);
    count_line(file, "cycles", statistics->cycles, text);
    share_line(file, "share of the link", ferry_link_share(statistics), "to device", statistics->link_receive_beats,
               "to host", statistics->link_send_beats, statistics->cycles);
    share_line(file, "share of the memory bus", ferry_bus_share(statistics), "read", statistics->local_read_beats,
               "write", statistics->local_write_beats, statistics->cycles);
    snprintf(text, sizeof text, "%" PRIu64 " packets", statistics->firmware_packets);
    fprintf(file, "  %-32s%16.1f  %s\n", "firmware cycles per packet", ferry_cycles_per_packet(statistics), text);
    snprintf(text, sizeof text, "%.1f s", report->seconds);
    fprintf(file, "  %-32s%16.1f  %s\n", "simulated kHz", ferry_sim_khz(report), text);
    fprintf(file, "\n  the outcome\n");
    count_line(file, "faults", report->faults, "");
    bytes_line(file, "verified bytes", report->verified_bytes);
    count_line(file, "wrong bytes", report->bad_bytes, report->bad_bytes ? "WRONG" : "");
}
