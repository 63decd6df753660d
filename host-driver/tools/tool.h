// SPDX-License-Identifier: Apache-2.0
// What every part of the tool `ferry` shares: exit codes, the one way to print an error, and sizes for people.
#ifndef FERRY_TOOLS_TOOL_H
#define FERRY_TOOLS_TOOL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ferry_exit {
    FERRY_EXIT_OK = 0,
    FERRY_EXIT_WRONG = 1,     // Wrong content, or a fault.
    FERRY_EXIT_USAGE = 2,     // A bad command line or a bad trace; nothing was done.
    FERRY_EXIT_TOO_SMALL = 3, // Video memory cannot hold what one draw needs.
    FERRY_EXIT_LIBRARY = 4,   // The library or the system refused something that should work.
};

#define FERRY_KIB 1024ull
#define FERRY_MIB (1024ull * 1024)
#define FERRY_TIB (FERRY_MIB * FERRY_MIB)

/// Names of files and words of traces are anybody's: a terminal would obey the control characters in them. These print
/// or leave a '?' for each of C0, DEL and C1 (also as UTF-8) and for each byte that is no UTF-8; all else is as it was.
void ferry_put_text(FILE *file, const char *text);
/// The same in place; the text never grows.
void ferry_clean_text(char *text);
/// The same for a whole message, and a line end behind it. The only way for a name to get to the terminal in a
/// sentence.
void ferry_print_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/// Print "ferry: " and the message as one line on stderr, with ferry_print_line(). A picture on the terminal is closed
/// first.
void ferry_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Called once by the first ferry_complain(), to give the terminal back; NULL for none.
extern void (*ferry_before_complaint)(void);

/// Length of the UTF-8 sequence at text, or 0 when it is none.
int ferry_utf8_length(const char *text);

#define FERRY_SIZE_TEXT 24
/// "4.0 MiB", "640 B": at most 10 characters. Returns text.
const char *ferry_size_text(uint64_t bytes, char text[FERRY_SIZE_TEXT]);
/// "1,234,567". Returns text.
const char *ferry_count_text(uint64_t count, char text[28]);
/// A number with an optional K, M or G (1024 each). Returns 0, or -1 when it is none or overflows.
int ferry_parse_size(const char *text, uint64_t *bytes);
/// A plain number. Returns 0 or -1.
int ferry_parse_number(const char *text, uint64_t *number);
/// Seconds since some fixed moment, for rates.
double ferry_seconds(void);
/// Processors that there are beside this thread's own; 0 when that is not known.
unsigned ferry_other_processors(void);
/// Grow *array (of items of item_bytes) so that it can hold `need` items. Returns 0, or -1 without memory.
int ferry_reserve(void *array, size_t *capacity, size_t need, size_t item_bytes);

#endif
