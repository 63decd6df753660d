// SPDX-License-Identifier: Apache-2.0
// What the name of an output leads to.
#ifndef FERRY_TOOLS_PLACE_H
#define FERRY_TOOLS_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

/// The file that a name means behind all links, be it there yet or not (to be freed). It ends where /proc/ begins,
/// whose links are no names. NULL: errno tells why.
char *ferry_place_of(const char *path);

/// Which of the process's own descriptors a place is, or -1.
int ferry_place_descriptor(const char *place);

/// It is one of /proc/, whose files are questions to the system.
bool ferry_place_is_system(const char *place);

/// The folder of a place (to be freed; NULL without memory), and where its name in there begins.
char *ferry_place_folder(const char *place, const char **name);

/// What the system told is of one file.
bool ferry_place_one_file(const struct stat *one, const struct stat *other);

/// Two names are one file, be it there already or not. Devices and pipes take what comes, from several too.
bool ferry_place_same(const char *one, const char *other);

/// 0, or the errno for which nothing can be written there. Nothing is created.
int ferry_place_refuses(const char *path);

#endif
