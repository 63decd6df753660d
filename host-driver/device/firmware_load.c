// SPDX-License-Identifier: Apache-2.0
// Bring the firmware into the device and up.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_state.h"
#include "firmware_image.h"
#include "link/problem.h"

#define BOOT_POLL_CYCLES 500u

/// Read a whole file of at most `limit` bytes; its size is rounded up to words with zeros.
static int read_image(const char *file, size_t limit, unsigned char *image, size_t *bytes)
{
    FILE *stream = fopen(file, "rb");
    size_t got = stream == NULL ? 0 : fread(image, 1, limit + 1, stream);
    const int wrong = stream == NULL || ferror(stream) != 0 ? errno : 0;
    if (stream != NULL) {
        fclose(stream);
    }
    if (wrong != 0) {
        ferry_problem_set("the firmware %s cannot be read: %s", file, strerror(wrong));
    } else if (got == 0) {
        ferry_problem_set("the firmware %s is empty", file);
    } else if (got > limit) {
        ferry_problem_set("the firmware %s is larger than the %zu bytes that the device has for it", file, limit);
    }
    *bytes = (got + 3) & ~(size_t)3;
    return wrong != 0 || got == 0 || got > limit ? FERRY_ERROR_FIRMWARE : FERRY_OK;
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
        ferry_problem_set("the firmware reads back as something else than was written: the link, or the device's "
                          "memory, changes bytes");
        error = FERRY_ERROR_FIRMWARE;
    }
    free(back);
    return error;
}

int ferry_gpu_firmware_load(struct ferry_gpu *gpu, const char *file)
{
    const size_t limit = gpu->info.firmware_ram_bytes;
    if (file == NULL && ferry_firmware_image_bytes > limit) {
        ferry_problem_set("the driver's firmware has %zu bytes, and the device room for %zu: take both from one "
                          "release, or a firmware that was made for it",
                          (size_t)ferry_firmware_image_bytes, limit);
        return FERRY_ERROR_FIRMWARE;
    }
    if (file == NULL) {
        return write_image(gpu, ferry_firmware_image, ferry_firmware_image_bytes);
    }
    size_t bytes;
    unsigned char *image = calloc(1, limit + 4);
    if (image == NULL) {
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    int error = read_image(file, limit, image, &bytes);
    error = error == FERRY_OK ? write_image(gpu, image, bytes) : error;
    free(image);
    return error;
}

static uint32_t told(struct ferry_gpu *gpu, uint32_t offset)
{
    uint32_t value = 0;
    (void)ferry_gpu_register_read(gpu, offset, &value);
    return value;
}

/// For people: why the firmware did not come up.
static void say_why_not(struct ferry_gpu *gpu, int error)
{
    const uint32_t theirs = told(gpu, FERRY_BAR0_FIRMWARE_VERSION), hardware = gpu->info.contract_version;
    if (error == FERRY_ERROR_CONTRACT) {
        ferry_problem_set("the firmware has contract %u.%u, the hardware %u.%u, this driver %u.%u: take all from one "
                          "release, in its tree `make build/ferry`, and for a board `make -C boards/X flash`",
                          theirs >> 16, theirs & 0xffff, hardware >> 16, hardware & 0xffff,
                          FERRY_CONTRACT_VERSION >> 16, FERRY_CONTRACT_VERSION & 0xffff);
    } else if (error == FERRY_ERROR_FIRMWARE) {
        ferry_problem_set("the firmware halted with code %u, argument 0x%x (docs/manual/firmware.md has the codes)",
                          told(gpu, FERRY_BAR0_HALT_CODE), told(gpu, FERRY_BAR0_HALT_ARGUMENT));
    } else if (error == FERRY_ERROR_TIMEOUT && ferry_problem()[0] == 0) {
        ferry_problem_set("the firmware did not come up: it is one for another core, or the core does not run");
    }
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
        say_why_not(gpu, error);
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
