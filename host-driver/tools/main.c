// SPDX-License-Identifier: Apache-2.0
// The tool `ferry`: reads the command line and hands over to a command.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ferry/ferry.h"
#include "ferry/version.h"
#include "tools/commands.h"
#include "tools/help_text.h"
#include "tools/import/import.h"
#include "tools/page.h"
#include "tools/policy.h"
#include "tools/replay.h"
#include "tools/tool.h"

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
        bool factor = option->kind == SIZE && value[0] && strchr("WF", value[strlen(value) - 1]);
        ferry_complain(
            "--%s: '%s' is not a %s%s", option->name, value,
            option->kind == SIZE ? "size (a number with K, M or G)" : "number",
            factor ? "; factors of a frame are for `ferry policy` and `ferry report`, which say what they come to"
                   : "");
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

// The arguments that are no options: at most `most`, of which the first `pages` are no traces.
struct operands {
    const char **to;
    unsigned *count, most, pages;
};

// Read "--name VALUE" and "--name=VALUE"; other arguments go to *operands if it is not NULL.
static int read_options(int count, char **arguments, const struct option *options, const struct operands *operands)
{
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (strcmp(argument, "-o") == 0 && strcmp(options[0].name, "out") == 0)
            argument = "--out";
        if (strncmp(argument, "--", 2) != 0) {
            if ((argument[0] == '-' && argument[1]) || !operands) {
                ferry_complain("'%s' is not understood here", argument);
                return FERRY_EXIT_USAGE;
            }
            if (*operands->count == operands->most) {
                ferry_complain("'%s' is one trace too many: %u at most", argument, operands->most - operands->pages);
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
    const struct operands traces = {options.trace_files, &options.trace_count, FERRY_MOST_TRACES, 0};
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
    const struct operands traces = {options.trace_files, &options.trace_count, FERRY_LAB_MOST_TRACES, 0};
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
    const struct operands operands = {&options.file, &files, 1, 0};
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
    const struct operands operands = {files, &file_count, FERRY_LAB_MOST_TRACES + 1, 1};
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

static const struct command {
    const char *name, *help;
    int (*run)(int count, char **arguments);
} tool_commands[] = {
    {"replay", ferry_replay_help, replay},
    {"policy", ferry_policy_help, policy},
    {"trace", ferry_trace_help, trace},
    {"report", ferry_report_help, report},
    {"list", ferry_list_help, list},
    {"info", ferry_info_help, info},
    {"selftest", ferry_selftest_help, selftest},
    {"fault", ferry_fault_help, fault},
};

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
    if (strcmp(arguments[1], "--version") == 0) {
        printf("ferry %s\n", ferry_version());
        return FERRY_EXIT_OK;
    }
    bool asked = strcmp(arguments[1], "help") == 0, help = asked || asks_for_help(count - 1, arguments + 1);
    const char *name = arguments[asked && count > 2 ? 2 : 1];
    for (size_t i = 0; i < sizeof tool_commands / sizeof *tool_commands; i++) {
        if (strcmp(name, tool_commands[i].name) != 0)
            continue;
        if (!help)
            return tool_commands[i].run(count - 2, arguments + 2);
        fputs(tool_commands[i].help, stdout);
        return FERRY_EXIT_OK;
    }
    if (!help || (asked && name[0] != '-' && name != arguments[1])) {
        ferry_complain("there is no command '%s'; try `ferry --help`", name);
        return FERRY_EXIT_USAGE;
    }
    fputs(ferry_general_help, stdout);
    return FERRY_EXIT_OK;
}

// A stream that is closed would be the next file or port that is opened, and what is said to people would go there.
// These take nothing, so that it is told as any output that cannot be written.
static void keep_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int main(int count, char **arguments)
{
    keep_streams();
    int status = run(count, arguments);
    // A full disk or a closed pipe must not look like success.
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == FERRY_EXIT_OK) {
        ferry_complain("cannot write to the standard output");
        status = FERRY_EXIT_LIBRARY;
    }
    return status;
}
