// SPDX-License-Identifier: Apache-2.0
// The device layer over a fake link: opening, and what is refused then.
#include "link/problem.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "firmware_image.h"

void open_loads_the_image_and_reports_sizes(void **context)
{
    struct state *state = *context;
    struct ferry_gpu_info info;
    ferry_gpu_query(state->gpu, &info);
    assert_int_equal(info.contract_version, 0x60000);
    assert_int_equal(info.firmware_version, 0x10000);
    assert_int_equal(info.rings, 5);
    assert_int_equal(info.tags, 32);
    assert_int_equal(info.slots, 4);
    assert_int_equal(info.slot_bytes, 4096);
    assert_int_equal(info.data_bytes, 8);
    assert_int_equal(info.aperture_pages, 4096);
    assert_int_equal(info.local_bytes, 0x3000000);
    assert_memory_equal((char *)state->fake->registers + 0x8000, ferry_firmware_image, ferry_firmware_image_bytes);
    assert_int_equal(reg(state, FERRY_BAR0_HOST_CONTRACT), 0x60000);
    assert_int_equal(reg(state, FERRY_BAR0_CONTROL), 1);
    assert_int_not_equal(reg(state, FERRY_BAR0_ENGINE_TIMEOUT), 0);
    assert_int_not_equal(reg(state, FERRY_BAR0_COMPLETION_TIMEOUT), 0);
    assert_int_equal(reg(state, FERRY_BAR0_INTERRUPT_ENABLE), 0x3ff);
    assert_int_equal(ferry_gpu_firmware_state(state->gpu, NULL, NULL), FERRY_OK);
}

/// Open with one thing wrong; everything must be given back.
static int open_wrong(struct fake_link *fake, const struct ferry_gpu_options *options)
{
    struct ferry_gpu *gpu = NULL;
    bool *closed = fake->closed;
    ferry_problem_clear();
    int error = ferry_gpu_open(&fake->link, options, &gpu);
    assert_null(gpu);
    assert_false(*closed); // The link stays the caller's.
    assert_int_equal(ferry_dma_map_pages(fake->map), 0);
    fake->link.operations->close(&fake->link);
    *closed = false;
    return error;
}

/// Of the one before: what went wrong and what to do, in one line.
static void says(const char *words)
{
    if (strstr(ferry_problem(), words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, ferry_problem());
}

/// The device gives a read up after its time-out and an eighth at most: by then the engine may not have given the host
/// up.
void time_outs_are_longer_than_the_link_takes(void **context)
{
    (void)context;
    bool closed = false;
    for (const uint32_t *delay = (const uint32_t[]){1, 1250000, INT32_MAX, 0}; *delay != 0; delay++) {
        struct ferry_gpu *gpu;
        struct fake_link *fake = fake_link_create(&closed);
        fake->delay = *delay;
        assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
        const uint64_t completion = fake->registers[FERRY_BAR0_COMPLETION_TIMEOUT / 4];
        assert_true(completion > *delay);
        assert_true(fake->registers[FERRY_BAR0_ENGINE_TIMEOUT / 4] > completion + completion / 8);
        ferry_gpu_close(gpu);
    }
}

void another_contract_is_refused_by_name(void **context)
{
    (void)context;
    bool closed = false;
    struct fake_link *fake = fake_link_create(&closed);
    fake->registers[FERRY_BAR0_CONTRACT_VERSION / 4] = 0x10000;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_CONTRACT);
    says("has contract 1.0, this driver 6.0: take both from one release");
    fake = fake_link_create(&closed);
    fake->registers[0] = 0xffffffff;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_CONTRACT);
    says("answers with ffffffff");
    fake = fake_link_create(&closed);
    fake->registers[FERRY_BAR0_CAPABILITIES / 4] = 0x3c45f; // 15 rings.
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_CONTRACT);
    says("15 rings");
    fake = fake_link_create(&closed);
    fake->final_state = FERRY_FIRMWARE_STATE_REFUSED;
    const struct ferry_gpu_options options = {.size = sizeof(options), .host_contract = 0x50007};
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_CONTRACT);
    says("the firmware has contract 1.0, the hardware 6.0, this driver 6.0: take all from one release");
}

// What a device says of its sizes is what is worked with: one that lies, or whose registers are read wrong, is refused
// with the size. The largest and smallest that there are are taken.
void sizes_that_no_device_has_are_refused(void **context)
{
    (void)context;
    static const struct {
        uint32_t offset, value[2];
        const char *words; // NULL: it is taken.
    } cases[] = {
        {FERRY_BAR0_CAPABILITIES, {0x3c450, 0}, "has 0 rings"},
        {FERRY_BAR0_CAPABILITIES, {0x1403c455, 0}, "has 5 views, and of this contract there are 0 to 4: "},
        {FERRY_BAR0_CAPABILITIES, {0x3c155, 0}, "has 1 command slots"},
        {FERRY_BAR0_CAPABILITIES, {0x3c555, 0}, "has 5 command slots"},
        {FERRY_BAR0_CAPABILITIES, {0x38455, 0}, "has 256 bytes of a command slot"},
        {FERRY_BAR0_CAPABILITIES, {0x3d455, 0}, "has 8192 bytes of a command slot"},
        {FERRY_BAR0_CAPABILITIES, {0x39255, 0}, NULL},
        {FERRY_BAR0_LOCAL_BYTES, {0, 0}, "has 0 bytes of video memory"},
        {FERRY_BAR0_LOCAL_BYTES, {4097, 0}, "4096 to 1099511627776, in whole pages: "},
        {FERRY_BAR0_LOCAL_BYTES, {0x1000, 0x100}, "has 1099511631872 bytes of video memory"},
        {FERRY_BAR0_LOCAL_BYTES, {0xfffff000, 0xffffffff}, "has 18446744073709547520 bytes"},
        {FERRY_BAR0_LOCAL_BYTES, {0, 0x100}, NULL},
        {FERRY_BAR0_LOCAL_BYTES, {0x1000, 0}, NULL},
        {FERRY_BAR0_APERTURE_PAGES, {0, 0}, "has 0 pages of aperture"},
        {FERRY_BAR0_APERTURE_PAGES, {0x100001, 0}, "has 1048577 pages of aperture"},
        {FERRY_BAR0_APERTURE_PAGES, {0x100000, 0}, NULL},
        {FERRY_BAR0_FIRMWARE_RAM_BYTES, {0x8004, 0}, "has 32772 bytes of firmware RAM"},
        {FERRY_BAR0_FIRMWARE_RAM_BYTES, {0x4002, 0}, "has 16386 bytes of firmware RAM"},
        {FERRY_BAR0_FIRMWARE_RAM_BYTES, {0x8000, 0}, NULL},
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        bool closed = false;
        struct fake_link *fake = fake_link_create(&closed);
        fake->registers[cases[n].offset / 4] = cases[n].value[0];
        if (cases[n].offset == FERRY_BAR0_LOCAL_BYTES)
            fake->registers[cases[n].offset / 4 + 1] = cases[n].value[1];
        if (cases[n].words != NULL) {
            assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_CONTRACT);
            says(cases[n].words);
            continue;
        }
        struct ferry_gpu *gpu;
        assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
        ferry_gpu_close(gpu);
    }
}

void a_newer_minor_version_is_taken(void **context)
{
    (void)context;
    bool closed = false;
    struct ferry_gpu *gpu;
    struct fake_link *fake = fake_link_create(&closed);
    fake->registers[FERRY_BAR0_CONTRACT_VERSION / 4] = 0x60009;
    assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
    ferry_gpu_close(gpu);
}

static void describe_by_registers(struct ferry_link *link, struct ferry_link_description *description)
{
    (void)link;
    strcpy(description->medium, "a slot");
}

static void describe_by_itself(struct ferry_link *link, struct ferry_link_description *description)
{
    (void)link;
    strcpy(description->device, "said-in-a-hello");
}

// As a link says it, or else as the registers do, whose letters go on to the last but one at most.
void the_device_says_for_which_board_it_is(void **context)
{
    (void)context;
    static const struct {
        void (*describe)(struct ferry_link *, struct ferry_link_description *);
        const char *letters, *told;
    } cases[] = {
        {describe_by_registers, "acorn", "acorn"},
        {describe_by_registers, "fifteen-letters", "fifteen-letters"},
        {describe_by_registers, "sixteen--letters", "sixteen--letter"},
        {describe_by_registers, "", ""},
        {describe_by_itself, "acorn", "said-in-a-hello"},
        {NULL, "acorn", "acorn"},
    };
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        bool closed = false;
        struct ferry_gpu *gpu;
        struct ferry_gpu_info info;
        struct fake_link *fake = fake_link_create(&closed);
        struct ferry_link_operations operations = *fake->link.operations;
        operations.describe = cases[n].describe;
        fake->link.operations = &operations;
        memcpy((char *)fake->registers + FERRY_BAR0_BOARD, cases[n].letters, strlen(cases[n].letters));
        assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
        ferry_gpu_query(gpu, &info);
        assert_string_equal(info.link.device, cases[n].told);
        ferry_gpu_close(gpu);
    }
}

static const struct ferry_link_operations *operations_of_fake;

static int all_but_the_last_letters(struct ferry_link *link, enum ferry_bar bar, uint64_t offset, uint32_t *value)
{
    return offset == FERRY_BAR0_BOARD + 12 ? FERRY_ERROR_TIMEOUT : operations_of_fake->read32(link, bar, offset, value);
}

void a_device_whose_name_cannot_be_read_is_not_opened(void **context)
{
    (void)context;
    bool closed = false;
    struct fake_link *fake = fake_link_create(&closed);
    operations_of_fake = fake->link.operations;
    struct ferry_link_operations operations = *operations_of_fake;
    operations.read32 = all_but_the_last_letters;
    fake->link.operations = &operations;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_TIMEOUT);
}

// What an earlier driver has left is gone before anything is set up.
void a_device_that_has_run_before_is_reset(void **context)
{
    (void)context;
    static struct ferry_link_operations without;
    const struct {
        int error, expected;
        unsigned reads;
        bool cannot;
    } cases[] = {{FERRY_OK, FERRY_OK, 0, false},
                 {FERRY_OK, FERRY_OK, 9, false},
                 {FERRY_OK, FERRY_ERROR_TIMEOUT, ~0u, false},
                 {FERRY_ERROR_BACKEND, FERRY_ERROR_BACKEND, 0, false},
                 {FERRY_OK, FERRY_ERROR_UNSUPPORTED, 0, true}};
    for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
        bool closed = false;
        struct ferry_gpu *gpu;
        struct fake_link *fake = fake_link_create(&closed);
        without = *fake->link.operations;
        without.reset = NULL;
        fake->registers[FERRY_BAR0_HOST_CONTRACT / 4] = 0x60000;
        fake->registers[FERRY_BAR0_FAULT_LOG_PRODUCED / 4] = 77;
        fake->reset_error = cases[n].error;
        fake->reset_reads = cases[n].reads;
        fake->link.operations = cases[n].cannot ? &without : fake->link.operations;
        if (cases[n].expected != FERRY_OK) {
            assert_int_equal(open_wrong(fake, NULL), cases[n].expected);
            continue;
        }
        assert_int_equal(ferry_gpu_open(&fake->link, NULL, &gpu), FERRY_OK);
        assert_int_equal(fake->resets, 1);
        assert_int_equal(fake->registers[FERRY_BAR0_FAULT_LOG_PRODUCED / 4], 0);
        assert_int_not_equal(fake->registers[FERRY_BAR0_HOST_CONTRACT / 4], 0);
        ferry_gpu_close(gpu);
    }
}

void firmware_that_does_not_come_up_is_named(void **context)
{
    (void)context;
    bool closed = false;
    struct fake_link *fake = fake_link_create(&closed);
    fake->final_state = FERRY_FIRMWARE_STATE_HALTED;
    fake->registers[FERRY_BAR0_HALT_CODE / 4] = 11;
    fake->registers[FERRY_BAR0_HALT_ARGUMENT / 4] = 0xabc;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_FIRMWARE);
    says("halted with code 11, argument 0xabc");
    fake = fake_link_create(&closed);
    fake->corrupt_firmware_ram = true;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_FIRMWARE);
    says("reads back as something else");
    fake = fake_link_create(&closed);
    fake->boot_cycles = 60000;
    struct ferry_gpu_options options = {.size = sizeof(options), .boot_timeout = 50000};
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_TIMEOUT);
    says("did not come up");
    fake = fake_link_create(&closed);
    fake->registers[FERRY_BAR0_FIRMWARE_RAM_BYTES / 4] = 16;
    assert_int_equal(open_wrong(fake, NULL), FERRY_ERROR_FIRMWARE);
    says("room for 16");
    fake = fake_link_create(&closed);
    options = (struct ferry_gpu_options){.size = sizeof(options), .firmware_file = "/nonexistent/image"};
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_FIRMWARE);
    says("/nonexistent/image cannot be read: No such file");
    fake = fake_link_create(&closed);
    options.firmware_file = "/dev/null";
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_FIRMWARE);
    says("/dev/null is empty");
    fake = fake_link_create(&closed);
    options.firmware_file = "/dev/zero";
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_FIRMWARE);
    says("/dev/zero is larger than the 16384 bytes");
    fake = fake_link_create(&closed);
    options = (struct ferry_gpu_options){.size = 3};
    assert_int_equal(open_wrong(fake, &options), FERRY_ERROR_ARGUMENT);
}

void firmware_may_come_from_a_file(void **context)
{
    (void)context;
    bool closed = false;
    struct ferry_gpu *gpu;
    char name[] = "/tmp/ferry-firmware-XXXXXX";
    const int file = mkstemp(name);
    assert_true(file >= 0);
    assert_int_equal(write(file, "abcdefg", 7), 7);
    close(file);
    struct fake_link *fake = fake_link_create(&closed);
    const struct ferry_gpu_options options = {.size = sizeof(options), .firmware_file = name};
    assert_int_equal(ferry_gpu_open(&fake->link, &options, &gpu), FERRY_OK);
    assert_memory_equal((char *)fake->registers + 0x8000, "abcdefg\0", 8);
    ferry_gpu_close(gpu);
    unlink(name);
}
