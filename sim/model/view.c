// SPDX-License-Identifier: Apache-2.0
// BAR2's upper half: tiles in the ranges VIEW, seen as rows.
#include "model/internal.h"

#define WORD(range, NAME) ((range)[FERRY_BAR0_VIEW_##NAME / 4])

bool model_view(const struct ferry_model *model, uint64_t offset, uint64_t *place)
{
    if (!model->options.tiling)
        return false;
    for (unsigned i = 0; i < MODEL_VIEWS; i++) {
        const uint32_t *range = model->view[i];
        uint64_t first = (uint64_t)WORD(range, FIRST_PAGE) * MODEL_PAGE,
                 bytes = (uint64_t)WORD(range, PAGES) * MODEL_PAGE;
        uint64_t row = WORD(range, ROW_BYTES), at = offset - first, in_range;
        uint32_t layout = WORD(range, LAYOUT);

        if (!(layout & FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK) || offset < first || at >= bytes)
            continue;
        struct model_tiles tiles = model_tiles_of(FERRY_GET(FERRY_BAR0_VIEW_LAYOUT_SWIZZLE, layout),
                                                  layout & FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK);
        if (!row || !tiles.bytes || row % tiles.width)
            return false;
        in_range = model_tiles_place(&tiles, (int64_t)(row * tiles.height), at % row, at / row);
        *place = first + in_range;
        return in_range < bytes;
    }
    return false;
}
