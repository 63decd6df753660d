// SPDX-License-Identifier: Apache-2.0
#include "ferry/version.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char *ferry_version(void)
{
    return TEXT(FERRY_VERSION_MAJOR) "." TEXT(FERRY_VERSION_MINOR) "." TEXT(FERRY_VERSION_PATCH);
}
