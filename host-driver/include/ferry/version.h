// SPDX-License-Identifier: Apache-2.0
// The version, in its one place: the shared library's file name and soname, pkg-config, `ferry --version` and the
// manual pages take it from here. The soname has the major number. While that is 0, a program wants the library that it
// was compiled for: every struct says its size, and one of another size is refused with ARGUMENT.
#ifndef FERRY_VERSION_H
#define FERRY_VERSION_H

#define FERRY_VERSION_MAJOR 0
#define FERRY_VERSION_MINOR 1
#define FERRY_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/// The version of the library that runs, for example "0.1.0". Any thread.
const char *ferry_version(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
