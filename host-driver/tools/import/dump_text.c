// SPDX-License-Identifier: Apache-2.0
#include "tools/import/dump_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

#define BLOCK_BYTES  (256u << 10)
#define LONGEST_CALL (64u << 20)

static int refuse(struct ferry_dump *dump, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int refuse(struct ferry_dump *dump, uint64_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(dump->problem, sizeof dump->problem, format, arguments);
    va_end(arguments);
    ferry_dump_one_line(dump->problem);
    dump->problem_line = line;
    return -1;
}

void ferry_dump_one_line(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
    }
}

// ---- Lines that belong together -------------------------------------------------------------------------------------

static int refill(struct ferry_dump *dump)
{
    if (dump->from > 0)
        memmove(dump->text, dump->text + dump->from, dump->end - dump->from);
    dump->end -= dump->from;
    dump->seen -= dump->from;
    dump->from = 0;
    if (dump->end > LONGEST_CALL)
        return refuse(dump, dump->line + 1, "a call of more than %u MiB, or a string that never ends",
                      LONGEST_CALL >> 20);
    if (ferry_reserve(&dump->text, &dump->capacity, dump->end + BLOCK_BYTES + 1, 1) != 0)
        return refuse(dump, dump->line + 1, "no memory for this call");
    int got = gzread(dump->file, dump->text + dump->end, BLOCK_BYTES);
    int code = Z_OK;
    const char *text = gzerror(dump->file, &code);
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
        if (code == Z_ERRNO)
            return refuse(dump, 0, "cannot be read: %s", strerror(errno));
        return code == Z_BUF_ERROR ? refuse(dump, 0, "the gzip file is cut off")
                                   : refuse(dump, 0, "the gzip file is damaged: %.100s", text);
    }
    dump->over = got == 0;
    dump->end += (size_t)got;
    dump->bytes += (uint64_t)got;
    return 0;
}

// The next line, with those that a string of it holds: at dump->from, *length bytes and a zero. 0 at the end.
static int next_lines(struct ferry_dump *dump, char **lines, size_t *length)
{
    bool quoted = false;
    uint64_t first = dump->line + 1;
    dump->seen = dump->from;
    for (;;) {
        size_t at = dump->seen;
        for (; at < dump->end; at++) {
            char byte = dump->text[at];
            if (byte == '"') {
                quoted = !quoted;
            } else if (byte == '\\' && quoted) {
                if (at + 1 == dump->end && !dump->over)
                    break; // what it hides is not read yet
                dump->line += at + 1 < dump->end && dump->text[at + 1] == '\n';
                at++;
            } else if (byte == '\n') {
                dump->line++;
                if (!quoted)
                    break;
            }
        }
        dump->seen = at < dump->end ? at : dump->end;
        if (at < dump->end && dump->text[at] == '\n')
            break;
        if (dump->over) {
            if (quoted)
                return refuse(dump, first, "a string that never ends: the text is cut off");
            if (dump->from == dump->end)
                return 0;
            dump->cut = true;
            break;
        }
        if (refill(dump) != 0)
            return -1;
    }
    *lines = dump->text + dump->from;
    *length = dump->seen - dump->from;
    dump->from = dump->seen < dump->end ? dump->seen + 1 : dump->end;
    (*lines)[*length] = 0;
    return 1;
}

// ---- One call -------------------------------------------------------------------------------------------------------

static bool is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_' || byte == ':' || byte == '~';
}

// Behind a string that begins at `at`.
static char *behind_string(char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
    }
    return *at ? at + 1 : at;
}

// The ')' of the '(' before `at`, or NULL.
static char *closing(char *at)
{
    int depth = 1;
    while (*at) {
        if (*at == '"') {
            at = behind_string(at);
            continue;
        }
        depth += *at == '(';
        if (*at == ')' && --depth == 0)
            return at;
        at++;
    }
    return NULL;
}

// Behind the call's number and thread, where they are.
static char *skip_head(char *at, uint64_t *number, uint64_t *thread)
{
    if (*at >= '0' && *at <= '9') {
        *number = strtoull(at, &at, 10);
        at += strspn(at, " ");
    }
    if (*at == '@') {
        *thread = strtoull(at + 1, &at, 16);
        at += strspn(at, " ");
    }
    return at;
}

// A frame is "FILE: FUNCTION+0x1: SOURCE:2" or "FILE at FUNCTION() [0x1]", of which none begins as a call does.
static bool is_frame(const struct ferry_dump *dump, char *at)
{
    uint64_t number, thread;
    if (!dump->in_backtrace)
        return false;
    at = skip_head(at, &number, &thread);
    const char *name = at;
    while (is_name(*at))
        at++;
    return *at != '(' || at == name;
}

static int read_call(struct ferry_dump *dump, struct ferry_dump_call *call, char *at)
{
    if (strchr(at, 27))
        return refuse(dump, call->line, "coloured text: dump it with --color=never");
    call->name = at = skip_head(at, &call->number, &call->thread);
    while (is_name(*at))
        at++;
    char *end = *at == '(' && at > call->name ? closing(at + 1) : NULL;
    if (!end && dump->cut)
        return refuse(dump, call->line, "the text is cut off in this call: '%.40s'", call->name);
    if (!end)
        return refuse(dump, call->line,
                      *at == '(' && at > call->name ? "the call has no end: '%.40s'"
                                                    : "no call of `apitrace dump`: '%.40s'",
                      call->name);
    *at = 0;
    *end = 0;
    call->inside = at + 1;
    call->result = end + 1;
    size_t length = strlen(call->result);
    call->incomplete =
        length > 10 && strcmp(call->result + length - 10, "incomplete") == 0 && strstr(call->result, " // ");
    if (strncmp(call->result, " = ", 3) == 0) {
        call->result += 3;
        char *note = strstr(call->result, " // ");
        if (note)
            *note = 0;
    } else {
        call->result = end; // nothing
    }
    return 1;
}

int ferry_dump_next(struct ferry_dump *dump, struct ferry_dump_call *call)
{
    char *lines = NULL;
    size_t length = 0;
    for (;;) {
        uint64_t line = dump->line + 1;
        int got = next_lines(dump, &lines, &length);
        if (got <= 0)
            return got;
        if (memchr(lines, 0, length))
            return refuse(dump, line, "a zero byte: this is no text (a .trace file has to go through `apitrace dump`)");
        if (length > 0 && lines[length - 1] == '\r')
            lines[length - 1] = 0;
        // Empty after a frame; // for properties; a tab before a line of a backtrace.
        if (lines[0] == 0 || lines[0] == '\t' || strncmp(lines, "//", 2) == 0 || is_frame(dump, lines))
            continue;
        dump->in_backtrace = strcmp(lines, "Backtrace:") == 0;
        if (dump->in_backtrace)
            continue;
        *call = (struct ferry_dump_call){.line = line, .number = UINT64_MAX};
        return read_call(dump, call, lines);
    }
}

int ferry_dump_split(struct ferry_dump *dump, struct ferry_dump_call *call)
{
    char *at = call->inside;
    call->argument_count = 0;
    while (*at) {
        char *name = at;
        while (is_name(*at))
            at++;
        if (at == name || strncmp(at, " = ", 3) != 0)
            return refuse(dump, call->line, "%.40s: an argument without a name: dump it with --arg-names=yes",
                          call->name);
        if (call->argument_count == FERRY_DUMP_MOST_ARGUMENTS)
            return refuse(dump, call->line, "%.40s: more than %u arguments", call->name, FERRY_DUMP_MOST_ARGUMENTS);
        *at = 0;
        at += 3;
        call->arguments[call->argument_count++] = (struct ferry_dump_argument){name, at};
        int depth = 0;
        while (*at && (depth > 0 || *at != ',')) {
            if (*at == '"') {
                at = behind_string(at);
                continue;
            }
            depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
            at++;
        }
        if (*at == ',') {
            *at++ = 0;
            at += strspn(at, " ");
        }
    }
    return 0;
}

void ferry_dump_release(struct ferry_dump *dump)
{
    free(dump->text);
    dump->text = NULL;
}

// ---- Values ---------------------------------------------------------------------------------------------------------

const char *ferry_dump_value(const struct ferry_dump_call *call, const char *name)
{
    for (size_t i = 0; i < call->argument_count; i++) {
        if (strcmp(call->arguments[i].name, name) == 0)
            return call->arguments[i].value;
    }
    return NULL;
}

static bool number_at(const char *text, int64_t *number, char **end)
{
    bool negative = *text == '-';
    const char *digits = text + negative;
    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    unsigned long long value = strtoull(digits, end, strncmp(digits, "0x", 2) == 0 ? 16 : 10);
    if (errno || (negative && value > INT64_MAX))
        return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool ferry_dump_number(const char *value, int64_t *number)
{
    char *end;
    return value && number_at(value + (*value == '&'), number, &end) && *end == 0;
}

bool ferry_dump_next_number(const char **at, int64_t *number)
{
    char *end;
    const char *text = *at + strspn(*at, "&{, ");
    if (!number_at(text, number, &end))
        return false;
    *at = end;
    return true;
}
