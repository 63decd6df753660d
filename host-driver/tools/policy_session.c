// SPDX-License-Identifier: Apache-2.0
#include "tools/policy_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/ahead.h"
#include "tools/number_list.h"
#include "tools/policy_traces.h"
#include "tools/tool.h"

#define PAGE_BYTES        4096u
#define LEAST_OF_A_FACTOR 0.01
#define MOST_OF_A_FACTOR  100.0
#define RUNS_OF_ADVICE    25u
#define LONG_MINUTES      5

// ---- What is asked for ----------------------------------------------------------------------------------------------

// In bytes too: a number to be given as it stands.
static void sizes_that_do(const struct ferry_lab_traces *traces, char text[160])
{
    char least[FERRY_SIZE_TEXT], most[FERRY_SIZE_TEXT];
    uint64_t job = (traces->largest_job + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    job = job ? job : PAGE_BYTES;
    snprintf(text, 160, "from %s (%" PRIu64 "K, %s) to %s (%" PRIu64 "K, all that lives at once)",
             ferry_size_text(job, least), job / 1024, traces->largest_job ? "the largest job" : "a page",
             ferry_size_text(traces->most_living, most), (traces->most_living + 1023) / 1024);
}

// A factor of nothing, given or the usual one.
static int no_measure(const char *field, char unit, const struct ferry_lab_traces *traces)
{
    char range[160];
    sizes_that_do(traces, range);
    const char *why = traces->jobs == 0 ? "no GPU job names an allocation"
                      : unit == 'F'     ? "no frame names an allocation"
                                        : "half of all frames name no allocation";
    ferry_complain("--vram: %s has no %c to be a factor of, %s; %s makes sense here, in whole pages (K, M, G)", field,
                   unit, why, range);
    return FERRY_EXIT_USAGE;
}

static int bad_size(const char *field, const struct ferry_lab_traces *traces)
{
    char range[160];
    sizes_that_do(traces, range);
    if (traces->most_living == 0) {
        ferry_complain("--vram: '%s' is no size: no allocation is ever made", field);
        return FERRY_EXIT_USAGE;
    }
    ferry_complain("--vram: '%s' is no size: %s makes sense here, in whole pages (K, M, G), or a factor of a median "
                   "frame (0.95W) or of the largest (0.5F)",
                   field, range);
    return FERRY_EXIT_USAGE;
}

static uint64_t of_factor(double factor, char unit, const struct ferry_lab_traces *traces)
{
    uint64_t bytes = (uint64_t)(factor * (double)(unit == 'W' ? traces->median_frame : traces->largest_frame));
    return bytes / PAGE_BYTES * PAGE_BYTES;
}

static int read_size(const char *field, const struct ferry_lab_traces *traces, uint64_t *bytes)
{
    size_t length = strlen(field);
    char unit = length ? field[length - 1] : 0;
    if (unit == 'W' || unit == 'F') {
        char *end;
        double factor = strtod(field, &end);
        // Digits and a point: strtod() takes more than people mean.
        if (end != field + length - 1 || strspn(field, "0123456789.") != length - 1 ||
            !(factor >= LEAST_OF_A_FACTOR && factor <= MOST_OF_A_FACTOR))
            return bad_size(field, traces);
        if ((unit == 'W' ? traces->median_frame : traces->largest_frame) == 0 && traces->most_living != 0)
            return no_measure(field, unit, traces);
        *bytes = of_factor(factor, unit, traces);
    } else if (ferry_parse_size(field, bytes) != 0 || *bytes % PAGE_BYTES != 0) {
        return bad_size(field, traces);
    }
    return *bytes >= PAGE_BYTES && *bytes <= FERRY_TIB ? FERRY_EXIT_OK : bad_size(field, traces);
}

// The next field of a list with commas. False at its end. A field that is too long is cut, and then no name of
// anything.
static bool next_field(const char **list, char *field, size_t room)
{
    if (!*list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(field, room, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

static size_t fields_of(const char *list)
{
    size_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

// Asked for twice is played once.
static bool has_policy(const struct ferry_policy_session *session, const struct ferry_lab_policy *policy)
{
    for (size_t i = 0; i < session->policy_count; i++)
        if (session->policies[i] == policy)
            return true;
    return false;
}

static int read_policies(struct ferry_policy_session *session, const char *list)
{
    char field[32];
    if (!list) {
        session->policies[session->policy_count++] = NULL;
        for (size_t i = 0; ferry_lab_policies[i] && session->policy_count < FERRY_POLICY_MOST; i++)
            session->policies[session->policy_count++] = ferry_lab_policies[i];
        return FERRY_EXIT_OK;
    }
    while (next_field(&list, field, sizeof field)) {
        const struct ferry_lab_policy *policy;
        if (!ferry_lab_find(field, &policy)) {
            char known[200] = FERRY_LAB_OURS;
            for (size_t i = 0; ferry_lab_policies[i]; i++) {
                size_t at = strlen(known);
                snprintf(known + at, sizeof known - at, ", %s", ferry_lab_policies[i]->name);
            }
            ferry_complain("--policy: there is no policy '%s'; there are %s", field, known);
            return FERRY_EXIT_USAGE;
        }
        if (has_policy(session, policy))
            continue;
        if (session->policy_count == FERRY_POLICY_MOST) {
            ferry_complain("--policy: more than %u policies", FERRY_POLICY_MOST);
            return FERRY_EXIT_USAGE;
        }
        session->policies[session->policy_count++] = policy;
    }
    return FERRY_EXIT_OK;
}

static int read_programs(const struct ferry_policy_options *options, struct ferry_lab_bench *bench)
{
    uint64_t weights[FERRY_LAB_MOST_TRACES], reservations[FERRY_LAB_MOST_TRACES] = {0};
    for (unsigned i = 0; i < FERRY_LAB_MOST_TRACES; i++)
        weights[i] = 1;
    int status = ferry_read_weights(options->weights, options->trace_count, weights);
    if (status == FERRY_EXIT_OK)
        status = ferry_read_reservations(options->reservations, options->trace_count, reservations);
    for (unsigned i = 0; i < options->trace_count; i++)
        bench->programs[i] = (struct ferry_lab_program){.weight = (uint32_t)weights[i], .reservation = reservations[i]};
    return status;
}

static bool future_is_asked_for(const struct ferry_policy_session *session)
{
    for (size_t i = 0; i < session->policy_count; i++)
        if (session->policies[i] && session->policies[i]->knows_future)
            return true;
    return false;
}

int ferry_policy_begin(struct ferry_policy_session *session, const struct ferry_policy_options *options)
{
    *session = (struct ferry_policy_session){.bench = {.seed = options->seed, .others = ferry_other_processors()}};
    session->report.options = options;
    session->report.traces = &session->bench.traces;
    int status = read_programs(options, &session->bench);
    if (status == FERRY_EXIT_OK)
        status = read_policies(session, options->policies);
    if (status == FERRY_EXIT_OK)
        status =
            ferry_policy_read(&session->report, session->packed, future_is_asked_for(session), &session->bench.traces);
    return status;
}

void ferry_policy_release(struct ferry_policy_report *report)
{
    for (size_t i = 0; i < report->size_count && report->sizes; i++) {
        for (size_t k = 0; k < report->sizes[i].row_count; k++)
            ferry_lab_outcome_release(&report->sizes[i].rows[k].outcome);
        free(report->sizes[i].rows);
    }
    free(report->sizes);
    report->sizes = NULL;
    report->size_count = 0;
}

void ferry_policy_end(struct ferry_policy_session *session)
{
    ferry_policy_release(&session->report);
    ferry_lab_release(&session->bench.traces);
    for (unsigned i = 0; i < FERRY_LAB_MOST_TRACES; i++)
        ferry_lab_packed_free(&session->packed[i]);
}

// ---- Sizes
// ------------------------------------------------------------------------------------------------------------

static int make_sizes(struct ferry_policy_session *session, size_t count)
{
    struct ferry_policy_report *report = &session->report;
    report->sizes = calloc(count, sizeof *report->sizes);
    if (!report->sizes) {
        ferry_complain("no memory for %zu sizes", count);
        return FERRY_EXIT_LIBRARY;
    }
    report->size_count = count;
    return FERRY_EXIT_OK;
}

// A little less than a frame needs, or what at least makes sense: the largest job may stand behind the last end of a
// frame, in a recording that was cut off.
static const char *usual_size(const struct ferry_lab_traces *traces, char text[24])
{
    if (of_factor(0.95, 'W', traces) >= traces->largest_job)
        return "0.95W";
    if (of_factor(0.95, 'F', traces) >= traces->largest_job)
        return "0.95F";
    if (of_factor(1, 'F', traces) >= traces->largest_job)
        return "1.00F";
    snprintf(text, 24, "%" PRIu64 "K", (traces->largest_job + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES / 1024);
    return text;
}

// A size that is asked for twice, by whatever name, is played once.
static void keep_first_of_each(struct ferry_policy_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->size_count; i++) {
        size_t same = 0;
        while (same < kept && report->sizes[same].bytes != report->sizes[i].bytes)
            same++;
        if (same == kept)
            report->sizes[kept++] = report->sizes[i];
    }
    report->size_count = kept;
}

int ferry_policy_sizes(struct ferry_policy_session *session)
{
    const struct ferry_lab_traces *traces = &session->bench.traces;
    const char *list = session->report.options->sizes;
    char usual[24];
    list = list ? list : usual_size(traces, usual);
    int status = make_sizes(session, fields_of(list));
    for (size_t i = 0; i < session->report.size_count && status == FERRY_EXIT_OK; i++) {
        struct ferry_policy_size *size = &session->report.sizes[i];
        next_field(&list, size->said, sizeof size->said);
        status = read_size(size->said, traces, &size->bytes);
    }
    if (status == FERRY_EXIT_OK)
        keep_first_of_each(&session->report);
    return status;
}

int ferry_policy_sweep_sizes(struct ferry_policy_session *session, uint64_t points)
{
    const struct ferry_lab_traces *traces = &session->bench.traces;
    uint64_t least = traces->median_frame / 4, most = (traces->most_living + PAGE_BYTES - 1) / PAGE_BYTES;
    least = (traces->largest_job > least ? traces->largest_job : least) / PAGE_BYTES;
    if (most == 0 || most > FERRY_TIB / PAGE_BYTES) {
        ferry_complain("there is no curve of this: %s",
                       most ? "more lives at once than 1 TiB" : "no allocation is ever made");
        return FERRY_EXIT_USAGE;
    }
    least = least ? least : 1;
    most = most > least ? most : least;
    if (points > most - least + 1)
        points = most - least + 1;
    int status = make_sizes(session, points);
    for (size_t i = 0; i < session->report.size_count; i++) {
        double share = points > 1 ? (double)i / (double)(points - 1) : 1;
        struct ferry_policy_size *size = &session->report.sizes[i];
        size->bytes = (least + (uint64_t)((double)(most - least) * share + 0.5)) * PAGE_BYTES;
        snprintf(size->said, sizeof size->said, "%" PRIu64 "K", size->bytes / 1024);
    }
    session->report.swept = true;
    return status;
}

const char *ferry_policy_size_said(const struct ferry_policy_size *size, char text[64])
{
    char bytes[FERRY_SIZE_TEXT];
    ferry_size_text(size->bytes, bytes);
    if (strpbrk(size->said, "WF"))
        snprintf(text, 64, "%s (%s)", bytes, size->said);
    else
        snprintf(text, 64, "%s", bytes);
    return text;
}

// ---- Playing
// ----------------------------------------------------------------------------------------------------------

struct shown {
    bool terminal;
    const char *name, *size;
    double before, part;                   // of all that is to be played
    char what[96], bytes[FERRY_SIZE_TEXT]; // of a search, whose runs nobody can count beforehand
};

static void show(void *context, double done)
{
    const struct shown *shown = context;
    if (!shown->terminal)
        return;
    fprintf(stderr, "\r%-10s %8s  %3.0f %% \033[K", shown->name, shown->size,
            100 * (shown->before + done * shown->part));
    fflush(stderr);
}

// What is done is the run's own then.
static void show_run(void *context, const char *what, uint64_t run, uint64_t bytes)
{
    struct shown *shown = context;
    snprintf(shown->what, sizeof shown->what, "for the advice, run %" PRIu64 ": %s,", run, what);
    shown->name = shown->what;
    shown->size = ferry_size_text(bytes, shown->bytes);
    show(context, 0);
}

static void begin_to_show(struct ferry_policy_session *session, struct shown *shown, const char *size)
{
    *shown = (struct shown){.terminal = !session->report.options->quiet && isatty(2) == 1, .size = size, .part = 1};
    const struct ferry_policy_options *options = session->report.options;
    session->bench.manner =
        (struct ferry_lab_manner){.progress = show,
                                  .context = shown,
                                  .no_frames = session->report.swept || !(options->svg_file || options->page)};
}

static void show_nothing(struct ferry_policy_session *session)
{
    const struct shown *shown = session->bench.manner.context;
    if (shown->terminal)
        fputs("\r\033[K", stderr);
    session->bench.manner.progress = NULL;
    session->bench.manner.begins = NULL;
}

static int complain_of_choice(const struct ferry_policy_session *session, const struct ferry_lab_outcome *outcome)
{
    const char *const *files = session->report.options->trace_files;
    if (outcome->chosen_line == 0) {
        ferry_complain("%s, line %" PRIu32 ": %s", files[outcome->program], outcome->line, outcome->problem);
        return FERRY_EXIT_WRONG;
    }
    ferry_complain("%s, line %" PRIu32 ": %s: allocation %" PRIu64 " of %s, made in line %" PRIu32,
                   files[outcome->program], outcome->line, outcome->problem, outcome->chosen_id,
                   files[outcome->chosen_program], outcome->chosen_line);
    return FERRY_EXIT_WRONG;
}

int ferry_policy_complain(const struct ferry_policy_session *session, const struct ferry_policy_size *size,
                          const struct ferry_lab_outcome *outcome)
{
    char text[64], need[FERRY_SIZE_TEXT], range[160];
    const char *trace = session->report.options->trace_files[outcome->program];
    switch ((enum ferry_lab_result)outcome->result) {
    case FERRY_LAB_OK: return FERRY_EXIT_OK;
    case FERRY_LAB_TOO_SMALL:
        if (outcome->line == 0) {
            ferry_complain("--reservations: %s of video memory cannot keep all of %s",
                           ferry_policy_size_said(size, text), session->report.options->reservations);
            return FERRY_EXIT_TOO_SMALL;
        }
        sizes_that_do(&session->bench.traces, range);
        ferry_complain("%s: the job in line %" PRIu32 " needs %s (%" PRIu64
                       " bytes), video memory is %s: %s makes sense here",
                       trace, outcome->line, ferry_size_text(outcome->job_bytes, need), outcome->job_bytes,
                       ferry_policy_size_said(size, text), range);
        return FERRY_EXIT_TOO_SMALL;
    case FERRY_LAB_NO_MEMORY:
        ferry_complain("no memory to play %s: what lives at once, %s, takes as many of this process's addresses", trace,
                       ferry_size_text(session->bench.traces.most_living, need));
        return FERRY_EXIT_LIBRARY;
    case FERRY_LAB_BAD_CHOICE:
    case FERRY_LAB_CUT_OFF:
    case FERRY_LAB_PAGES:
    case FERRY_LAB_FAILED: break;
    }
    if (outcome->result == FERRY_LAB_BAD_CHOICE)
        return complain_of_choice(session, outcome);
    ferry_complain("%s, line %" PRIu32 ": %s", trace, outcome->line, outcome->problem);
    return FERRY_EXIT_LIBRARY;
}

// Everything that is played, in its order: all policies of a size, then the next size.
static struct ferry_lab_wish run_at(const struct ferry_policy_session *session, size_t at)
{
    return (struct ferry_lab_wish){.policy = session->policies[at % session->policy_count],
                                   .bytes = session->report.sizes[at / session->policy_count].bytes,
                                   .without = FERRY_LAB_ALL_USED};
}

static void play_run(struct ferry_policy_session *session, struct ferry_lab_ahead *ahead, size_t at,
                     struct ferry_lab_outcome *outcome)
{
    struct ferry_lab_wish wishes[FERRY_LAB_MOST_WISHES];
    size_t count = 0, all = session->report.size_count * session->policy_count;
    for (; count < ferry_lab_ahead_most(ahead) && at + count < all; count++)
        wishes[count] = run_at(session, at + count);
    ferry_lab_ahead_wish(ahead, wishes, count);
    const struct ferry_lab_wish wish = run_at(session, at);
    session->bench.manner.progress(session->bench.manner.context, 0);
    if (!ferry_lab_ahead_take(ahead, &wish, outcome))
        ferry_lab_play_wish(&session->bench, &wish, outcome);
}

static int play_size(struct ferry_policy_session *session, struct ferry_lab_ahead *ahead,
                     struct ferry_policy_size *size)
{
    const struct ferry_policy_report *report = &session->report;
    struct shown shown;
    char bytes[FERRY_SIZE_TEXT];
    size->rows = calloc(session->policy_count, sizeof *size->rows);
    if (!size->rows) {
        ferry_complain("no memory for the figures");
        return FERRY_EXIT_LIBRARY;
    }
    begin_to_show(session, &shown, ferry_size_text(size->bytes, bytes));
    for (size_t i = 0; i < session->policy_count; i++) {
        const struct ferry_lab_policy *policy = session->policies[i];
        struct ferry_policy_row *row = &size->rows[size->row_count++];
        size_t at = (size_t)(size - report->sizes) * session->policy_count + i;
        row->name = policy ? policy->name : FERRY_LAB_OURS;
        row->says = policy ? policy->says : "the shipped manager";
        shown.name = row->name;
        if (report->swept) {
            shown.part = 1 / (double)(report->size_count * session->policy_count);
            shown.before = shown.part * (double)at;
        }
        play_run(session, ahead, at, &row->outcome);
        if (row->outcome.result == FERRY_LAB_OK || (report->swept && row->outcome.result == FERRY_LAB_TOO_SMALL))
            continue;
        show_nothing(session);
        return ferry_policy_complain(session, size, &row->outcome);
    }
    show_nothing(session);
    return FERRY_EXIT_OK;
}

int ferry_policy_play(struct ferry_policy_session *session,
                      void (*played)(const struct ferry_policy_report *report, const struct ferry_policy_size *size))
{
    struct ferry_policy_report *report = &session->report;
    struct shown shown;
    int status = FERRY_EXIT_OK;
    // What others play tells nobody how far it is, and its bench does not change.
    begin_to_show(session, &shown, "");
    struct ferry_lab_bench beside = session->bench;
    beside.manner.progress = NULL;
    beside.manner.context = NULL;
    struct ferry_lab_ahead *ahead = ferry_lab_ahead_begin(&beside);
    for (size_t i = 0; i < report->size_count && status == FERRY_EXIT_OK; i++) {
        status = play_size(session, ahead, &report->sizes[i]);
        if (status == FERRY_EXIT_OK && played)
            played(report, &report->sizes[i]);
    }
    ferry_lab_ahead_end(ahead);
    return status;
}

// About what --help says. Told where somebody would wonder.
static void say_how_long(const struct ferry_policy_session *session, const struct ferry_policy_row *ours)
{
    double minutes = ours->outcome.seconds * RUNS_OF_ADVICE / 60 / (session->bench.others + 1);
    if (minutes >= LONG_MINUTES && !session->report.options->quiet && isatty(2) == 1)
        ferry_complain("what a person can do about it takes about %u runs more of %.0f s, %.0f minutes in all; "
                       "--no-advice does without",
                       RUNS_OF_ADVICE, ours->outcome.seconds, minutes);
}

int ferry_policy_advise(struct ferry_policy_session *session, struct ferry_policy_size *size)
{
    struct shown shown;
    const struct ferry_policy_row *ours = NULL;
    for (size_t i = 0; i < size->row_count; i++)
        if (!session->policies[i] && size->rows[i].outcome.result == FERRY_LAB_OK)
            ours = &size->rows[i];
    if (!ours)
        return FERRY_EXIT_OK;
    say_how_long(session, ours);
    begin_to_show(session, &shown, "");
    session->bench.manner.begins = show_run;
    size->advised = ferry_lab_advise(&session->bench, size->bytes, &ours->outcome, &size->advice);
    show_nothing(session);
    if (size->advised)
        return FERRY_EXIT_OK;
    ferry_complain("other sizes cannot be played: %s", size->advice.problem);
    return FERRY_EXIT_LIBRARY;
}
