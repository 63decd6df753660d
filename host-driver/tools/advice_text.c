// SPDX-License-Identifier: Apache-2.0
#include "tools/advice_text.h"

#include <inttypes.h>

#include "tools/tool.h"

#define FRAMES_A_SECOND 60u
#define PAGE_BYTES      4096u

// A file's name and a texture's format may hold anything; the sentence stays one line, and the terminal as it is.
static void print_word(FILE *file, const char *name)
{
    for (; *name; name++)
        fputc((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name, file);
}

static void print_more(FILE *file, const struct ferry_lab_advice *advice)
{
    char moved[FERRY_SIZE_TEXT], second[FERRY_SIZE_TEXT], more[FERRY_SIZE_TEXT];
    // What comes and goes at any size is not for want of room.
    uint64_t paged = advice->moved - (advice->found && advice->left < advice->moved ? advice->left : 0);
    fprintf(file, ", %s a frame is paged, %s a second at %u frames", ferry_size_text(paged, moved),
            ferry_size_text(paged * FRAMES_A_SECOND, second), FRAMES_A_SECOND);
    if (!advice->found) {
        fputs("; no size up to four times all that lives at once ends that", file);
        return;
    }
    // As --vram takes it.
    fprintf(file, "; %s%s more (%" PRIu64 "K) removes all paging after frame %u",
            advice->within > PAGE_BYTES ? "at most " : "", ferry_size_text(advice->enough - advice->bytes, more),
            advice->enough / 1024, FERRY_LAB_WARM_UP);
    if (advice->left)
        fprintf(file, " (%s a frame beside it is new content and what the CPU writes)",
                ferry_size_text(advice->left, moved));
    if (advice->knee < advice->enough && advice->knee_saves)
        fprintf(file, ", and %s more already saves %s a frame", ferry_size_text(advice->knee - advice->bytes, more),
                ferry_size_text(advice->knee_saves, moved));
}

static void print_enough(FILE *file, const struct ferry_lab_advice *advice)
{
    char left[FERRY_SIZE_TEXT], enough[FERRY_SIZE_TEXT];
    fprintf(file, " nothing has to leave after frame %u", FERRY_LAB_WARM_UP);
    if (advice->left)
        fprintf(file, " (%s a frame is new content and what the CPU writes)", ferry_size_text(advice->left, left));
    if (advice->enough < advice->bytes)
        fprintf(file, ", and %s (%" PRIu64 "K) would do", ferry_size_text(advice->enough, enough),
                advice->enough / 1024);
}

static void print_programs(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                           const char *const *names)
{
    char in[FERRY_SIZE_TEXT], alone[FERRY_SIZE_TEXT];
    for (uint32_t i = 0; i < traces->count; i++) {
        fprintf(file, "%sprogram %" PRIu32 " (", i ? ", " : "; ", i + 1);
        print_word(file, names[i]);
        fprintf(file, ") brings in %s (alone %s)", ferry_size_text(advice->program_in[i], in),
                ferry_size_text(advice->program_alone[i], alone));
    }
}

static void print_costliest(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                            const char *const *names)
{
    char what[96], cost[FERRY_SIZE_TEXT];
    uint32_t program = traces->count - 1;
    while (program > 0 && traces->first_object[program] > advice->costliest)
        program--;
    uint32_t object = advice->costliest - traces->first_object[program];
    const struct ferry_trace *trace = &traces->traces[program];
    fprintf(file, "; most came in of allocation %" PRIu64 " of ", trace->objects[object].id);
    print_word(file, names[program]);
    fputs(" (", file);
    print_word(file, ferry_trace_object_text(trace, object, what));
    fprintf(file, ", line %" PRIu32 "): %s", trace->objects[object].line,
            ferry_size_text(advice->costliest_bytes, cost));
}

void ferry_advice_print(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                        const char *const *names)
{
    char bytes[FERRY_SIZE_TEXT], less[FERRY_SIZE_TEXT];
    fprintf(file, "With %s", ferry_size_text(advice->bytes, bytes));
    if (advice->too_short) {
        fprintf(file,
                ", nothing can be told: everything comes in for the first time in the first %u frames, and there "
                "are %" PRIu64 " in all.\n",
                FERRY_LAB_WARM_UP, traces->frames);
        return;
    }
    if (advice->found && advice->enough <= advice->bytes)
        print_enough(file, advice);
    else
        print_more(file, advice);
    if (!advice->less_fits)
        fprintf(file, "; with 5 %% less %s",
                advice->less_keeps ? "a job does not fit" : "the reservations cannot be kept");
    else if (advice->less_costs)
        fprintf(file, "; 5 %% less costs %s a second more",
                ferry_size_text(advice->less_costs * FRAMES_A_SECOND, less));
    else
        fputs("; 5 % less costs nothing", file);
    if (traces->count > 1)
        print_programs(file, advice, traces, names);
    // Where nothing has to leave, what came in had to.
    if (advice->costliest_bytes && !(advice->found && advice->enough <= advice->bytes))
        print_costliest(file, advice, traces, names);
    fputs(".\n", file);
}
