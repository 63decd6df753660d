// SPDX-License-Identifier: Apache-2.0
// The text of `apitrace dump`, one call at a time, from a stream of any length:
//
//     2461 glTexImage2D(target = GL_TEXTURE_2D, level = 0, ..., pixels = blob(786432))
//     8387 @1 glMapBuffer(target = GL_ARRAY_BUFFER, access = GL_WRITE_ONLY) = 0x55bd0d23a5c0
//
// A string may hold line ends; then one call is several lines. Threads are numbered in hexadecimal. A program that was
// recorded with backtraces has them between its calls, behind a line "Backtrace:", one line a frame.
#ifndef FERRY_TOOLS_IMPORT_DUMP_TEXT_H
#define FERRY_TOOLS_IMPORT_DUMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#define FERRY_DUMP_MOST_ARGUMENTS 32

struct ferry_dump_argument {
    const char *name, *value;
};

struct ferry_dump_call {
    uint64_t line, thread;
    uint64_t number; // UINT64_MAX when the text has none
    char *name;
    char *inside;    // between the brackets; ferry_dump_split() takes it apart
    char *result;    // "" when there is none
    bool incomplete; // the program ended in it
    struct ferry_dump_argument arguments[FERRY_DUMP_MOST_ARGUMENTS];
    size_t argument_count;
};

struct ferry_dump {
    gzFile file;
    char *text;
    size_t capacity, from, end, seen; // what is not given out yet; up to where it was looked through
    uint64_t line, bytes;             // of the line that is read, and of all text so far
    bool over, in_backtrace;
    bool cut; // the line that is read has no end
    char problem[160];
    uint64_t problem_line; // 0 when it is about the file
};

/// 1 and a call that stands until the next one is read, 0 at the end, -1 with `problem`.
int ferry_dump_next(struct ferry_dump *dump, struct ferry_dump_call *call);
/// Take the arguments apart. -1 with `problem` where one has no name.
int ferry_dump_split(struct ferry_dump *dump, struct ferry_dump_call *call);
/// What is quoted in an error may hold anything.
void ferry_dump_one_line(char *text);
void ferry_dump_release(struct ferry_dump *dump);

/// NULL when there is no such argument.
const char *ferry_dump_value(const struct ferry_dump_call *call, const char *name);
/// A whole number, decimal or 0x..., also behind '&'. False when it is none.
bool ferry_dump_number(const char *value, int64_t *number);
/// The numbers of "&1", "{1, 2}" or "&{1, 2}", one a call; *at starts as the value. False when there is none left.
bool ferry_dump_next_number(const char **at, int64_t *number);

#endif
