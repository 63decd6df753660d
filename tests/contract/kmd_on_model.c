// SPDX-License-Identifier: Apache-2.0
// The machine's device is the reference model, which hangs on request and shows its aperture table.
#include "firmware_image.h"
#include "kmd_device.h"
#include "model/internal.h"
#include "model/model_link.h"

const char *const kmd_device_backend = "model";
const uint64_t kmd_device_idle_cycles = 0;

// The model runs no firmware: one word to load is enough.
const unsigned char ferry_firmware_image[] = {0, 0, 0, 0};
const unsigned ferry_firmware_image_bytes = sizeof(ferry_firmware_image);

const char *kmd_device_leaves_out(const char *test)
{
    (void)test;
    return NULL;
}

unsigned machine_rounds(unsigned many, unsigned few)
{
    (void)few;
    return many;
}

int kmd_device_open(struct machine *machine, const struct ferry_link_config *config)
{
    const struct machine_options *o = &machine->options;
    struct ferry_model_options model = {.local_bytes = o->local_bytes + o->hidden_bytes,
                                        .aperture_pages = (uint32_t)(o->aperture_bytes / PAGE_SIZE),
                                        .page_tables = o->model == 2,
                                        .tiling = true};
    return ferry_model_link_open(&model, config, &machine->link);
}

static struct ferry_model *model_of(const struct machine *machine)
{
    return ferry_model_link_model(machine->link);
}

bool kmd_device_hang(struct machine *machine, enum kmd_device_hang where, unsigned count)
{
    switch (where) {
    case KMD_HANG_NOW: ferry_model_hang(model_of(machine)); break;
    case KMD_HANG_BEHIND_PACKETS: ferry_model_inject(model_of(machine), FERRY_MODEL_HANG_INSIDE, count); break;
    case KMD_HANG_IN_COPY: ferry_model_inject(model_of(machine), FERRY_MODEL_HANG_IN_COPY, count); break;
    }
    return true;
}

uint64_t kmd_device_aperture_entry(const struct machine *machine, uint32_t page)
{
    return ferry_model_aperture_entry(model_of(machine), page);
}

void kmd_device_set_aperture_entry(struct machine *machine, uint32_t page, uint64_t entry)
{
    model_of(machine)->aperture[page] = entry;
}

void kmd_device_gets(struct machine *machine, const DXGKARG_SUBMITCOMMAND *argument)
{
    (void)machine;
    (void)argument;
}
