// SPDX-License-Identifier: Apache-2.0
#include "ddi/ferry_nt.h"

#define CASE(name, bits)                                                                                               \
    case name: return #name;

const char *ferry_ntstatus_name(NTSTATUS status)
{
    switch (status) {
        FERRY_NTSTATUS_TABLE(CASE)
    default: return "STATUS_?";
    }
}

const char *ferry_hresult_name(HRESULT result)
{
    switch (result) {
        FERRY_HRESULT_TABLE(CASE)
    default: return "HRESULT_?";
    }
}
