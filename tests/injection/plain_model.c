// SPDX-License-Identifier: Apache-2.0
// The one back end of tests that make no call of the miniport fail: the reference model, with the miniport as it is.
#include "ferry/ferry.h"
#include "firmware_image.h"
#include "kmd/kmd.h"
#include "model/model_link.h"

// The model runs no firmware: one word to load is enough.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof(ferry_firmware_image);

int ferry_link_open(const char *name, const struct ferry_link_config *config, struct ferry_link **link)
{
    struct ferry_model_options options = {.local_bytes = (uint64_t)64 * FERRY_PAGE_BYTES, .aperture_pages = 64};
    (void)name;
    return ferry_model_link_open(&options, config, link);
}

const char *ferry_link_backend_name(size_t n)
{
    return n == 0 ? "model" : NULL;
}

// What the user-mode driver calls instead of ferry_kmd_miniport().
const DRIVER_INITIALIZATION_DATA *inject_kmd_miniport(void);
const DRIVER_INITIALIZATION_DATA *inject_kmd_miniport(void)
{
    return ferry_kmd_miniport();
}
