// SPDX-License-Identifier: Apache-2.0
// Tiles in video memory that the CPU sees as rows: BAR2's upper half, and the ranges that are shown there.
#include "device/device_state.h"

uint64_t ferry_gpu_rows_begin(const struct ferry_gpu *gpu)
{
    uint64_t half = 4096;

    while (half < gpu->info.local_bytes) {
        half *= 2;
    }
    return half;
}

static bool is_good(const struct ferry_gpu *gpu, const struct ferry_gpu_view *view)
{
    uint64_t tile = view->is_small ? 4096 : 65536;
    uint64_t wide = (view->is_small ? UINT64_C(32) : UINT64_C(128)) << (view->swizzle & 3);

    // The range is looked at before its rows: what is no longer than video memory may be multiplied.
    return view->base <= gpu->info.local_bytes && view->bytes <= gpu->info.local_bytes - view->base &&
           view->swizzle >= 1 && view->swizzle <= 3 && view->row_bytes != 0 && view->row_bytes <= view->bytes &&
           view->row_bytes % wide == 0 && view->bytes % (view->row_bytes / wide * tile) == 0 && view->base % tile == 0;
}

static bool is_free(const struct ferry_gpu *gpu, uint32_t number, const struct ferry_gpu_view *view)
{
    for (uint32_t i = 0; i < gpu->info.views; i++) {
        const struct ferry_gpu_view *other = &gpu->view[i];
        if (other->bytes != 0 &&
            (i == number || (view->base < other->base + other->bytes && other->base < view->base + view->bytes))) {
            return false;
        }
    }
    return true;
}

static int write_view(struct ferry_gpu *gpu, uint32_t number, uint32_t word, uint64_t value)
{
    uint32_t range = FERRY_BAR0_VIEW_AT + number * FERRY_BAR0_VIEW_STRIDE;
    return ferry_gpu_register_write(gpu, range + word, (uint32_t)value);
}

int ferry_gpu_view_show(struct ferry_gpu *gpu, uint32_t number, const struct ferry_gpu_view *view)
{
    if (number >= gpu->info.views) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    if (!is_good(gpu, view)) {
        return FERRY_ERROR_ARGUMENT;
    }
    uint32_t layout = FERRY_PUT(FERRY_BAR0_VIEW_LAYOUT_SWIZZLE, view->swizzle) | FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK |
                      (view->is_small ? FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK : 0);
    pthread_mutex_lock(&gpu->mutex);
    int error = is_free(gpu, number, view) ? FERRY_OK : FERRY_ERROR_BUSY;
    error = error == FERRY_OK ? write_view(gpu, number, FERRY_BAR0_VIEW_FIRST_PAGE, view->base / 4096) : error;
    error = error == FERRY_OK ? write_view(gpu, number, FERRY_BAR0_VIEW_PAGES, view->bytes / 4096) : error;
    error = error == FERRY_OK ? write_view(gpu, number, FERRY_BAR0_VIEW_ROW_BYTES, view->row_bytes) : error;
    error = error == FERRY_OK ? write_view(gpu, number, FERRY_BAR0_VIEW_LAYOUT, layout) : error;
    if (error == FERRY_OK) {
        gpu->view[number] = *view;
    }
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_view_hide(struct ferry_gpu *gpu, uint32_t number)
{
    if (number >= gpu->info.views) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    pthread_mutex_lock(&gpu->mutex);
    int error =
        gpu->view[number].bytes == 0 ? FERRY_ERROR_ARGUMENT : write_view(gpu, number, FERRY_BAR0_VIEW_LAYOUT, 0);
    if (error == FERRY_OK) {
        gpu->view[number] = (struct ferry_gpu_view){0};
    }
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

/// Is all of it in a range that is shown? The mutex is held.
static bool is_shown(const struct ferry_gpu *gpu, uint64_t address, size_t bytes)
{
    for (uint32_t i = 0; i < gpu->info.views; i++) {
        const struct ferry_gpu_view *view = &gpu->view[i];
        uint64_t offset = address - ferry_gpu_rows_begin(gpu) - view->base;
        if (offset <= view->bytes && bytes <= view->bytes - offset && view->bytes != 0) {
            return true;
        }
    }
    return false;
}

int ferry_gpu_rows_read(struct ferry_gpu *gpu, uint64_t address, void *data, size_t bytes)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = !is_shown(gpu, address, bytes)
                    ? FERRY_ERROR_RANGE
                    : gpu->link->operations->read_block(gpu->link, FERRY_BAR_WINDOW, address, data, bytes);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}

int ferry_gpu_rows_write(struct ferry_gpu *gpu, uint64_t address, const void *data, size_t bytes)
{
    pthread_mutex_lock(&gpu->mutex);
    int error = !is_shown(gpu, address, bytes)
                    ? FERRY_ERROR_RANGE
                    : gpu->link->operations->write_block(gpu->link, FERRY_BAR_WINDOW, address, data, bytes);
    pthread_mutex_unlock(&gpu->mutex);
    return error;
}
