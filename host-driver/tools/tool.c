// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE // sched_getaffinity()
#include "tools/tool.h"

#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void (*ferry_before_complaint)(void);

// The next character as it may be shown, and its length; moves *text behind it. NULL at the end.
static const char *next_shown(const char **text, size_t *length)
{
    const char *at = *text;
    unsigned char first = (unsigned char)at[0];
    if (!first)
        return NULL;
    int bytes = ferry_utf8_length(at);
    bool control = first < 0x20 || first == 0x7f || (first == 0xc2 && bytes == 2 && (unsigned char)at[1] < 0xa0);
    *text += bytes ? bytes : 1;
    *length = control || !bytes ? 1 : (size_t)bytes;
    return control || !bytes ? "?" : at;
}

void ferry_put_text(FILE *file, const char *text)
{
    size_t length;
    const char *shown;
    while ((shown = next_shown(&text, &length)) != NULL)
        fwrite(shown, 1, length, file);
}

void ferry_clean_text(char *text)
{
    size_t length;
    const char *at = text, *shown;
    for (char *to = text;; to += length) {
        if ((shown = next_shown(&at, &length)) == NULL) {
            *to = 0;
            return;
        }
        memmove(to, shown, length);
    }
}

static void print_line(FILE *file, const char *format, va_list arguments)
{
    char some[1024];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(some, sizeof some, format, arguments);
    // Without memory for a long one, its beginning.
    char *all = length >= (int)sizeof some ? malloc((size_t)length + 1) : NULL;
    if (all)
        vsnprintf(all, (size_t)length + 1, format, again);
    va_end(again);
    ferry_put_text(file, all ? all : length < 0 ? format : some);
    free(all);
    fputc('\n', file);
}

void ferry_print_line(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(file, format, arguments);
    va_end(arguments);
}

void ferry_complain(const char *format, ...)
{
    va_list arguments;
    if (ferry_before_complaint) {
        void (*hook)(void) = ferry_before_complaint;
        ferry_before_complaint = NULL;
        hook();
    }
    fflush(stdout);
    fputs("ferry: ", stderr);
    va_start(arguments, format);
    print_line(stderr, format, arguments);
    va_end(arguments);
}

const char *ferry_size_text(uint64_t bytes, char text[FERRY_SIZE_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < FERRY_KIB) {
        snprintf(text, FERRY_SIZE_TEXT, "%u B", (unsigned)bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, FERRY_SIZE_TEXT, "%.1f %s", value, units[unit]);
    return text;
}

const char *ferry_count_text(uint64_t count, char text[28])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    int out = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = 0;
    return text;
}

static int parse(const char *text, uint64_t *number, const char **end)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return -1;
        value = value * 10 + digit;
    }
    if (at == text)
        return -1;
    *number = value;
    *end = at;
    return 0;
}

int ferry_parse_number(const char *text, uint64_t *number)
{
    const char *end;
    return parse(text, number, &end) == 0 && *end == 0 ? 0 : -1;
}

int ferry_parse_size(const char *text, uint64_t *bytes)
{
    const char *end;
    uint64_t value;
    unsigned shift = 0;
    if (parse(text, &value, &end) != 0)
        return -1;
    switch (*end) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
    default: break;
    }
    if (shift != 0) {
        end++;
        if (strcmp(end, "iB") == 0)
            end += 2;
    }
    if (*end != 0 || value > UINT64_MAX >> shift)
        return -1;
    *bytes = value << shift;
    return 0;
}

double ferry_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

unsigned ferry_other_processors(void)
{
    cpu_set_t mine;
    // More processors than the set has room for: those that there are, whether this process may have them or not.
    long count = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 1 ? (unsigned)count - 1 : 0;
}

int ferry_reserve(void *array, size_t *capacity, size_t need, size_t item_bytes)
{
    if (need <= *capacity)
        return 0;
    size_t grown = *capacity ? *capacity : 16;
    while (grown < need) {
        if (grown > SIZE_MAX / 2 / item_bytes)
            return -1;
        grown *= 2;
    }
    void *old, *moved;
    memcpy(&old, array, sizeof old);
    moved = realloc(old, grown * item_bytes);
    if (!moved)
        return -1;
    memcpy(array, &moved, sizeof moved);
    *capacity = grown;
    return 0;
}

int ferry_utf8_length(const char *at)
{
    const unsigned char *text = (const unsigned char *)at;
    int length = text[0] < 0x80             ? 1
                 : (text[0] & 0xe0) == 0xc0 ? 2
                 : (text[0] & 0xf0) == 0xe0 ? 3
                 : (text[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    if (length == 2 && text[0] < 0xc2)
        return 0;
    if (length == 3 && ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0)))
        return 0;
    if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) || text[0] > 0xf4 || (text[0] == 0xf4 && text[1] >= 0x90)))
        return 0;
    return length;
}
