// SPDX-License-Identifier: Apache-2.0
// `ferry list`: what is reachable, how, and why not.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/output.h"
#include "tools/tool.h"
#include "tools/why.h"

struct row {
    struct ferry_candidate candidate;
    char device[24]; // What it says it is, when it was asked.
    bool answered;
    uint32_t contract;
};

struct rows {
    struct row *row;
    size_t count, capacity;
    bool no_memory;
};

static void take(void *context, const struct ferry_candidate *candidate)
{
    struct rows *rows = context;
    if (ferry_reserve(&rows->row, &rows->capacity, rows->count + 1, sizeof *rows->row) != 0)
        rows->no_memory = true;
    else
        rows->row[rows->count++] = (struct row){.candidate = *candidate};
}

static const char *reach_name(enum ferry_reach reach)
{
    static const char *const names[] = {"ready", "unknown", "in use", "blocked", "foreign"};
    return (unsigned)reach < sizeof names / sizeof *names ? names[reach] : "?";
}

// What is simulated in the process has no address, and is always there.
static bool is_elsewhere(const struct row *row)
{
    return strchr(row->candidate.backend, ':') != NULL;
}

// Open it as `ferry info` does.
static void ask(struct row *row)
{
    struct ferry_candidate *candidate = &row->candidate;
    struct ferry_adapter_options options = {.size = sizeof options, .backend = candidate->backend};
    struct ferry_adapter_info info = {.size = sizeof info};
    struct ferry_adapter *adapter = NULL;
    int error = ferry_adapter_open(&options, &adapter);
    if (error == FERRY_OK)
        error = ferry_adapter_query(adapter, &info);
    if (error == FERRY_OK) {
        candidate->reach = FERRY_REACH_READY;
        row->answered = true;
        row->contract = info.contract_version;
        snprintf(row->device, sizeof row->device, "%s", info.device);
    } else {
        candidate->reach = error == FERRY_ERROR_IN_USE ? FERRY_REACH_IN_USE : FERRY_REACH_BLOCKED;
        snprintf(candidate->problem, sizeof candidate->problem, "%s: %s", ferry_error_name(error), ferry_why(error));
    }
    ferry_adapter_close(adapter);
}

static void print(const struct row *row, int width)
{
    const struct ferry_candidate *candidate = &row->candidate;
    char answer[80] = "";
    if (row->answered)
        snprintf(answer, sizeof answer, "; answers as %s, contract %u.%u", row->device[0] ? row->device : "a device",
                 row->contract >> 16, row->contract & 0xffff);
    else if (candidate->reach == FERRY_REACH_UNKNOWN)
        snprintf(answer, sizeof answer, "; --probe asks what is at it");
    ferry_print_line(stdout, "%-*s  %-7s  %s%s%s%s", width, candidate->backend, reach_name(candidate->reach),
                     candidate->what, candidate->problem[0] ? "; " : "", candidate->problem, answer);
}

static int write_json(const struct rows *rows, const char *path)
{
    struct ferry_output output;
    if (ferry_output_open(&output, path) != 0)
        return -1;
    fputs("{\"candidates\": [", output.file);
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        const struct {
            const char *name, *value;
        } texts[] = {{"backend", row->candidate.backend},
                     {"reach", reach_name(row->candidate.reach)},
                     {"what", row->candidate.what},
                     {"problem", row->candidate.problem}};
        fputs(i ? ",\n  {" : "\n  {", output.file);
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            fprintf(output.file, "%s\"%s\": ", k ? ", " : "", texts[k].name);
            ferry_json_text(output.file, texts[k].value);
        }
        if (row->answered) {
            fputs(", \"device\": ", output.file);
            ferry_json_text(output.file, row->device);
            fprintf(output.file, ", \"contract\": \"%u.%u\"", row->contract >> 16, row->contract & 0xffff);
        }
        fputs("}", output.file);
    }
    fputs("\n]}\n", output.file);
    return ferry_output_close(&output, true);
}

static void tell(struct rows *rows, bool probe)
{
    int width = 0;
    size_t elsewhere = 0;
    bool usb = true; // Was looked at.
    for (size_t i = 0; i < rows->count; i++) {
        const int length = (int)strlen(rows->row[i].candidate.backend);
        width = length > width ? length : width;
        elsewhere += is_elsewhere(&rows->row[i]);
        usb = usb && strcmp(rows->row[i].candidate.backend, "usb") != 0;
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->row[i];
        if (probe && is_elsewhere(row) && row->candidate.reach <= FERRY_REACH_UNKNOWN)
            ask(row);
        print(row, width);
        fflush(stdout); // A port where nothing answers takes ten seconds.
    }
    if (elsewhere == 0)
        ferry_print_line(stdout,
                         "No device in a PCI slot, %sno USB serial port, no ferry-sim: plug a board in and load its "
                         "bitstream (`make -C boards/ulx3s flash`), or start `ferry-sim --listen unix:/tmp/ferry`.",
                         usb ? "none on USB, " : "");
}

int ferry_list(bool probe, const char *json)
{
    struct rows rows = {0};
    int status = json ? ferry_outputs_check(&json, 1, NULL, 0) : FERRY_EXIT_OK;
    if (status != FERRY_EXIT_OK)
        return status;
    int error = ferry_adapter_list(take, &rows);
    if (error < 0 || rows.no_memory) {
        ferry_complain("cannot list: %s", ferry_error_text(error < 0 ? error : FERRY_ERROR_NO_HOST_MEMORY));
        status = FERRY_EXIT_LIBRARY;
    } else {
        tell(&rows, probe);
        if (json && write_json(&rows, json) != 0) {
            ferry_complain("cannot write %s: %s", json, strerror(errno));
            status = FERRY_EXIT_LIBRARY;
        }
    }
    free(rows.row);
    return status;
}
