// SPDX-License-Identifier: Apache-2.0
#include "tools/advice_text.h"

#include <inttypes.h>

#include "tools/tool.h"

#define FRAMES_A_SECOND 60u

// Pictures are seen at a rate; how fast tokens come nobody can tell from the trace, nor what a frame of several is.
static bool has_rate(const struct ferry_lab_traces *traces)
{
    return traces->count == 1 && traces->packed[0]->draws;
}

#define AMOUNT_TEXT (FERRY_SIZE_TEXT + FERRY_TRACE_UNIT + 16)

// "2.0 KiB a frame more", or of several programs "2.0 KiB more in all".
static const char *amount_text(uint64_t amount, const char *how, const struct ferry_lab_traces *traces,
                               char text[AMOUNT_TEXT])
{
    char size[FERRY_SIZE_TEXT];
    if (traces->count > 1)
        snprintf(text, AMOUNT_TEXT, "%s%s in all", ferry_size_text(amount, size), how);
    else
        snprintf(text, AMOUNT_TEXT, "%s a %s%s", ferry_size_text(amount, size), traces->unit, how);
    return text;
}

static void print_enough_elsewhere(FILE *file, const struct ferry_lab_advice *advice,
                                   const struct ferry_lab_traces *traces)
{
    char left[AMOUNT_TEXT], more[FERRY_SIZE_TEXT];
    uint64_t away = advice->enough > advice->bytes ? advice->enough - advice->bytes : advice->bytes - advice->enough;
    // As --vram takes it.
    fprintf(file, "; %s%s %s (%" PRIu64 "K) %s after %s %u",
            advice->least_proven || advice->enough < advice->bytes ? "" : "at most ", ferry_size_text(away, more),
            advice->enough > advice->bytes ? "more" : "less", advice->enough / 1024,
            advice->paged ? "removes all paging" : "leaves everything in place", traces->unit, FERRY_LAB_WARM_UP);
    if (advice->left)
        fprintf(file, " (%s beside it is new content and what the CPU writes)",
                amount_text(advice->left, "", traces, left));
}

// More memory is another run, not a better one.
static void print_again(FILE *file, const struct ferry_lab_advice *advice)
{
    if (!advice->found || !advice->again)
        return;
    fprintf(file, ", though %" PRIu64 "K pages again", advice->again / 1024);
    if (advice->steady && advice->above_proven)
        fprintf(file, " and from %" PRIu64 "K on no size up to %" PRIu64 "K does", advice->steady / 1024,
                advice->above / 1024);
    else if (advice->steady)
        fprintf(file, " and from %" PRIu64 "K on no size that was played does", advice->steady / 1024);
}

static void print_more(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces)
{
    char paged[AMOUNT_TEXT], second[FERRY_SIZE_TEXT], more[FERRY_SIZE_TEXT];
    if (advice->paged == 0)
        fprintf(file, " what has to leave after %s %u is not missed: nothing is paged for it", traces->unit,
                FERRY_LAB_WARM_UP);
    else
        fprintf(file, ", %s is paged", amount_text(advice->paged, "", traces, paged));
    if (advice->paged && has_rate(traces))
        fprintf(file, ", %s a second at %u frames", ferry_size_text(advice->paged * FRAMES_A_SECOND, second),
                FRAMES_A_SECOND);
    if (!advice->found) {
        if (advice->tried)
            fprintf(file, "; no size that was played ends that, up to %s", ferry_size_text(advice->tried, more));
        else
            fprintf(file, "; %s live at once, more than is ever played", ferry_size_text(traces->most_living, more));
        return;
    }
    print_enough_elsewhere(file, advice, traces);
    print_again(file, advice);
    if (advice->enough > advice->bytes && advice->knee < advice->enough && advice->knee_saves)
        fprintf(file, ", and %s more already saves %s", ferry_size_text(advice->knee - advice->bytes, more),
                amount_text(advice->knee_saves, "", traces, paged));
}

static void print_enough(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces)
{
    char moved[AMOUNT_TEXT], enough[FERRY_SIZE_TEXT];
    fprintf(file, " nothing has to leave after %s %u", traces->unit, FERRY_LAB_WARM_UP);
    if (advice->moved)
        fprintf(file, " (%s is new content and what the CPU writes)", amount_text(advice->moved, "", traces, moved));
    if (advice->enough < advice->bytes)
        fprintf(file, ", and %s (%" PRIu64 "K) would do", ferry_size_text(advice->enough, enough),
                advice->enough / 1024);
    print_again(file, advice);
}

static void print_programs(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                           const char *const *names)
{
    char in[FERRY_SIZE_TEXT], alone[FERRY_SIZE_TEXT];
    for (uint32_t i = 0; i < traces->count; i++) {
        fprintf(file, "%sprogram %" PRIu32 " (", i ? ", " : "; ", i + 1);
        ferry_put_text(file, names[i]);
        fprintf(file, ") brings in %s (alone %s)", ferry_size_text(advice->program_in[i], in),
                ferry_size_text(advice->program_alone[i], alone));
    }
}

static void print_costliest(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                            const char *const *names)
{
    char what[96], cost[AMOUNT_TEXT];
    const struct ferry_lab_creation *object = &advice->left_out.creation;
    fprintf(file, "; without allocation %" PRIu64 " of ", object->id);
    ferry_put_text(file, names[advice->left_out.program]);
    fputs(" (", file);
    ferry_put_text(file, ferry_trace_kind_text(object->width, object->height, object->format, what));
    fprintf(file, ", line %" PRIu32 ") it would be %s", object->line,
            amount_text(advice->left_out.saves, " less", traces, cost));
    if (advice->left_out.tried < advice->left_out.candidates)
        fprintf(file, ", the most of %" PRIu64 " that were left out in turn", advice->left_out.tried);
}

static void print_less(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces)
{
    char less[AMOUNT_TEXT];
    // Of a few pages one is more than 5 %: what was played is said.
    uint64_t percent = ((advice->bytes - advice->less) * 100 + advice->bytes / 2) / advice->bytes;
    if (advice->less == 0)
        return;
    if (!advice->less_fits)
        fprintf(file, "; with %" PRIu64 " %% less %s", percent,
                advice->less_keeps ? "a job does not fit" : "the reservations cannot be kept");
    else if (advice->less_costs == 0)
        fprintf(file, "; %" PRIu64 " %% less costs no more", percent);
    else if (has_rate(traces))
        fprintf(file, "; %" PRIu64 " %% less costs %s a second more", percent,
                ferry_size_text(advice->less_costs * FRAMES_A_SECOND, less));
    else
        fprintf(file, "; %" PRIu64 " %% less costs %s", percent,
                amount_text(advice->less_costs, " more", traces, less));
}

void ferry_advice_print(FILE *file, const struct ferry_lab_advice *advice, const struct ferry_lab_traces *traces,
                        const char *const *names)
{
    char bytes[FERRY_SIZE_TEXT];
    const char *unit = traces->unit;
    if (advice->idle) {
        fputs("No GPU job names an allocation: nothing is paged, in any size.\n", file);
        return;
    }
    fprintf(file, "With %s", ferry_size_text(advice->bytes, bytes));
    if (advice->too_short) {
        fprintf(file,
                ", nothing can be told: everything comes in for the first time in the first %u %ss, and there "
                "%s %" PRIu64 " in all.\n",
                FERRY_LAB_WARM_UP, unit, traces->frames == 1 ? "is" : "are", traces->frames);
        return;
    }
    if (advice->pages)
        print_more(file, advice, traces);
    else
        print_enough(file, advice, traces);
    print_less(file, advice, traces);
    if (traces->count > 1)
        print_programs(file, advice, traces, names);
    if (advice->left_out.saves)
        print_costliest(file, advice, traces, names);
    fputs(".\n", file);
}
