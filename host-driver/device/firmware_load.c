// SPDX-License-Identifier: Apache-2.0
// Bring the firmware into the device and up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_state.h"
#include "firmware_image.h"

#define BOOT_POLL_CYCLES 500u

/// Read a whole file of at most `limit` bytes; its size is rounded up to words with zeros. NULL when it cannot be read,
/// is empty or too large.
static unsigned char *read_image(const char *file, size_t limit, size_t *bytes)
{
    unsigned char *image = calloc(1, limit + 1);
    FILE *stream = image == NULL ? NULL : fopen(file, "rb");
    size_t got = stream == NULL ? 0 : fread(image, 1, limit + 1, stream);
    if (stream != NULL) {
        fclose(stream);
    }
    if (got == 0 || got > limit) {
        free(image);
        return NULL;
    }
    *bytes = (got + 3) & ~(size_t)3;
    return image;
}

/// Write, read back, compare: a board's link is trusted only after that.
static int write_image(struct ferry_gpu *gpu, const void *image, size_t bytes)
{
    const struct ferry_link_operations *link = gpu->link->operations;
    unsigned char *back = malloc(bytes);
    if (back == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    int error = link->write_block(gpu->link, FERRY_BAR_REGISTERS, FERRY_BAR0_FIRMWARE_RAM, image, bytes);
    error = error == FERRY_OK ? link->read_block(gpu->link, FERRY_BAR_REGISTERS, FERRY_BAR0_FIRMWARE_RAM, back, bytes)
                              : error;
    if (error == FERRY_OK && memcmp(image, back, bytes) != 0) {
        error = FERRY_ERROR_FIRMWARE;
    }
    free(back);
    return error;
}

int ferry_gpu_firmware_load(struct ferry_gpu *gpu, const char *file)
{
    const size_t limit = gpu->info.firmware_ram_bytes;
    if (file == NULL) {
        return ferry_firmware_image_bytes > limit ? FERRY_ERROR_FIRMWARE
                                                  : write_image(gpu, ferry_firmware_image, ferry_firmware_image_bytes);
    }
    size_t bytes;
    unsigned char *image = read_image(file, limit, &bytes);
    if (image == NULL) {
        return FERRY_ERROR_FIRMWARE;
    }
    int error = write_image(gpu, image, bytes);
    free(image);
    return error;
}

int ferry_gpu_firmware_check(struct ferry_gpu *gpu, uint32_t *state)
{
    uint32_t word;
    int error = ferry_gpu_register_read(gpu, FERRY_BAR0_FIRMWARE_STATE, &word);
    if (error != FERRY_OK) {
        return error;
    }
    *state = FERRY_GET(FERRY_BAR0_FIRMWARE_STATE_STATE, word);
    switch (*state) {
    case FERRY_FIRMWARE_STATE_RUNNING: return FERRY_OK;
    // The core needs a moment after its reset to write the first state.
    case FERRY_FIRMWARE_STATE_RESET:
    case FERRY_FIRMWARE_STATE_BOOTING: return FERRY_OK;
    case FERRY_FIRMWARE_STATE_REFUSED: return FERRY_ERROR_CONTRACT;
    default: return FERRY_ERROR_FIRMWARE;
    }
}

int ferry_gpu_firmware_start(struct ferry_gpu *gpu, uint64_t timeout)
{
    timeout = timeout == 0 ? FERRY_GPU_DEFAULT_TIMEOUT : timeout;
    int error = ferry_gpu_register_write(gpu, FERRY_BAR0_CONTROL, FERRY_BAR0_CONTROL_CORE_RUN_MASK);
    for (uint64_t waited = 0; error == FERRY_OK; waited += BOOT_POLL_CYCLES) {
        uint32_t state = FERRY_FIRMWARE_STATE_RESET;
        error = ferry_gpu_firmware_check(gpu, &state);
        if (error != FERRY_OK || state == FERRY_FIRMWARE_STATE_RUNNING) {
            break;
        }
        error = waited >= timeout ? FERRY_ERROR_TIMEOUT : ferry_gpu_pump(gpu, BOOT_POLL_CYCLES);
    }
    if (error != FERRY_OK) {
        (void)ferry_gpu_register_write(gpu, FERRY_BAR0_CONTROL, 0);
        return error;
    }
    return ferry_gpu_register_read(gpu, FERRY_BAR0_FIRMWARE_VERSION, &gpu->info.firmware_version);
}

int ferry_gpu_firmware_state(struct ferry_gpu *gpu, uint32_t *halt_code, uint32_t *halt_argument)
{
    uint32_t state = FERRY_FIRMWARE_STATE_RESET;
    uint32_t code = 0;
    uint32_t argument = 0;
    pthread_mutex_lock(&gpu->mutex);
    int error = ferry_gpu_firmware_check(gpu, &state);
    if (error == FERRY_ERROR_FIRMWARE) {
        (void)ferry_gpu_register_read(gpu, FERRY_BAR0_HALT_CODE, &code);
        (void)ferry_gpu_register_read(gpu, FERRY_BAR0_HALT_ARGUMENT, &argument);
    }
    pthread_mutex_unlock(&gpu->mutex);
    if (halt_code != NULL) {
        *halt_code = code;
    }
    if (halt_argument != NULL) {
        *halt_argument = argument;
    }
    return error == FERRY_OK && state != FERRY_FIRMWARE_STATE_RUNNING ? FERRY_ERROR_FIRMWARE : error;
}
