// SPDX-License-Identifier: Apache-2.0
// Tiles in video memory that BAR2 shows as rows, on the whole device and on the reference model: each byte, read and
// written, against the published table; and what is wrong is refused by name, with nothing changed.
#include "tile_images.h"

#include "device/device.h"
#include "ferry_contract.h"

enum { VIEWS = 4, AREA = 1 << 17 }; // An area of video memory for each range.

struct rig {
    struct ferry_link *link;
    struct ferry_gpu *gpu;
    uint8_t memory[VIEWS * AREA]; // What video memory holds.
};

struct shown {
    struct image image;
    struct ferry_gpu_view view;
};

static int setup_rig(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct ferry_link_config config = {.size = sizeof config, .seed = seed};
    struct ferry_gpu_options options = {.size = sizeof options};
    struct ferry_gpu_info info;

    ok(ferry_link_open(backend, &config, &rig->link));
    ok(ferry_gpu_open(rig->link, &options, &rig->gpu));
    ferry_gpu_query(rig->gpu, &info);
    assert_int_equal(info.views, VIEWS);
    *state = rig;
    return 0;
}

static int teardown_rig(void **state)
{
    struct rig *rig = *state;

    ferry_gpu_close(rig->gpu);
    free(rig);
    return 0;
}

static void fill(struct rig *rig)
{
    for (size_t i = 0; i < sizeof rig->memory; i++)
        rig->memory[i] = (uint8_t)draw(256);
    ok(ferry_gpu_window_write(rig->gpu, 0, rig->memory, sizeof rig->memory));
}

// An image somewhere in its area.
static struct shown any_view(uint32_t area)
{
    struct shown s = {.image = {.element_log2 = draw(5), .tile = draw(2) ? 4096 : 65536, .levels = 1}};
    uint32_t wide = tile_elements(&s.image, 'x'), high = tile_elements(&s.image, 'y');

    s.image.width = wide * (1 + draw(s.image.tile == 4096 ? 7 : 2));
    s.image.height =
        high * (s.image.tile == 4096 || s.image.width == wide ? 1 + draw(s.image.tile == 4096 ? 4 : 2) : 1);
    measure(&s.image);
    s.view.bytes = s.image.bytes;
    s.view.base =
        (uint64_t)area * AREA + (uint64_t)draw((uint32_t)((AREA - s.view.bytes) / s.image.tile) + 1) * s.image.tile;
    s.view.row_bytes = (uint64_t)s.image.width << s.image.element_log2;
    s.view.swizzle = s.image.element_log2 == 0 ? 1 : s.image.element_log2 <= 2 ? 2 : 3;
    s.view.is_small = s.image.tile == 4096;
    return s;
}

static uint8_t *byte_of(struct rig *rig, const struct shown *s, uint64_t at)
{
    uint32_t wide = tile_elements(&s->image, 'x'), high = tile_elements(&s->image, 'y'),
             element = s->image.element_log2;
    uint32_t x = (uint32_t)(at % s->view.row_bytes), y = (uint32_t)(at / s->view.row_bytes);
    uint32_t column = x >> element, byte = x & ((1u << element) - 1);
    uint64_t tile = (uint64_t)(y / high) * (s->image.width / wide) + column / wide;

    return rig->memory + s->view.base + tile * s->image.tile + place_in_tile(&s->image, byte, column % wide, y % high);
}

static void compare_all(struct rig *rig)
{
    static uint8_t now[VIEWS * AREA];

    ok(ferry_gpu_window_read(rig->gpu, 0, now, sizeof now));
    assert_memory_equal(now, rig->memory, sizeof now);
}

static void rows_are_seen_and_tiles_are_written(void **state)
{
    struct rig *rig = *state;
    unsigned rounds = on_model() ? 30 : 3, accesses = on_model() ? 60 : 30;
    uint64_t rows = ferry_gpu_rows_begin(rig->gpu);
    uint8_t data[3000];

    fill(rig);
    for (unsigned round = 0; round < rounds; round++) {
        struct shown all[VIEWS];

        for (uint32_t i = 0; i < VIEWS; i++) {
            all[i] = any_view(i);
            ok(ferry_gpu_view_show(rig->gpu, i, &all[i].view));
        }
        for (unsigned n = 0; n < accesses; n++) {
            uint32_t i = draw(VIEWS), bytes = 1 + draw(draw(4) ? 40 : sizeof data);
            uint64_t at = draw((uint32_t)all[i].view.bytes - bytes + 1);

            if (draw(2)) {
                for (uint32_t b = 0; b < bytes; b++)
                    *byte_of(rig, &all[i], at + b) = data[b] = (uint8_t)draw(256);
                ok(ferry_gpu_rows_write(rig->gpu, rows + all[i].view.base + at, data, bytes));
            } else {
                ok(ferry_gpu_rows_read(rig->gpu, rows + all[i].view.base + at, data, bytes));
                for (uint32_t b = 0; b < bytes; b++)
                    if (data[b] != *byte_of(rig, &all[i], at + b))
                        fail_msg("FERRY_SEED=%llu: byte %llu", (unsigned long long)seed, (unsigned long long)(at + b));
            }
        }
        for (uint32_t i = 0; i < VIEWS; i++)
            ok(ferry_gpu_view_hide(rig->gpu, i));
    }
    compare_all(rig);
}

static void what_is_wrong_is_refused_by_name(void **state)
{
    struct rig *rig = *state;
    struct ferry_gpu_info info;
    struct ferry_gpu_view good = {
        .base = 0x20000, .bytes = 6 * 4096, .row_bytes = 3 * 128, .swizzle = 2, .is_small = true};
    uint64_t rows = ferry_gpu_rows_begin(rig->gpu);
    uint32_t word, unsupported, refused;
    uint8_t byte = 0;

    ferry_gpu_query(rig->gpu, &info);
    for (unsigned i = 0; i < 12; i++) {
        struct ferry_gpu_view bad = good;

        switch (i) {
        case 0: bad.swizzle = 0; break;
        case 1: bad.swizzle = 4; break;
        case 2: bad.row_bytes += 64; break;
        case 3: bad.row_bytes = 0; break;
        case 4: bad.bytes -= 4096; break; // Not whole rows of tiles.
        case 5: bad.bytes = 0; break;
        case 6: bad.base += 64; break;
        case 7: bad.is_small = false; break; // Tiles of 64 KiB: a row of them is not so short.
        case 8: bad.base = info.local_bytes - 4096; break;
        case 9: bad.base = UINT64_MAX - 4095; break;
        case 10: bad.row_bytes = UINT64_C(1) << 59; break; // 64 bits are too few for its row of tiles: 0 are left,
        default: bad.row_bytes = (UINT64_C(1) << 59) + 256; break; // or 8 KiB.
        }
        assert_int_equal(ferry_gpu_view_show(rig->gpu, 0, &bad), FERRY_ERROR_ARGUMENT);
    }
    assert_int_equal(ferry_gpu_view_show(rig->gpu, VIEWS, &good), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_gpu_view_hide(rig->gpu, VIEWS), FERRY_ERROR_UNSUPPORTED);
    assert_int_equal(ferry_gpu_view_hide(rig->gpu, 1), FERRY_ERROR_ARGUMENT);
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, rows, &byte, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_rows_write(rig->gpu, rows, &byte, 1), FERRY_ERROR_RANGE);
    // Nothing of that reached a register.
    for (uint32_t at = 0; at < VIEWS * FERRY_BAR0_VIEW_STRIDE; at += 4) {
        ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_VIEW_AT + at, &word));
        assert_int_equal(word, 0);
    }
    ok(ferry_gpu_view_show(rig->gpu, 1, &good));
    assert_int_equal(ferry_gpu_view_show(rig->gpu, 1, &good), FERRY_ERROR_BUSY);
    struct ferry_gpu_view beside = good, over = good;
    beside.base += good.bytes;
    over.base += 5 * 4096;
    assert_int_equal(ferry_gpu_view_show(rig->gpu, 0, &over), FERRY_ERROR_BUSY);
    ok(ferry_gpu_view_show(rig->gpu, 0, &beside));
    assert_int_equal(ferry_gpu_rows_read(rig->gpu, rows + beside.base + beside.bytes, &byte, 1), FERRY_ERROR_RANGE);
    assert_int_equal(ferry_gpu_rows_write(rig->gpu, rows + beside.base - 1, &byte, 2), FERRY_ERROR_RANGE);
    ok(ferry_gpu_rows_write(rig->gpu, rows + beside.base - 1, &byte, 1));
    // The device itself refuses what lies in no range, and what the limits close.
    ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_TLP_UNSUPPORTED, &unsupported));
    ok(ferry_gpu_window_write(rig->gpu, rows + good.base - 1, &byte, 1));
    ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_TLP_UNSUPPORTED, &word));
    assert_int_equal(word, unsupported + 1);
    ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_WINDOW_REFUSED, &refused));
    ok(ferry_gpu_set_protected(rig->gpu, good.base + 4096, good.base + 8192));
    ok(ferry_gpu_rows_write(rig->gpu, rows + good.base + 127, &byte, 1)); // The first tile is open,
    ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_WINDOW_REFUSED, &word));
    assert_int_equal(word, refused);
    ok(ferry_gpu_rows_write(rig->gpu, rows + good.base + 128, &byte, 1)); // the second is not.
    ok(ferry_gpu_read32(rig->gpu, FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_WINDOW_REFUSED, &word));
    assert_int_equal(word, refused + 1);
}

static void set_word(struct rig *rig, uint32_t word, uint32_t value)
{
    ok(rig->link->operations->write32(rig->link, FERRY_BAR_REGISTERS, FERRY_BAR0_VIEW_AT + word, value));
}

// Whether a device shows what its registers say, which no driver of ours wrote: its first 16 bytes, or an error.
static bool is_shown(struct rig *rig, const struct ferry_gpu_view *view)
{
    uint64_t rows = ferry_gpu_rows_begin(rig->gpu);
    uint8_t seen[16];

    set_word(rig, FERRY_BAR0_VIEW_LAYOUT, 0);
    set_word(rig, FERRY_BAR0_VIEW_FIRST_PAGE, (uint32_t)(view->base / 4096));
    set_word(rig, FERRY_BAR0_VIEW_PAGES, (uint32_t)(view->bytes / 4096));
    set_word(rig, FERRY_BAR0_VIEW_ROW_BYTES, (uint32_t)view->row_bytes);
    set_word(rig, FERRY_BAR0_VIEW_LAYOUT,
             FERRY_PUT(FERRY_BAR0_VIEW_LAYOUT_SWIZZLE, view->swizzle) | FERRY_BAR0_VIEW_LAYOUT_ENABLE_MASK |
                 (view->is_small ? FERRY_BAR0_VIEW_LAYOUT_SMALL_MASK : 0));
    int error = ferry_gpu_window_read(rig->gpu, rows + view->base, seen, sizeof seen);
    if (error == FERRY_ERROR_RANGE)
        return false;
    ok(error);
    assert_memory_equal(seen, rig->memory + view->base, sizeof seen);
    return true;
}

static void registers_that_name_no_rows_of_tiles_show_nothing(void **state)
{
    struct rig *rig = *state;

    fill(rig);
    for (unsigned i = 0; i < 6; i++) {
        struct ferry_gpu_view good = {.bytes = AREA, .swizzle = 1 + i % 3, .is_small = i < 3}, bad = good;
        uint32_t wide = (good.is_small ? 32u : 128u) << good.swizzle;

        good.row_bytes = wide;
        assert_true(is_shown(rig, &good));
        for (uint32_t bit = 1; bit < 4096; bit *= 2) {
            bad.row_bytes = 4096 | bit;
            assert_int_equal(is_shown(rig, &bad), bit >= wide);
        }
        bad.row_bytes = 0;
        assert_false(is_shown(rig, &bad));
        bad.row_bytes = wide;
        bad.swizzle = 0;
        assert_false(is_shown(rig, &bad));
    }
    set_word(rig, FERRY_BAR0_VIEW_LAYOUT, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(registers_that_name_no_rows_of_tiles_show_nothing, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(rows_are_seen_and_tiles_are_written, setup_rig, teardown_rig),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused_by_name, setup_rig, teardown_rig),
    };

    read_options(argc, argv);
    say_random();
    drawn = seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
