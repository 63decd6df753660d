// SPDX-License-Identifier: Apache-2.0
// The picture repaints itself in place (cursor up, no alternate screen), so that the last state stays visible above the
// final table. A signal that ends the tool gives the cursor back first.
#define _DEFAULT_SOURCE // TIOCGWINSZ
#include "tools/picture.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/output.h"
#include "tools/tool.h"

#define REPAINT_SECONDS 0.1
#define PLAIN_SECONDS   5.0
#define LEAST_COLUMNS   64
#define LEAST_ROWS      14
#define MOST_CELLS      (160 * 2 * 16)
#define LINES_AROUND    8 // Lines of the picture besides the rows of blocks.

static struct {
    enum { OFF, PLAIN, PAINTED } mode;
    bool utf8, true_colour, painted;
    int lines, columns, rows; // Painted lines to go up over; size of the terminal at that time.
    double begin, last;
    char text[1 << 18];
    size_t used;
} picture;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof picture.text - picture.used;
    va_start(arguments, format);
    int length = vsnprintf(picture.text + picture.used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        picture.used += (size_t)length < room ? (size_t)length : room - 1;
}

static void flush_text(void)
{
    size_t at = 0;
    while (at < picture.used) {
        ssize_t wrote = write(STDOUT_FILENO, picture.text + at, picture.used - at);
        if (wrote <= 0)
            break;
        at += (size_t)wrote;
    }
    picture.used = 0;
}

static void end_by_signal(int number)
{
    static const char restore[] = "\x1b[0m\x1b[?25h\n";
    ssize_t ignored = write(STDOUT_FILENO, restore, sizeof restore - 1);
    (void)ignored;
    ferry_outputs_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before[sizeof watched / sizeof *watched];

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = end_by_signal};
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaction(watched[i], &action, &before[i]);
}

// Files may still be open that somebody else's action takes away.
static void leave_signals(void)
{
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaction(watched[i], &before[i], NULL);
}

static bool measure_terminal(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < LEAST_COLUMNS || size.ws_row < LEAST_ROWS)
        return false;
    if (picture.painted && (size.ws_col != picture.columns || size.ws_row != picture.rows)) {
        // Lines may have been folded: begin anew below a clean screen.
        say("\x1b[2J\x1b[H");
        picture.painted = false;
    }
    picture.columns = size.ws_col;
    picture.rows = size.ws_row;
    return true;
}

void ferry_picture_begin(bool quiet)
{
    const char *term = getenv("TERM");
    const char *colour = getenv("COLORTERM");
    memset(&picture, 0, offsetof(__typeof__(picture), text));
    picture.begin = ferry_seconds();
    picture.mode = quiet ? OFF : PLAIN;
    setlocale(LC_CTYPE, "");
    picture.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    picture.true_colour = colour && (strstr(colour, "truecolor") || strstr(colour, "24bit"));
    const char *no_colour = getenv("NO_COLOR");
    if (picture.mode == OFF || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0 ||
        (no_colour && *no_colour) || !measure_terminal())
        return;
    picture.mode = PAINTED;
    watch_signals();
    ferry_before_complaint = ferry_picture_end;
    say("\x1b[?25l");
}

void ferry_picture_end(void)
{
    if (picture.mode == PAINTED) {
        say("\x1b[0m\x1b[?25h");
        flush_text();
        leave_signals();
    }
    picture.mode = OFF;
    ferry_before_complaint = NULL;
}

// ---- The blocks ---------------------------------------------------------------------------------------------------

struct cell {
    struct ferry_colour colour;
    bool taken;
};

static const struct ferry_colour free_colour = {44, 48, 56};

static struct ferry_colour dim(struct ferry_colour colour)
{
    return (struct ferry_colour){(uint8_t)(colour.red * 48 / 100), (uint8_t)(colour.green * 48 / 100),
                                 (uint8_t)(colour.blue * 48 / 100)};
}

// Each block takes the colour of the allocation over its middle; one smaller than a block takes a block that is free.
static void colour_cells(const struct ferry_vram_map *map, struct cell *cells, size_t count)
{
    double bytes = (double)map->video_bytes / (double)count;
    for (size_t i = 0; i < count; i++)
        cells[i] = (struct cell){free_colour, false};
    for (int small = 0; small < 2; small++) {
        for (size_t i = 0; i < map->living_count; i++) {
            const struct ferry_stay *stay = &map->living[i];
            struct ferry_colour colour = ferry_object_colour(map, stay->object);
            if (stay->begin < (float)(uint64_t)map->now)
                colour = dim(colour);
            double first = (double)stay->offset / bytes, last = (double)(stay->offset + stay->bytes) / bytes;
            if (small) {
                size_t at = (size_t)first;
                if (at < count && !cells[at].taken)
                    cells[at] = (struct cell){colour, true};
                continue;
            }
            for (size_t at = (size_t)(first + 0.5); at < count && (double)at + 0.5 < last; at++)
                cells[at] = (struct cell){colour, true};
        }
    }
}

static bool same(struct ferry_colour a, struct ferry_colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

// The levels of the 256-colour cube are 0, 95, 135, 175, 215, 255.
static unsigned cube_level(unsigned part)
{
    return part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40;
}

static void say_colour(struct ferry_colour colour, bool back)
{
    if (picture.true_colour) {
        say("\x1b[%d;2;%u;%u;%um", back ? 48 : 38, colour.red, colour.green, colour.blue);
        return;
    }
    unsigned number = 16 + 36 * cube_level(colour.red) + 6 * cube_level(colour.green) + cube_level(colour.blue);
    if (same(colour, free_colour))
        number = 236; // A dark grey of the ramp; the cube has none.
    say("\x1b[%d;5;%um", back ? 48 : 38, number);
}

// A character shows two blocks, one above the other, where the terminal has the half block; else one.
static void paint_row(const struct cell *upper, const struct cell *lower, int columns)
{
    struct ferry_colour front = {0, 0, 0}, back = {0, 0, 0};
    say("\x1b[0m  ");
    for (int i = 0; i < columns; i++) {
        if (i == 0 || !same(back, lower[i].colour))
            say_colour(back = lower[i].colour, true);
        if (picture.utf8 && (i == 0 || !same(front, upper[i].colour)))
            say_colour(front = upper[i].colour, false);
        say("%s", picture.utf8 ? "\u2580" : " ");
    }
    say("\x1b[0m\x1b[K\n");
}

static void paint_bar(double share, int columns, struct ferry_colour colour)
{
    int full = (int)(share * columns + 0.5);
    if (full > columns)
        full = columns;
    say_colour(colour, true);
    say("%*s", full, "");
    say_colour(free_colour, true);
    say("%*s\x1b[0m", columns - full, "");
}

static const char *time_text(double seconds, char text[16])
{
    if (seconds < 600)
        snprintf(text, 16, "%.0f s", seconds);
    else if (seconds < 36000)
        snprintf(text, 16, "%.0f min", seconds / 60);
    else
        snprintf(text, 16, "%.0f h", seconds / 3600);
    return text;
}

static void paint(const struct ferry_picture_figures *figures, double now)
{
    static struct cell cells[MOST_CELLS];
    const struct ferry_vram_map *map = figures->map;
    const struct ferry_frame_figures *frame = map->last.draws ? &map->last : &map->frame;
    char a[FERRY_SIZE_TEXT], b[FERRY_SIZE_TEXT], left[16], count[28];
    int columns = picture.columns - 4 < 160 ? picture.columns - 4 : 160;
    int rows = picture.rows - LINES_AROUND - 2 < 12 ? picture.rows - LINES_AROUND - 2 : 12;
    int deep = picture.utf8 ? 2 : 1;
    size_t cell_count = (size_t)columns * (size_t)rows * (size_t)deep;
    colour_cells(map, cells, cell_count);
    if (picture.painted)
        say("\x1b[%dA\r", picture.lines);
    picture.lines = rows + LINES_AROUND;
    picture.painted = true;
    char title[256];
    snprintf(title, sizeof title, "%.*s", columns - 14, figures->title);
    ferry_clean_text(title);
    say("\x1b[0m\x1b[K\n  \x1b[1mVideo memory\x1b[0m  %s\x1b[K\n", title);
    for (int row = 0; row < rows; row++)
        paint_row(cells + (size_t)(row * deep) * (size_t)columns,
                  cells + (size_t)(row * deep + deep - 1) * (size_t)columns, columns);
    say("  \x1b[2m%s\x1b[0mbright\x1b[2m: came in this frame, dim: was there, grey: free\x1b[0m\x1b[K\n\x1b[K\n",
        columns <= 80            ? ""
        : map->program_count > 1 ? "one hue a program; "
        : columns > 106          ? "one colour an allocation, offset 0 at the top left; "
                                 : "one colour an allocation; ");
    int bar = columns - 46 < 60 ? columns - 46 : 60;
    say("  used      ");
    paint_bar(map->video_bytes ? (double)map->resident_bytes / (double)map->video_bytes : 0, bar,
              (struct ferry_colour){86, 156, 214});
    say("  %s of %s, %zu allocations\x1b[K\n", ferry_size_text(map->resident_bytes, a),
        ferry_size_text(map->video_bytes, b), map->living_count);
    double elapsed = now - picture.begin;
    say("  progress  ");
    paint_bar(figures->done, bar, (struct ferry_colour){106, 170, 100});
    say("  %.0f %%, %.1f frames/s, %s left\x1b[K\n", figures->done * 100,
        elapsed > 0 ? (double)figures->frame / elapsed : 0,
        figures->done > 0.001 ? time_text(elapsed / figures->done * (1 - figures->done), left) : "?");
    say("  frame %" PRIu64 " of %" PRIu64 ": %u draws; %u in (%s), %u out, %u moved\x1b[K\n", figures->frame,
        figures->frames, frame->draws, frame->placed, ferry_size_text(frame->placed_bytes, a), frame->removed,
        frame->moved);
    say("  verified %s, %s wrong bytes; %s evictions so far\x1b[K\n", ferry_size_text(figures->verified_bytes, a),
        figures->bad_bytes ? "SOME" : "no", ferry_count_text(figures->evictions, count));
    flush_text();
}

static void show_plain(const struct ferry_picture_figures *figures, double now)
{
    char a[FERRY_SIZE_TEXT], b[FERRY_SIZE_TEXT], left[16];
    double elapsed = now - picture.begin;
    printf("frame %" PRIu64 " of %" PRIu64 ": %.0f %%, %.1f frames/s, %s left; %s resident, %" PRIu64
           " evictions, %s verified\n",
           figures->frame, figures->frames, figures->done * 100, elapsed > 0 ? (double)figures->frame / elapsed : 0,
           figures->done > 0.001 ? time_text(elapsed / figures->done * (1 - figures->done), left) : "?",
           ferry_size_text(figures->map->resident_bytes, a), figures->evictions,
           ferry_size_text(figures->verified_bytes, b));
    fflush(stdout);
}

void ferry_picture_show(const struct ferry_picture_figures *figures, bool now)
{
    if (picture.mode == OFF)
        return;
    double time = ferry_seconds();
    if (picture.mode == PAINTED) {
        if (!now && time - picture.last < REPAINT_SECONDS)
            return;
        if (!measure_terminal())
            return;
        picture.last = time;
        paint(figures, time);
        return;
    }
    if (!now && time - (picture.last > 0 ? picture.last : picture.begin) < PLAIN_SECONDS)
        return;
    picture.last = time;
    show_plain(figures, time);
}
