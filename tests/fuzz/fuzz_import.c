// SPDX-License-Identifier: Apache-2.0
// Any text into `ferry trace import`: it is refused, or a trace comes out that the reader of traces takes.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/import/import.h"
#include "tools/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give_up(const char *what)
{
    perror(what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ferry_import import;
    char path[40];
    int in = memfd_create("dump", 0), out = memfd_create("trace", 0);
    if (in < 0 || out < 0 || write(in, data, size) != (ssize_t)size || lseek(in, 0, SEEK_SET) != 0)
        give_up("memfd");
    import = (struct ferry_import){.in = gzdopen(in, "rb"), .out = gzdopen(dup(out), "wbT")};
    if (!import.in || !import.out)
        give_up("gzdopen");
    bool good = ferry_import_run(&import) == 0;
    if (gzclose(import.out) != Z_OK)
        give_up("gzclose");
    gzclose(import.in);
    if (good != (import.problem[0] == 0))
        abort();
    struct ferry_trace trace;
    struct ferry_trace_error error;
    snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    if (good && ferry_trace_read(path, &trace, &error) != 0) {
        fprintf(stderr, "line %llu: %s\n", (unsigned long long)error.line, error.reason);
        abort();
    }
    if (good) {
        if (trace.frames != import.report.frames || trace.object_count != import.report.allocations)
            abort();
        ferry_trace_free(&trace);
    }
    close(out);
    return 0;
}
