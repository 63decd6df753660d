// SPDX-License-Identifier: Apache-2.0
#include "addresses.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

// Where the addresses begin that are given here: apart from those that a test chooses.
#define OWN_ADDRESSES (UINT64_C(1) << 47)
#define SLOTS         4096u
#define LARGE_BYTES   (UINT64_C(1) << 21)

bool addresses_wanted(void)
{
    const char *text = getenv("FERRY_TEST_MODEL");
    return text && strcmp(text, "2") == 0;
}

bool addresses_of_paging_wanted(void)
{
    const char *text = getenv("FERRY_TEST_PAGING");
    return text && strcmp(text, "virtual") == 0;
}

#define COUNTS "it counts what stands in a paging buffer, and with addresses operations on tables stand there too"
#define AGAIN                                                                                                          \
    "content shares its buffer with its entries, and such a buffer goes again, each operation alone: "                 \
    "contract_address_faults has these cases"

bool host_tables_wanted(void)
{
    const char *text = getenv("FERRY_TEST_TABLES");
    return text && strcmp(text, "system") == 0;
}

static const struct {
    const char *test, *reason, *miniport; // NULL = any
} left_out[] = {
    {"R1_R12_R13_R96_page_in_is_built_then_submitted", COUNTS, NULL},
    {"R6_R20_R21_R22_R99_R100_insufficient_submits_and_goes_on_in_a_new_buffer", COUNTS, NULL},
    {"R95_each_call_gets_what_is_left", COUNTS, NULL},
    {"who_may_share_a_buffer_does_and_nobody_else", COUNTS, NULL},
    {"nobody_comes_behind_a_page_out_and_its_own", COUNTS, NULL},
    {"R18_R19_R20_R95_R102_every_buffer_size",
     "a packet of tables is longer than one of a page, the least that it knows", "real"},
    {"R34_passes_of_one_sub_transfer_repeat_transfer_start",
     "its buffer of two pages is too short for the miniport's packets of tables", "real"},
    {"a_page_out_survives_the_fault_of_a_strangers_paging", AGAIN, NULL},
    {"a_page_out_goes_alone_behind_its_own_and_a_strangers", AGAIN, NULL},
    {"a_place_that_was_given_away_meanwhile_is_not_read_again", AGAIN, NULL},
    {"faults_of_what_was_taken_back_are_nobodys", AGAIN, NULL},
    {"only_what_faults_alone_is_lost", AGAIN, NULL},
    {"R219_a_faulting_page_in_is_reported", AGAIN, NULL},
    {"a_job_behind_a_page_in_that_faults_does_not_run", AGAIN, NULL},
    {"R182_notify_alloc_is_refused_by_version_and_by_name", "it is there with addresses: contract_notice", NULL},
    {"flags_whose_behaviour_is_not_there_are_refused_by_name", "one of them is there with addresses: contract_notice",
     NULL},
    {"R195_what_is_mapped_is_told_by_each_of_its_addresses", "each has one more there, which the test has not chosen",
     NULL},
    {"what_was_kept_back_goes_out_as_soon_as_who_kept_it_back",
     "a page-out's buffer is over before another takes its place: its addresses are forgotten in that one", NULL},
};

const char *addresses_leave_out(const char *test)
{
    for (size_t i = 0; addresses_wanted() && i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (strcmp(left_out[i].test, test) == 0 &&
            (!left_out[i].miniport || strcmp(left_out[i].miniport, machine_miniport) == 0))
            return left_out[i].reason;
    return NULL;
}

// ---- What the registry is told ----

// Each sort of machine that this case has opened.
static bool said[1u << 4];

void addresses_begin_case(void)
{
    memset(said, 0, sizeof(said));
}

void addresses_say(const struct machine_options *options)
{
    const struct machine_options asked = {.model = addresses_wanted() ? 2 : 1,
                                          .by_address = addresses_wanted() && addresses_of_paging_wanted(),
                                          .host_tables = addresses_wanted() && host_tables_wanted()};
    const struct machine_options *o = options ? options : &asked;
    bool two = o->model == 2;
    unsigned sort = two | (two && o->by_address) << 1u | (two && o->host_tables) << 2u | (unsigned)o->iommu << 3u;
    if (options && said[sort])
        return;
    said[sort] |= options != NULL;
    printf("miniport: %s%s%s%s%s\n", machine_miniport, two ? "/model-2" : "",
           two && o->by_address ? "-virtual-paging" : "", two && o->host_tables ? "-host-tables" : "",
           o->iommu ? "-iommu" : "");
    fflush(stdout); // a case that crashes has said it
}

// ---- What is mapped where ----

struct mapping {
    const struct ferry_vidmm *manager;
    D3DKMT_HANDLE allocation;
    uint64_t address, bytes;
    bool gone; // A test has freed it.
};
static struct mapping mappings[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(const struct mapping *mapping)
{
    pthread_mutex_lock(&lock);
    struct mapping *slot = NULL;
    for (unsigned i = 0; i < SLOTS && !slot; i++)
        if (mappings[i].allocation == 0)
            slot = &mappings[i];
    if (slot)
        *slot = *mapping; // else it is mapped, and jobs name it by patches
    pthread_mutex_unlock(&lock);
}

static struct mapping find(const struct ferry_vidmm *manager, D3DKMT_HANDLE allocation, bool forget)
{
    struct mapping found = {0};
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SLOTS && allocation != 0; i++)
        if (mappings[i].allocation == allocation && mappings[i].manager == manager) {
            found = mappings[i];
            if (forget)
                mappings[i].allocation = 0;
            break;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

// ---- The calls of the tests ----

struct machine *__real_machine_open(const struct machine_options *options);
struct machine *__wrap_machine_open(const struct machine_options *options);
int __real_ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager);
int __wrap_ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager);
int __real_ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device,
                                         const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle,
                                         unsigned *rule);
int __wrap_ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device,
                                         const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle,
                                         unsigned *rule);
int __real_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation);
int __wrap_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation);
int __real_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);
int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence);

// Content has the pages that the test asked for; tables have others behind them.
static uint64_t content_bytes;

struct machine *__wrap_machine_open(const struct machine_options *options)
{
    struct machine_options wanted = *options;
    content_bytes = 0;
    if (addresses_wanted() && options->model == 0) {
        uint64_t tables = options->local_bytes / 32 / PAGE_SIZE;
        content_bytes = options->local_bytes;
        wanted.model = 2;
        wanted.local_bytes += (tables < 32 ? 32 : tables) * PAGE_SIZE;
        // A large page of the segment behind it is aligned on the device too.
        if (options->hidden_bytes != 0)
            wanted.local_bytes = (wanted.local_bytes + LARGE_BYTES - 1) / LARGE_BYTES * LARGE_BYTES;
    }
    wanted.by_address |= wanted.model == 2 && addresses_of_paging_wanted();
    wanted.host_tables |= wanted.model == 2 && host_tables_wanted();
    // A test that chose model 2 counts on what tables leave of video memory.
    if (options->model == 2 && host_tables_wanted()) {
        uint64_t pages = options->local_bytes / PAGE_SIZE, tables = pages / 32 < 8 ? 8 : pages / 32;
        tables += wanted.by_address ? pages / 4 / 512 + 4 : 0;
        wanted.local_bytes -= pages > tables ? tables * PAGE_SIZE : 0;
    }
    addresses_say(&wanted);
    return __real_machine_open(&wanted);
}

int __wrap_ferry_vidmm_start(const struct ferry_vidmm_options *options, struct ferry_vidmm **manager)
{
    struct ferry_vidmm_options wanted;
    memset(mappings, 0, sizeof(mappings)); // those of the manager before, which may have been at the same place
    if (!options || content_bytes == 0)
        return __real_ferry_vidmm_start(options, manager);
    wanted = *options;
    if (wanted.memory_limit_bytes == 0 || wanted.memory_limit_bytes > content_bytes)
        wanted.memory_limit_bytes = content_bytes;
    return __real_ferry_vidmm_start(&wanted, manager);
}

int __wrap_ferry_vidmm_create_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE device,
                                         const struct ferry_vidmm_allocation_options *options, D3DKMT_HANDLE *handle,
                                         unsigned *rule)
{
    int result = __real_ferry_vidmm_create_allocation(manager, device, options, handle, rule);
    struct ferry_vidmm_placement place;
    if (result != FERRY_OK || !addresses_wanted() || ferry_vidmm_placement(manager, *handle, &place) != FERRY_OK)
        return result;
    struct ferry_vidmm_virtual range = {
        .size = sizeof(range), .least = OWN_ADDRESSES, .bytes = place.bytes, .each_instance = true};
    // What gets none is named by patches, as programs do it.
    if (ferry_vidmm_map_virtual(manager, device, *handle, 0, false, &range) == FERRY_OK)
        keep(&(struct mapping){manager, *handle, range.address, range.bytes, false});
    return result;
}

int __wrap_ferry_vidmm_destroy_allocation(struct ferry_vidmm *manager, D3DKMT_HANDLE allocation)
{
    int result = __real_ferry_vidmm_destroy_allocation(manager, allocation);
    if (result == FERRY_OK)
        find(manager, allocation, true);
    return result;
}

// Another instance is the allocation now, at addresses of its own. Asked only when a job was refused for it: who asks
// takes a place in the manager's line, which tests of who comes when count. One whose own addresses a test has freed
// has none, and is still looked for where it was.
static void follow(struct ferry_vidmm *manager, const struct ferry_vidmm_submission *buffer)
{
    for (uint32_t i = 0; buffer->references && i < buffer->reference_count; i++) {
        D3DKMT_HANDLE allocation = buffer->references[i].allocation;
        uint64_t own = 0;
        ferry_vidmm_own_address(manager, allocation, &own);
        pthread_mutex_lock(&lock);
        for (unsigned k = 0; k < SLOTS; k++)
            if (mappings[k].allocation == allocation && mappings[k].manager == manager) {
                mappings[k].address = own != 0 ? own : mappings[k].address;
                mappings[k].gone = own == 0;
            }
        pthread_mutex_unlock(&lock);
    }
}

// A buffer whose patches of what is mapped are done.
struct addressed {
    uint8_t *commands;
    D3DDDI_PATCHLOCATIONLIST *patches;
    uint64_t *addresses;
};

static struct addressed address(struct ferry_vidmm *manager, struct ferry_vidmm_submission *buffer)
{
    struct addressed made = {malloc(buffer->bytes + 1), calloc(buffer->patch_count + 1, sizeof(*made.patches)),
                             calloc(buffer->reference_count + 1, sizeof(*made.addresses))};
    uint32_t left = 0;
    memcpy(made.commands, buffer->commands, buffer->bytes);
    for (uint32_t i = 0; buffer->references && i < buffer->reference_count; i++) {
        const struct mapping mapping = find(manager, buffer->references[i].allocation, false);
        made.addresses[i] = mapping.gone ? FERRY_VIDMM_NOWHERE : mapping.address;
    }
    for (uint32_t i = 0; i < buffer->patch_count; i++) {
        const D3DDDI_PATCHLOCATIONLIST *patch = &buffer->patches[i];
        struct mapping mapping = {0};
        if (buffer->references && patch->AllocationIndex < buffer->reference_count &&
            patch->PatchOffset <= buffer->bytes && buffer->bytes - patch->PatchOffset >= 8)
            mapping = find(manager, buffer->references[patch->AllocationIndex].allocation, false);
        if (mapping.allocation != 0 && patch->AllocationOffset <= mapping.bytes)
            machine_job_by_address(made.commands, patch, mapping.address + patch->AllocationOffset);
        else
            made.patches[left++] = *patch;
    }
    buffer->commands = made.commands;
    buffer->patches = made.patches;
    buffer->patch_count = left;
    buffer->addresses = made.addresses;
    return made;
}

static int submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context, const struct ferry_vidmm_submission *buffers,
                  uint32_t count, uint64_t *fence)
{
    struct ferry_vidmm_submission wanted[64] = {{0}};
    struct addressed made[64] = {0};
    for (uint32_t i = 0; i < count; i++) {
        wanted[i] = buffers[i];
        if (wanted[i].commands && wanted[i].patches && wanted[i].bytes <= sizeof(((struct machine_job *)0)->commands))
            made[i] = address(manager, &wanted[i]);
    }
    int result = __real_ferry_vidmm_submit(manager, context, wanted, count, fence);
    for (uint32_t i = 0; i < count; i++) {
        free(made[i].commands);
        free(made[i].patches);
        free(made[i].addresses);
    }
    return result;
}

int __wrap_ferry_vidmm_submit(struct ferry_vidmm *manager, D3DKMT_HANDLE context,
                              const struct ferry_vidmm_submission *buffers, uint32_t count, uint64_t *fence)
{
    if (!addresses_wanted() || !buffers || count > 64)
        return __real_ferry_vidmm_submit(manager, context, buffers, count, fence);
    int result;
    while ((result = submit(manager, context, buffers, count, fence)) == FERRY_VIDMM_RENAMED)
        for (uint32_t i = 0; i < count; i++)
            follow(manager, &buffers[i]);
    return result;
}
