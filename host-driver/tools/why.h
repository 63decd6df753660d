// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_TOOLS_WHY_H
#define FERRY_TOOLS_WHY_H

/// One sentence on an error of the library's: what it knows of this one, else what its name says.
const char *ferry_why(int error);

#endif
