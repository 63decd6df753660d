// SPDX-License-Identifier: Apache-2.0
#include "tools/why.h"

#include "ferry/error.h"

const char *ferry_why(int error)
{
    switch (error) {
    case FERRY_ERROR_BACKEND:
    case FERRY_ERROR_CONTRACT:
    case FERRY_ERROR_DEVICE_LOST:
    case FERRY_ERROR_FIRMWARE:
    case FERRY_ERROR_IN_USE:
    case FERRY_ERROR_TIMEOUT: return ferry_problem()[0] != 0 ? ferry_problem() : ferry_error_text(error);
    default: return ferry_error_text(error);
    }
}
