// SPDX-License-Identifier: Apache-2.0
// Random user buffers, good ones and such as no driver writes, with random patches, through the miniport's Patch. What
// is left of each is given to the firmware's oracle (tests/unit/firmware), which knows nothing of lists: whatever a
// ring without rights runs of it must lie within what the list names, and what lay there before must still run.
#include "../../seed.h"
#include "../firmware/oracle.h"
#include "ferry_contract.h"
#include "rig.h"

#define BUFFERS   4000u
#define PATCHES   8u
#define PACKETS   12u
#define LIST      4u
#define SAMPLES   64u
#define TILE      0x10000u
#define RECTANGLE (FERRY_PACKET_COPY_RECTANGLE_SIZE / 4)

enum { LOCAL = FERRY_ADDRESS_KIND_LOCAL, APERTURE = FERRY_ADDRESS_KIND_APERTURE, VIRTUAL = FERRY_ADDRESS_KIND_VIRTUAL };

static uint64_t state;

static uint64_t draw(uint64_t limit)
{
    return draw_wide(&state, limit);
}

// What the list has: tiles and less than a page, two of which are neighbours, one of which is only read, and pages of
// the aperture.
static const struct place {
    uint32_t kind, at, bytes;
    bool written;
} places[LIST] = {
    {LOCAL, 0, 2 * TILE, true},
    {LOCAL, 2 * TILE, 0x3000, false},
    {LOCAL, LOCAL_BYTES - TILE, TILE, true},
    {APERTURE, 0x5000, 0x4000, true},
};

static bool lies_within(uint32_t kind, uint64_t first, uint64_t bytes, bool write)
{
    for (unsigned i = 0; i < LIST; i++)
        if (places[i].kind == kind && (places[i].written || !write) && bytes <= places[i].bytes &&
            first >= places[i].at && first - places[i].at <= places[i].bytes - bytes)
            return true;
    return false;
}

// ---- Buffers ----------------------------------------------------------------------------------------------------

struct commands {
    uint32_t words[1024], count;
};

static void word(struct commands *c, uint32_t value)
{
    c->words[c->count++] = value;
}

static void wide(struct commands *c, uint64_t value)
{
    word(c, (uint32_t)value);
    word(c, (uint32_t)(value >> 32));
}

// An address for so many bytes: in a place of the list, at one of its edges, or anywhere.
static uint64_t some_address(uint64_t bytes)
{
    const struct place *place = &places[draw(LIST)];
    uint64_t room = bytes < place->bytes ? place->bytes - bytes : 0;

    switch (draw(12)) {
    case 0: return place->at - 1 - draw(64);
    case 1: return place->at + room + 1 + draw(64);
    case 2: return UINT64_MAX - draw(bytes + 64);
    case 3: return draw(UINT64_C(1) << 33);
    case 4: return place->at | UINT64_C(1) << (32 + draw(32));
    case 5: return place->at + room;
    default: return place->at + draw(room + 1);
    }
}

static uint32_t some_kind(void)
{
    return draw(4) ? LOCAL : (uint32_t)draw(4);
}

static uint32_t some_bytes(void)
{
    switch (draw(8)) {
    case 0: return 0;
    case 1: return (uint32_t)draw(UINT32_MAX) + 1;
    case 2: return places[draw(LIST)].bytes;
    default: return 1 + (uint32_t)draw(0x2000);
    }
}

static void side(struct commands *c, bool tiles, uint32_t width)
{
    uint32_t swizzle = 1 + (uint32_t)draw(3), small = (uint32_t)draw(2);
    uint32_t tile = small ? 4096 : TILE, wide_log2 = 7 + swizzle - 2 * small, high_log2 = 9 - swizzle - 2 * small;

    if (!tiles) {
        word(c, draw(4) ? width + (uint32_t)draw(300) : (uint32_t)(draw(2) ? -draw(0x8000) : draw(UINT32_MAX)));
        word(c, draw(12) ? 0 : (uint32_t)draw(1u << 21));
        return;
    }
    word(c, draw(8) ? tile * (uint32_t)(draw(5) - draw(2) * 4) : (uint32_t)draw(UINT32_MAX));
    word(c, FERRY_PUT(FERRY_PACKET_LAYOUT_X, draw(2) ? 0 : (uint32_t)draw((1u << wide_log2) + (draw(9) == 0))) |
                FERRY_PUT(FERRY_PACKET_LAYOUT_Y, draw(2) ? 0 : (uint32_t)draw((1u << high_log2) + (draw(9) == 0))) |
                FERRY_PUT(FERRY_PACKET_LAYOUT_SWIZZLE, swizzle) | FERRY_PUT(FERRY_PACKET_LAYOUT_SMALL, small));
}

static uint64_t rectangle_address(bool tiles, uint32_t bytes)
{
    if (!tiles || draw(10) == 0)
        return some_address(bytes);
    return (draw(2) ? 0 : LOCAL_BYTES - TILE) + 4096 * draw(draw(2) ? 40 : 17);
}

static void rectangle(struct commands *c)
{
    bool from = draw(2), to = draw(2);
    uint32_t width = draw(10) ? 1 + (uint32_t)draw(700) : (uint32_t)draw(UINT32_MAX);
    uint32_t rows = draw(10) ? (uint32_t)draw(150) : (uint32_t)draw(UINT32_MAX);

    word(c, FERRY_OPCODE_COPY_RECTANGLE | RECTANGLE << 16);
    word(c, some_kind() | some_kind() << 2);
    word(c, width);
    word(c, rows);
    wide(c, rectangle_address(from, width));
    wide(c, rectangle_address(to, width));
    side(c, from, width);
    side(c, to, width);
}

static void packet(struct commands *c)
{
    uint32_t bytes = some_bytes(), kinds = some_kind() | some_kind() << 2, few = 1 + (uint32_t)draw(8);

    switch (draw(11)) {
    case 0:
    case 1:
        word(c, FERRY_OPCODE_COPY | 8u << 16);
        word(c, kinds);
        wide(c, bytes);
        wide(c, some_address(bytes));
        wide(c, some_address(bytes));
        break;
    case 2:
    case 3:
    case 4:
    case 5: rectangle(c); break;
    case 6:
    case 7:
        word(c, (uint32_t)(draw(2) ? FERRY_OPCODE_FILL : FERRY_OPCODE_WRITE) | 8u << 16);
        word(c, kinds & 12);
        wide(c, draw(2) ? few : bytes);
        wide(c, some_address(bytes));
        wide(c, draw(UINT64_MAX));
        break;
    case 8:
        word(c, FERRY_OPCODE_READ | 6u << 16);
        word(c, kinds & 3);
        wide(c, few);
        wide(c, some_address(few));
        break;
    case 9:
        word(c, FERRY_OPCODE_FENCE | 6u << 16);
        word(c, kinds & 12);
        wide(c, some_address(8) & ~UINT64_C(7));
        wide(c, draw(UINT64_MAX));
        break;
    default:
        if (draw(2)) { // Whatever else there is, and what there is not.
            uint32_t words = 2 * (1 + (uint32_t)draw(6));

            word(c, (uint32_t)draw(16) | words << 16);
            for (uint32_t i = 1; i < words; i++)
                word(c, draw(2) ? 0 : (uint32_t)draw(UINT32_MAX));
            break;
        }
        word(c, FERRY_OPCODE_DISCARD | 6u << 16);
        word(c, 0);
        wide(c, bytes);
        wide(c, some_address(bytes));
        break;
    }
}

static void fill_buffer(struct commands *c)
{
    unsigned packets = 1 + (unsigned)draw(PACKETS);

    c->count = 0;
    while (packets--)
        packet(c);
    if (draw(8) == 0)
        c->words[draw(c->count)] ^= 1u << draw(32);
    if (draw(16) == 0)
        c->count = 2 * (uint32_t)draw(c->count / 2 + 1);
}

// ---- What a buffer may do ---------------------------------------------------------------------------------------

struct sides {
    uint64_t first[2], bytes[2]; // [1]: what is written.
    bool there[2];
};

// What of its two sides an action takes, of tiles whole ones.
static struct sides sides_of(const uint8_t *buffer, const struct oracle_action *action)
{
    struct sides s = {.first = {action->source, action->destination},
                      .bytes = {action->length, action->length},
                      .there = {action->op != FERRY_JOB_OP_FILL, action->op != FERRY_JOB_OP_READ}};

    for (unsigned i = 0; action->rows && i < 2; i++) {
        struct oracle_side side;

        oracle_read_side(buffer + action->packet_offset + 32 + 8 * i, s.first[i], action->length, action->rows, &side,
                         &s.bytes[i]);
        s.first[i] = side.low;
    }
    return s;
}

// Bytes of a rectangle, some of which are its corners, one by one.
static bool samples_lie_within(const struct oracle_action *action, bool write)
{
    uint32_t kind = write ? action->destination_kind : action->source_kind;

    for (unsigned i = 0; i < SAMPLES; i++) {
        uint32_t byte = i < 4 ? (i & 1) * (action->length - 1) : (uint32_t)draw(action->length);
        uint32_t row = i < 4 ? (i >> 1) * (action->rows - 1) : (uint32_t)draw(action->rows);

        if (!lies_within(kind, oracle_rectangle_byte(action, write, byte, row), 1, write))
            return false;
    }
    return true;
}

static bool has_addresses; // Of a space of its own.
static uint64_t ran, refused, allowed;

static bool is_allowed(uint32_t kind, uint64_t first, uint64_t bytes, bool write)
{
    return kind == VIRTUAL ? has_addresses : lies_within(kind, first, bytes, write);
}

// All that runs of it lies where it may.
static void judge_what_runs(const uint8_t *buffer, const struct oracle_result *result)
{
    for (unsigned i = 0; i < result->action_count; i++) {
        const struct oracle_action *action = &result->actions[i];
        struct sides s = sides_of(buffer, action);

        for (unsigned write = 0; write < 2; write++) {
            uint32_t kind = write ? action->destination_kind : action->source_kind;

            if (!s.there[write] || !action->length)
                continue;
            ran++;
            if (!is_allowed(kind, s.first[write], s.bytes[write], write) ||
                (action->rows && kind != VIRTUAL && !samples_lie_within(action, write)))
                fail_msg("packet at %u %s what is not listed", action->packet_offset, write ? "writes" : "reads");
        }
    }
}

// What named nothing but what the list has is as it was, but for the mark that it waits for nobody.
static void judge_what_was_good(const uint8_t *before, const uint8_t *after, const struct oracle_result *result)
{
    for (unsigned i = 0; i < result->action_count; i++) {
        const struct oracle_action *action = &result->actions[i];
        struct sides s = sides_of(before, action);
        bool good = true;

        for (unsigned write = 0; write < 2; write++) {
            uint32_t kind = write ? action->destination_kind : action->source_kind;

            good =
                good && (!s.there[write] || !action->length || is_allowed(kind, s.first[write], s.bytes[write], write));
        }
        refused += !good;
        allowed += good;
        if (good)
            assert_memory_equal(before + action->packet_offset + 4, after + action->packet_offset + 4, 20);
    }
}

// ---- Patches ----------------------------------------------------------------------------------------------------

static void to_bytes(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

// A patch for the list, which is carried out on `before` as kmd.h has it. The buffer stands `start` bytes behind its
// begin.
static D3DDDI_PATCHLOCATIONLIST some_patch(uint8_t *before, uint32_t bytes, uint32_t start)
{
    uint32_t packet = 8 * (uint32_t)draw(bytes / 8), side = (uint32_t)draw(2), index = (uint32_t)draw(LIST);
    uint32_t field = packet + 8 * (1 + (uint32_t)draw(4));
    const struct place *place = &places[index];
    uint32_t offset = draw(4) ? (uint32_t)draw(place->bytes) : (uint32_t)draw(UINT32_MAX);

    if (field > bytes - 8) {
        packet = 0;
        field = 8;
    }
    uint32_t shift = side == FERRY_KMD_PATCH_SOURCE ? 0 : 2;
    before[packet + 4] = (uint8_t)((before[packet + 4] & ~(3u << shift)) | place->kind << shift);
    to_bytes(before + field, (uint64_t)place->at + offset, 8);
    return (D3DDDI_PATCHLOCATIONLIST){.AllocationIndex = index,
                                      .DriverId = FERRY_KMD_PATCH_ID(start + packet, side),
                                      .AllocationOffset = offset,
                                      .PatchOffset = start + field};
}

static void patch_and_judge(struct rig *rig, HANDLE context, const DXGK_ALLOCATIONLIST *list,
                            const struct oracle_limits *limits)
{
    static struct oracle_result result;
    D3DDDI_PATCHLOCATIONLIST locations[PATCHES];
    uint8_t before[4096], front[64], *buffer = rig->buffer.address;
    struct commands c;

    fill_buffer(&c);
    uint32_t bytes = 4 * c.count, patches = c.count < 4 || draw(2) ? 0 : (uint32_t)draw(PATCHES);
    uint32_t start = draw(2) ? 0 : 8 * (uint32_t)draw(sizeof front / 8);
    uint8_t *after = buffer + start;
    memcpy(before, c.words, bytes);
    memcpy(after, c.words, bytes);
    memcpy(front, buffer, start);
    for (unsigned i = 0; i < patches; i++)
        locations[i] = some_patch(before, bytes, start);
    DXGKARG_PATCH patch = {.hContext = context,
                           .pDmaBuffer = buffer,
                           .DmaBufferSize = 4096,
                           .DmaBufferSubmissionStartOffset = start,
                           .DmaBufferSubmissionEndOffset = start + bytes,
                           .pAllocationList = list,
                           .AllocationListSize = LIST,
                           .pPatchLocationList = locations,
                           .PatchLocationListSize = patches,
                           .PatchLocationListSubmissionLength = patches,
                           .NodeOrdinal = 2};
    assert_int_equal(rig->kmd->DxgkDdiPatch(rig->adapter, &patch), STATUS_SUCCESS);
    assert_memory_equal(front, buffer, start);
    oracle_run(after, bytes, limits, &result);
    judge_what_runs(after, &result);
    // And each packet by itself: of a buffer nothing runs behind the first bad one.
    for (uint32_t at = 0; bytes - at >= 8;) {
        uint32_t length = 4u * (after[at + 2] | (uint32_t)after[at + 3] << 8);

        if (length < 8 || length % 8 || length > bytes - at)
            break;
        oracle_run(after + at, length, limits, &result);
        judge_what_runs(after + at, &result);
        oracle_run(before + at, length, limits, &result);
        judge_what_was_good(before + at, after + at, &result);
        at += length;
    }
}

static void patch_many(struct rig *rig, HANDLE context, const struct oracle_limits *limits)
{
    DXGK_ALLOCATIONLIST list[LIST];

    for (unsigned i = 0; i < LIST; i++) {
        bool aperture = places[i].kind == APERTURE;

        list[i] = (DXGK_ALLOCATIONLIST){.hDeviceSpecificAllocation = make_allocation(rig, places[i].bytes, aperture),
                                        .SegmentId = aperture ? FERRY_KMD_SEGMENT_APERTURE : FERRY_KMD_SEGMENT_LOCAL,
                                        .WriteOperation = places[i].written};
        list[i].PhysicalAddress.QuadPart = (int64_t)(places[i].at + (aperture ? FERRY_KMD_APERTURE_BASE : 0));
    }
    ran = refused = allowed = 0;
    for (unsigned i = 0; i < BUFFERS; i++)
        patch_and_judge(rig, context, list, limits);
    printf("%llu sides ran; of good packets %llu were listed, %llu were not\n", (unsigned long long)ran,
           (unsigned long long)allowed, (unsigned long long)refused);
    assert_true(ran > BUFFERS / 4 && allowed > BUFFERS / 4 && refused > BUFFERS / 4);
    for (unsigned i = 0; i < LIST; i++)
        destroy_allocation(rig, list[i].hDeviceSpecificAllocation);
}

static void a_program_without_addresses_stays_within_its_list(void **state_of_it)
{
    static const struct oracle_limits limits = {
        .aperture_pages = APERTURE_PAGES, .local_limit = LOCAL_BYTES, .tiling = true};
    struct rig *rig = *state_of_it;

    patch_many(rig, rig->user_context, &limits);
}

// What it names by address its page tables judge; by place it reaches no more than the other one. (The rig's own device
// has no process: its addresses are those of the paging process, and none of them runs.)
static void nor_does_one_with_addresses_leave_it(void **state_of_it)
{
    static const struct oracle_limits limits = {
        .aperture_pages = APERTURE_PAGES, .local_limit = LOCAL_BYTES, .tiling = true, .page_tables = true};
    struct rig *rig = *state_of_it;
    DXGKARG_CREATEPROCESS process = {0};

    assert_int_equal(rig->kmd->DxgkDdiCreateProcess(rig->adapter, &process), STATUS_SUCCESS);
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = process.hKmdProcess};
    assert_int_equal(rig->kmd->DxgkDdiCreateDevice(rig->adapter, &device), STATUS_SUCCESS);
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 2};
    assert_int_equal(rig->kmd->DxgkDdiCreateContext(device.hDevice, &context), STATUS_SUCCESS);
    has_addresses = true;
    patch_many(rig, context.hContext, &limits);
    has_addresses = false;
    patch_many(rig, rig->user_context, &limits);
    rig->kmd->DxgkDdiDestroyContext(context.hContext);
    rig->kmd->DxgkDdiDestroyDevice(device.hDevice);
    rig->kmd->DxgkDdiDestroyProcess(rig->adapter, process.hKmdProcess);
}

int main(void)
{
    const struct CMUnitTest model1[] = {CASE(a_program_without_addresses_stays_within_its_list)};
    const struct CMUnitTest model2[] = {CASE(nor_does_one_with_addresses_leave_it)};

    state = draw_state(seed_given(1));
    rig_tiling = true;
    int failures = cmocka_run_group_tests(model1, NULL, NULL);
    rig_model = 2;
    return failures + cmocka_run_group_tests(model2, NULL, NULL);
}
