// SPDX-License-Identifier: Apache-2.0
#include "tools/report.h"

#include <inttypes.h>
#include <stddef.h>

#include "tools/tool.h"

// The fields of a struct ferry_statistics that count. The others, such as resident_bytes, are levels.
#define COUNT(name) offsetof(struct ferry_statistics, name)
static const size_t counts[] = {
    COUNT(bytes_in),
    COUNT(bytes_out),
    COUNT(bytes_discarded),
    COUNT(bytes_filled),
    COUNT(bytes_moved),
    COUNT(evictions),
    COUNT(paging_buffers),
    COUNT(busy_retries),
    COUNT(faults),
    COUNT(dummy_page_writes),
    COUNT(renames),
    COUNT(discard_stalls),
    COUNT(cycles),
    COUNT(engine_busy_cycles),
    COUNT(engine_jobs),
    COUNT(local_read_beats),
    COUNT(local_write_beats),
    COUNT(host_read_beats),
    COUNT(host_write_beats),
    COUNT(stall_read_cycles),
    COUNT(stall_write_cycles),
    COUNT(stall_job_cycles),
    COUNT(stall_link_cycles),
    COUNT(tlps_received),
    COUNT(tlps_sent),
    COUNT(link_receive_beats),
    COUNT(link_send_beats),
    COUNT(tlps_unsupported),
    COUNT(tlps_malformed),
    COUNT(tlps_poisoned),
    COUNT(tlps_unexpected),
    COUNT(firmware_packets),
    COUNT(firmware_busy_cycles),
    COUNT(window_refused),
    COUNT(table_walks),
    COUNT(table_reads),
    COUNT(table_forgets),
    COUNT(unmapped_accesses),
    COUNT(noise_bytes),
    COUNT(broken_frames),
    COUNT(frames_again),
};
#undef COUNT

static uint64_t *count_at(struct ferry_statistics *statistics, size_t offset)
{
    return (uint64_t *)(void *)((char *)statistics + offset);
}

static uint64_t value_at(const struct ferry_statistics *statistics, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)statistics + offset);
}

void ferry_statistics_subtract(struct ferry_statistics *later, const struct ferry_statistics *earlier)
{
    for (unsigned i = 0; i < FERRY_OPERATIONS; i++)
        later->operations[i] -= earlier->operations[i];
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        *count_at(later, counts[i]) -= value_at(earlier, counts[i]);
}

void ferry_statistics_add(struct ferry_statistics *sum, const struct ferry_statistics *more)
{
    struct ferry_statistics all = *more;
    for (unsigned i = 0; i < FERRY_OPERATIONS; i++)
        all.operations[i] += sum->operations[i];
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        *count_at(&all, counts[i]) += value_at(sum, counts[i]);
    *sum = all;
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

double ferry_gpu_share(const struct ferry_report *report, const struct ferry_program_report *program)
{
    return ratio(program->used.gpu_cycles, report->statistics.cycles);
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

// A line for each program, in columns.
static void print_programs(FILE *file, const struct ferry_report *report)
{
    fprintf(file, "\n  %-24s %6s %10s %9s %10s %10s %9s %12s %7s\n", "the programs", "weight", "budget", "jobs", "in",
            "out", "evictions", "last job", "of GPU");
    for (unsigned i = 0; i < report->program_count; i++) {
        const struct ferry_program_report *program = &report->programs[i];
        char budget[FERRY_SIZE_TEXT], in[FERRY_SIZE_TEXT], out[FERRY_SIZE_TEXT], jobs[28], evictions[28], name[40];
        snprintf(name, sizeof name, "%u %.22s", i + 1, program->trace_name);
        ferry_clean_text(name);
        fprintf(file, "  %-24s %6u %10s %9s %10s %10s %9s %9.1f ms %6.1f%%\n", name, program->weight,
                ferry_size_text(program->budget, budget), ferry_count_text(program->used.jobs, jobs),
                ferry_size_text(program->used.bytes_in, in), ferry_size_text(program->used.bytes_out, out),
                ferry_count_text(program->used.evictions, evictions), (double)program->used.last_job / 1e5,
                100 * ferry_gpu_share(report, program));
    }
}

void ferry_report_print(FILE *file, const struct ferry_report *report)
{
    const struct ferry_statistics *statistics = &report->statistics;
    char size[FERRY_SIZE_TEXT], text[96];
    fputc('\n', file);
    ferry_print_line(file, "%s on %s, %s of video memory, driver model %u", report->trace_name, report->backend,
                     ferry_size_text(report->video_memory_bytes, size), report->driver_model);
    if (report->program_count > 1)
        print_programs(file, report);
    fprintf(file, "\n  %s\n", report->program_count > 1 ? "all programs" : "the program");
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
    if (report->driver_model == 2) {
        char forgets[28], reads[28];
        snprintf(text, sizeof text, "%s reads of tables, %s invalidates",
                 ferry_count_text(statistics->table_reads, reads),
                 ferry_count_text(statistics->table_forgets, forgets));
        count_line(file, "walks of page tables", statistics->table_walks, text);
    }
    snprintf(text, sizeof text, "%.1f s", report->seconds);
    fprintf(file, "  %-32s%16.1f  %s\n", "simulated kHz", ferry_sim_khz(report), text);
    fprintf(file, "\n  the outcome\n");
    count_line(file, "faults", report->faults, "");
    bytes_line(file, "verified bytes", report->verified_bytes);
    count_line(file, "wrong bytes", report->bad_bytes, report->bad_bytes ? "WRONG" : "");
}
