// SPDX-License-Identifier: Apache-2.0
// The tool `ferry`: reads the command line and hands over to a command.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ferry/ferry.h"
#include "ferry/version.h"
#include "tools/commands.h"
#include "tools/import/import.h"
#include "tools/page.h"
#include "tools/policy.h"
#include "tools/replay.h"
#include "tools/tool.h"

static const char general_help[] =
    "usage: ferry COMMAND [ARGUMENTS]\n"
    "\n"
    "  ferry replay TRACE   replay a program's memory trace through the whole machine and compare every byte\n"
    "  ferry policy TRACE   what sizes of video memory and policies would make of it, in seconds\n"
    "  ferry trace import   make a memory trace of what `apitrace dump` prints\n"
    "  ferry report PAGE TRACE  the same as one page to look at: figures, pictures, memory map\n"
    "  ferry list           which devices are reachable, how, and why not\n"
    "  ferry info           what the device and its firmware say about themselves\n"
    "  ferry selftest       a few checks of the whole path\n"
    "  ferry fault          what the page tables say, level by level, of addresses that fault\n"
    "\n"
    "ferry COMMAND --help tells more, ferry --version the version. Exit codes: 0 all is right, 1 wrong content or a\n"
    "fault, 2 a bad command line or trace (nothing was run), 3 video memory or budget too small for one draw, 4 the\n"
    "library or the system failed.\n";

static const char replay_help[] =
    "usage: ferry replay TRACE... [OPTIONS]\n"
    "\n"
    "Replays a memory trace, plain or gzip: each write goes through a lock, each draw is a GPU job that reads the "
    "first,\n"
    "the last and some other page of its allocations, each render target is written by the GPU. What jobs read, what "
    "was\n"
    "evicted and at the end everything is compared with what the program wrote. The trace is checked whole before.\n"
    "Several traces, 8 at most, are programs that run at once: each a process with a budget of its own, in turn up to\n"
    "the next GPU job. One ends where its trace does, and leaves what it had to the others.\n"
    "\n"
    "  --vram SIZE        video memory to use, with K, M or G (1024 each), whole pages; all of it when not given\n"
    "  --weights N,N...   of several programs, one for each: budgets are shared out by weight, 1 to 10000 (1)\n"
    "  --reservations SIZE,SIZE...  what the budget of each is never less than (0)\n"
    "  --frames N         stop after N frames of each trace\n"
    "  --backend NAME     sim (Verilated RTL, the default), model (C reference model), socket:ADDRESS (a ferry-sim\n"
    "                     elsewhere: unix:PATH or HOST:PORT; its timing is its own affair), uart:PORT[@BAUD] (a\n"
    "                     serial port), usb[:BUS-PORT] (the device on USB; a serial number will do, too) or\n"
    "                     pci[:0000:01:00.0] (a PCI function of this machine)\n"
    "  --model N          driver model: 2 (GPU virtual addresses, the default where the device has page tables) or 1\n"
    "                     (physical addresses)\n"
    "  --paging HOW       physical (content is moved from place to place) or virtual (through addresses of the paging\n"
    "                     process, in chunks; driver model 2)\n"
    "  --tables WHERE     page tables in video memory (video) or in system memory (system; driver model 2)\n"
    "  --iommu            the device reaches host pages only while they are in the aperture (driver model 2)\n"
    "  --json FILE        write the figures: frames, allocations, bytes_in, bytes_out, bytes_discarded, bytes_moved,\n"
    "                     evictions, operations, cycles, sim_khz, verified_bytes, bad_bytes, "
    "firmware_cycles_per_packet, "
    "link_share,\n"
    "                     bus_share, table_walks, table_reads, table_forgets and more; the same of each program\n"
    "  --timeline FILE    write a timeline for https://ui.perfetto.dev (device cycles drawn at a nominal 100 MHz)\n"
    "  --svg FILE         write a picture of video memory over time\n"
    "  --spaces FILE      write a picture of GPU virtual addresses over time: what they led to, in pages of which\n"
    "                     size (driver model 2)\n"
    "  --seed N           seed of the generated content and of the simulation (1)\n"
    "  --latency N        sim: memory read latency of N cycles instead of the DRAM model\n"
    "  --link-latency N   sim: one-way latency of the link in cycles (100)\n"
    "  --stall PERCENT    sim: refuse this share of all handshakes\n"
    "  --paging-buffer N  bytes of a paging buffer\n"
    "  --wave FILE        sim: write waves (FST)\n"
    "  --verify all       the GPU copies every page-in back whole, to be compared; else one in eight\n"
    "  --inject WHERE     flip one byte, which must be found: in:N[:OFFSET] of the N-th page-in, out:N[:OFFSET] of "
    "the\n"
    "                     N-th allocation that left video memory, of all programs; link-in:N[:OFFSET] and\n"
    "                     link-out:N[:OFFSET] of the N-th transfer, on its way over the link\n"
    "  --no-advice        not what a person can do about it, which plays the traces at other sizes, moving nothing\n"
    "  --quiet            no progress\n";

static const char policy_help[] =
    "usage: ferry policy TRACE... [OPTIONS]\n"
    "\n"
    "Plays whole memory traces, plain or gzip, without moving a byte, on the shipped manager (ours) and on policies: "
    "lru\n"
    "(least recently used, as kernels do), random, two-frames, furthest (knows the future). Prints what each would "
    "move:\n"
    "bytes in and out, what the manager moves inside video memory, how many times the bytes in of `furthest`, bytes in "
    "and\n"
    "out of the worst frame and of 99 % of all; and what a person can do about it, found by playing other sizes. The\n"
    "policies judge allocations alone, as if nothing ever lay in the way. Several traces are programs that run at "
    "once.\n"
    "\n"
    "  --vram LIST        sizes: with K, M or G, or as a factor of what a median frame names (0.95W) or of the "
    "largest\n"
    "                     frame (0.5F), each played once; 0.95W when not given, or, where a job needs more, 0.95F, "
    "1.00F\n"
    "                     or what that job needs\n"
    "  --policy LIST      ours, lru, random, two-frames, furthest, each once; all when not given\n"
    "  --weights N,N...   of several programs, one for each, for the manager (1)\n"
    "  --reservations SIZE,SIZE...  the same (0)\n"
    "  --sweep            bytes paged against the size of video memory: a line a size, or a picture with a line a "
    "policy;\n"
    "                     from what the largest job needs to all that ever lives at once, or the sizes of --vram\n"
    "  --points N         sizes of a sweep (24); refused without one, and beside --vram\n"
    "  --svg FILE         write a picture: bytes of each frame, a line a policy, a panel a size; or the sweep's\n"
    "  --json FILE        write the figures\n"
    "  --csv FILE         the same, one row a run\n"
    "  --seed N           of what is done by chance (1)\n"
    "  --no-advice        only the tables: what stands below them takes as long as twenty-five runs or so\n"
    "  --quiet            no progress\n";

static const char report_help[] =
    "usage: ferry report OUT.html TRACE... [OPTIONS]\n"
    "\n"
    "Plays whole memory traces as `ferry policy` does and writes one page that needs nothing else, no network and no\n"
    "script: what a person can do about it, the figures, bytes of each frame, bytes paged against the size of video\n"
    "memory, and where every allocation was, to point at and to enlarge. Several traces are programs that run at "
    "once.\n"
    "\n"
    "  --vram LIST        sizes, as of `ferry policy`; the memory map and what can be done are of the first\n"
    "  --policy LIST      ours, lru, random, two-frames, furthest; all when not given\n"
    "  --weights N,N...   of several programs, one for each, for the manager (1)\n"
    "  --reservations SIZE,SIZE...  the same (0)\n"
    "  --points N         sizes of the curve (16)\n"
    "  --seed N           of what is done by chance (1)\n"
    "  --no-advice        without what a person can do: it takes many runs more\n"
    "  --quiet            no progress\n";

static const char trace_help[] =
    "usage: ferry trace import FILE [-o OUT] [--quiet]\n"
    "\n"
    "Reads the text of `apitrace dump` (OpenGL and OpenGL ES; plain or gzip; - is the standard input) and writes the "
    "memory\n"
    "trace of it, to the standard output or to OUT, as gzip if that ends in .gz. A frame ends where the program "
    "swaps.\n"
    "Says what was left out and how much of it; refuses what would make sizes wrong. Add --thread-ids=yes to\n"
    "`apitrace dump` for a program that draws from several threads.\n"
    "\n"
    "  -o, --out FILE     the memory trace\n"
    "  --quiet            no progress and no summary\n";

static const char list_help[] =
    "usage: ferry list [--probe] [--json FILE]\n"
    "\n"
    "A line for each back end that could be opened on this machine, and for each that is there and cannot: what to "
    "give\n"
    "to --backend; whether it is ready, unknown (a serial port, at which anything may be), in use or blocked; what it\n"
    "is, and what to do about it. Looks for what is simulated in the tool, ferry-sim processes, serial ports, devices "
    "on\n"
    "USB and PCI functions. Opens none of them. Exits with 0 when there is none, too.\n"
    "\n"
    "  --probe            open each that is ready or unknown, as `ferry info` does: bytes are sent to every serial\n"
    "                     port, whatever is at it, and one at which nothing answers takes ten seconds\n"
    "  --json FILE        write the same: backend, reach, what, problem; of those that answered device and contract\n";

static const char info_help[] =
    "usage: ferry info [--backend NAME] [--board NAME]\n"
    "\n"
    "Opens the back end (sim, model, socket:ADDRESS, uart:PORT[@BAUD], usb[:ADDRESS] or pci[:ADDRESS]), starts the\n"
    "firmware and prints what they say, and what link it is. Warns when the device says that it is for another board\n"
    "than --board.\n";

static const char selftest_help[] =
    "usage: ferry selftest [--backend NAME] [--board NAME] [--pages N] [--model N] [--paging HOW]\n"
    "                      [--tables WHERE] [--iommu]\n"
    "\n"
    "Pages, copies, fills, resets and compares on the back end (sim, model, socket:ADDRESS, uart:PORT[@BAUD],\n"
    "usb[:ADDRESS] or pci[:ADDRESS]) with little video memory; prints each check and exits with 1 when one fails.\n"
    "Its eight allocations have 25 pages each, or --pages (2 to 1000): a slow line has less to carry then.\n"
    "In driver model 2 where the device has page tables, or --model (1 or 2); --paging, --tables and --iommu are\n"
    "those of `ferry replay`.\n"
    "Warns when the device says that it is for another board than --board.\n";

static const char fault_help[] =
    "usage: ferry fault [--backend NAME] [--tables WHERE]\n"
    "\n"
    "Has jobs reach GPU virtual addresses that they may not, on the back end (sim, model, socket:ADDRESS,\n"
    "uart:PORT[@BAUD], usb[:ADDRESS] or pci[:ADDRESS]) in driver model 2, and prints of each fault what its record\n"
    "says and the walk of the page tables, level by level; these are in video memory (video) or in system memory\n"
    "(system). Exits with 1 when the device's record names another entry than the tables have.\n";

enum kind { TEXT, NUMBER, SIZE, FLAG, PAGING, TABLES };
struct option {
    const char *name;
    enum kind kind;
    void *to; // const char *; FLAG: bool; else uint64_t
    uint64_t least, most;
};

// One of two words, by the number that the library has for it.
static const char *const words[][2] = {
    [PAGING] = {[FERRY_PAGING_PHYSICAL] = "physical", [FERRY_PAGING_VIRTUAL] = "virtual"},
    [TABLES] = {[FERRY_TABLES_VIDEO] = "video", [FERRY_TABLES_SYSTEM] = "system"},
};

static int set_option(const struct option *option, const char *value)
{
    uint64_t number = 0;
    if (option->kind == TEXT) {
        if (*value == 0) {
            ferry_complain("--%s needs a name", option->name);
            return FERRY_EXIT_USAGE;
        }
        *(const char **)option->to = value;
        return FERRY_EXIT_OK;
    }
    if (option->kind >= PAGING) {
        const char *const *word = words[option->kind];
        *(uint64_t *)option->to = strcmp(value, word[0]) != 0;
        if (strcmp(value, word[0]) == 0 || strcmp(value, word[1]) == 0)
            return FERRY_EXIT_OK;
        ferry_complain("--%s is %s or %s, not '%s'", option->name, word[0], word[1], value);
        return FERRY_EXIT_USAGE;
    }
    int bad = option->kind == SIZE ? ferry_parse_size(value, &number) : ferry_parse_number(value, &number);
    if (bad) {
        ferry_complain("--%s: '%s' is not a %s", option->name, value,
                       option->kind == SIZE ? "size (a number with K, M or G)" : "number");
        return FERRY_EXIT_USAGE;
    }
    if (number < option->least || number > option->most || (option->kind == SIZE && number % 4096 != 0)) {
        if (option->kind == SIZE)
            ferry_complain("--%s: %s is not a multiple of 4096 from 4096 to 1 TiB", option->name, value);
        else
            ferry_complain("--%s: %s is not from %llu to %llu", option->name, value, (unsigned long long)option->least,
                           (unsigned long long)option->most);
        return FERRY_EXIT_USAGE;
    }
    *(uint64_t *)option->to = number;
    return FERRY_EXIT_OK;
}

// The arguments that are no options: at most `most`.
struct operands {
    const char **to;
    unsigned *count, most;
};

// Read "--name VALUE" and "--name=VALUE"; other arguments go to *operands if it is not NULL.
static int read_options(int count, char **arguments, const struct option *options, const struct operands *operands)
{
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (strcmp(argument, "-o") == 0)
            argument = "--out";
        if (strncmp(argument, "--", 2) != 0) {
            if ((argument[0] == '-' && argument[1]) || !operands) {
                ferry_complain("'%s' is not understood here", argument);
                return FERRY_EXIT_USAGE;
            }
            if (*operands->count == operands->most) {
                ferry_complain("'%s' is one trace too many: %u at most", argument, operands->most);
                return FERRY_EXIT_USAGE;
            }
            operands->to[(*operands->count)++] = argument;
            continue;
        }
        const char *name = argument + 2;
        size_t length = strcspn(name, "=");
        const struct option *option = options;
        while (option->name && (strlen(option->name) != length || strncmp(option->name, name, length) != 0))
            option++;
        if (!option->name) {
            ferry_complain("there is no option '%.*s'", (int)(length + 2), argument);
            return FERRY_EXIT_USAGE;
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (option->kind == FLAG) {
            if (value) {
                ferry_complain("--%s takes no value", option->name);
                return FERRY_EXIT_USAGE;
            }
            *(bool *)option->to = true;
            continue;
        }
        if (!value && i + 1 < count)
            value = arguments[++i];
        if (!value) {
            ferry_complain("--%s needs a value", option->name);
            return FERRY_EXIT_USAGE;
        }
        int status = set_option(option, value);
        if (status != FERRY_EXIT_OK)
            return status;
    }
    return FERRY_EXIT_OK;
}

static int replay(int count, char **arguments)
{
    struct ferry_replay_options options = {.seed = 1};
    const struct option table[] = {
        {"vram", SIZE, &options.video_memory_bytes, 4096, FERRY_TIB},
        {"weights", TEXT, &options.weights, 0, 0},
        {"reservations", TEXT, &options.reservations, 0, 0},
        {"frames", NUMBER, &options.frames, 1, UINT64_MAX},
        {"backend", TEXT, &options.backend, 0, 0},
        {"model", NUMBER, &options.model, 1, 2},
        {"paging", PAGING, &options.paging, 0, 0},
        {"tables", TABLES, &options.tables, 0, 0},
        {"iommu", FLAG, &options.iommu, 0, 0},
        {"json", TEXT, &options.json_file, 0, 0},
        {"timeline", TEXT, &options.timeline_file, 0, 0},
        {"svg", TEXT, &options.svg_file, 0, 0},
        {"spaces", TEXT, &options.spaces_file, 0, 0},
        {"seed", NUMBER, &options.seed, 0, UINT64_MAX},
        {"latency", NUMBER, &options.read_latency_cycles, 1, 100000},
        {"link-latency", NUMBER, &options.link_latency_cycles, 1, 100000},
        {"stall", NUMBER, &options.stall_percent, 0, 90},
        {"paging-buffer", NUMBER, &options.paging_buffer_bytes, 64, 1u << 30},
        {"wave", TEXT, &options.wave_file, 0, 0},
        {"verify", TEXT, &options.verify, 0, 0},
        {"inject", TEXT, &options.inject, 0, 0},
        {"no-advice", FLAG, &options.no_advice, 0, 0},
        {"quiet", FLAG, &options.quiet, 0, 0},
        {0},
    };
    const struct operands traces = {options.trace_files, &options.trace_count, FERRY_MOST_TRACES};
    int status = read_options(count, arguments, table, &traces);
    if (status == FERRY_EXIT_OK && options.trace_count == 0) {
        ferry_complain("replay needs a trace file; try `ferry replay --help`");
        return FERRY_EXIT_USAGE;
    }
    return status == FERRY_EXIT_OK ? ferry_replay(&options) : status;
}

static int policy(int count, char **arguments)
{
    struct ferry_policy_options options = {.seed = 1};
    const struct option table[] = {
        {"vram", TEXT, &options.sizes, 0, 0},
        {"policy", TEXT, &options.policies, 0, 0},
        {"weights", TEXT, &options.weights, 0, 0},
        {"reservations", TEXT, &options.reservations, 0, 0},
        {"svg", TEXT, &options.svg_file, 0, 0},
        {"json", TEXT, &options.json_file, 0, 0},
        {"csv", TEXT, &options.csv_file, 0, 0},
        {"seed", NUMBER, &options.seed, 0, UINT64_MAX},
        {"no-advice", FLAG, &options.no_advice, 0, 0},
        {"sweep", FLAG, &options.sweep, 0, 0},
        {"points", NUMBER, &options.points, 2, 10000},
        {"quiet", FLAG, &options.quiet, 0, 0},
        {0},
    };
    const struct operands traces = {options.trace_files, &options.trace_count, FERRY_LAB_MOST_TRACES};
    int status = read_options(count, arguments, table, &traces);
    if (status == FERRY_EXIT_OK && options.trace_count == 0) {
        ferry_complain("policy needs a trace file; try `ferry policy --help`");
        return FERRY_EXIT_USAGE;
    }
    if (status == FERRY_EXIT_OK && options.points && !options.sweep) {
        ferry_complain("--points is how many sizes a sweep has: it needs --sweep");
        return FERRY_EXIT_USAGE;
    }
    if (status == FERRY_EXIT_OK && options.points && options.sizes) {
        ferry_complain("--points and --vram both say which sizes a sweep has: one of them");
        return FERRY_EXIT_USAGE;
    }
    options.points = options.points ? options.points : 24;
    return status == FERRY_EXIT_OK ? ferry_policy(&options) : status;
}

static int trace(int count, char **arguments)
{
    struct ferry_import_options options = {0};
    unsigned files = 0;
    const struct option table[] = {{"out", TEXT, &options.out, 0, 0}, {"quiet", FLAG, &options.quiet, 0, 0}, {0}};
    const struct operands operands = {&options.file, &files, 1};
    bool imports = count > 0 && strcmp(arguments[0], "import") == 0;
    int status = imports ? read_options(count - 1, arguments + 1, table, &operands) : FERRY_EXIT_OK;
    if (status == FERRY_EXIT_OK && files == 0) {
        ferry_complain("it is `ferry trace import FILE`; try `ferry trace --help`");
        return FERRY_EXIT_USAGE;
    }
    return status == FERRY_EXIT_OK ? ferry_import(&options) : status;
}

static int report(int count, char **arguments)
{
    struct ferry_policy_options options = {.seed = 1, .points = 16, .page = true};
    const char *files[FERRY_LAB_MOST_TRACES + 1];
    unsigned file_count = 0;
    const struct option table[] = {
        {"vram", TEXT, &options.sizes, 0, 0},
        {"policy", TEXT, &options.policies, 0, 0},
        {"weights", TEXT, &options.weights, 0, 0},
        {"reservations", TEXT, &options.reservations, 0, 0},
        {"points", NUMBER, &options.points, 2, 10000},
        {"seed", NUMBER, &options.seed, 0, UINT64_MAX},
        {"no-advice", FLAG, &options.no_advice, 0, 0},
        {"quiet", FLAG, &options.quiet, 0, 0},
        {0},
    };
    const struct operands operands = {files, &file_count, FERRY_LAB_MOST_TRACES + 1};
    int status = read_options(count, arguments, table, &operands);
    if (status != FERRY_EXIT_OK)
        return status;
    if (file_count < 2) {
        ferry_complain("report needs a page to write (OUT.html) and a trace file; try `ferry report --help`");
        return FERRY_EXIT_USAGE;
    }
    options.trace_count = file_count - 1;
    memcpy(options.trace_files, files + 1, options.trace_count * sizeof *files);
    return ferry_page(files[0], &options);
}

static int fault(int count, char **arguments)
{
    const char *backend = NULL;
    uint64_t tables = FERRY_TABLES_VIDEO;
    const struct option table[] = {{"backend", TEXT, &backend, 0, 0}, {"tables", TABLES, &tables, 0, 0}, {0}};
    int status = read_options(count, arguments, table, NULL);
    return status == FERRY_EXIT_OK ? ferry_fault_walks(backend, (uint32_t)tables) : status;
}

static int info(int count, char **arguments)
{
    const char *backend = NULL, *board = NULL;
    const struct option table[] = {{"backend", TEXT, &backend, 0, 0}, {"board", TEXT, &board, 0, 0}, {0}};
    int status = read_options(count, arguments, table, NULL);
    return status == FERRY_EXIT_OK ? ferry_info(backend, board) : status;
}

static int selftest(int count, char **arguments)
{
    struct ferry_selftest_options options = {.pages = 25};
    const struct option table[] = {
        {"backend", TEXT, &options.backend, 0, 0},  {"board", TEXT, &options.board, 0, 0},
        {"pages", NUMBER, &options.pages, 2, 1000}, {"model", NUMBER, &options.model, 1, 2},
        {"paging", PAGING, &options.paging, 0, 0},  {"tables", TABLES, &options.tables, 0, 0},
        {"iommu", FLAG, &options.iommu, 0, 0},      {0},
    };
    int status = read_options(count, arguments, table, NULL);
    return status == FERRY_EXIT_OK ? ferry_selftest(&options) : status;
}

static int list(int count, char **arguments)
{
    const char *json = NULL;
    bool probe = false;
    const struct option table[] = {{"probe", FLAG, &probe, 0, 0}, {"json", TEXT, &json, 0, 0}, {0}};
    int status = read_options(count, arguments, table, NULL);
    return status == FERRY_EXIT_OK ? ferry_list(probe, json) : status;
}

static bool asks_for_help(int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0)
            return true;
    }
    return false;
}

static int run(int count, char **arguments)
{
    if (count < 2) {
        ferry_complain("no command given; try `ferry --help`");
        return FERRY_EXIT_USAGE;
    }
    const char *command = arguments[1];
    if (strcmp(command, "--version") == 0) {
        printf("ferry %s\n", ferry_version());
        return FERRY_EXIT_OK;
    }
    bool help = asks_for_help(count - 1, arguments + 1);
    const char *text = general_help;
    if (strcmp(command, "replay") == 0) {
        text = replay_help;
        if (!help)
            return replay(count - 2, arguments + 2);
    } else if (strcmp(command, "policy") == 0) {
        text = policy_help;
        if (!help)
            return policy(count - 2, arguments + 2);
    } else if (strcmp(command, "trace") == 0) {
        text = trace_help;
        if (!help)
            return trace(count - 2, arguments + 2);
    } else if (strcmp(command, "report") == 0) {
        text = report_help;
        if (!help)
            return report(count - 2, arguments + 2);
    } else if (strcmp(command, "list") == 0) {
        text = list_help;
        if (!help)
            return list(count - 2, arguments + 2);
    } else if (strcmp(command, "info") == 0) {
        text = info_help;
        if (!help)
            return info(count - 2, arguments + 2);
    } else if (strcmp(command, "selftest") == 0) {
        text = selftest_help;
        if (!help)
            return selftest(count - 2, arguments + 2);
    } else if (strcmp(command, "fault") == 0) {
        text = fault_help;
        if (!help)
            return fault(count - 2, arguments + 2);
    } else if (!help && strcmp(command, "help") != 0) {
        ferry_complain("there is no command '%s'; try `ferry --help`", command);
        return FERRY_EXIT_USAGE;
    }
    fputs(text, stdout);
    return FERRY_EXIT_OK;
}

int main(int count, char **arguments)
{
    int status = run(count, arguments);
    // A full disk or a closed pipe must not look like success.
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == FERRY_EXIT_OK) {
        ferry_complain("cannot write to the standard output");
        status = FERRY_EXIT_LIBRARY;
    }
    return status;
}
