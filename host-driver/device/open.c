// SPDX-License-Identifier: Apache-2.0
// Open and close.
#include <stdlib.h>

#include "device/device_state.h"
#include "link/problem.h"

#define DEFAULT_ENGINE_TIMEOUT     100000u
#define DEFAULT_COMPLETION_TIMEOUT 50000u
#define RESET_POLL_CYCLES          500u
// A slot's number has two bits; addresses of the aperture have 32, and BAR2, which is twice as large as video memory,
// is to have a place among a host's.
#define SLOTS_MOST          4u
#define APERTURE_PAGES_MOST (1u << 20)
#define LOCAL_BYTES_MOST    ((uint64_t)1 << 40)

/// Which board the bitstream is for, as it says: 15 letters at most.
static int read_board(struct ferry_gpu *gpu, char letters[16])
{
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t word;
        int error = ferry_gpu_register_read(gpu, FERRY_BAR0_BOARD + 4 * n, &word);
        if (error != FERRY_OK) {
            return error;
        }
        for (uint32_t i = 0; i < 4; i++) {
            letters[4 * n + i] = (char)(word >> 8 * i & 0x7f);
        }
    }
    letters[15] = 0;
    return FERRY_OK;
}

/// What no device of this contract has is a register that was read wrong, or no device: nothing is worked out of it.
static bool sizes_are_possible(const struct ferry_gpu_info *info)
{
    const struct {
        const char *of;
        uint64_t is, least, most;
        uint32_t of_each;
    } sizes[] = {
        {"rings", info->rings, 1, FERRY_BAR0_RING_COUNT, 1},
        {"views", info->views, 0, FERRY_BAR0_VIEW_COUNT, 1},
        {"command slots", info->slots, 2, SLOTS_MOST, 1},
        {"bytes of a command slot", info->slot_bytes, 512, 4096, 1},
        {"bytes of video memory", info->local_bytes, 4096, LOCAL_BYTES_MOST, 4096},
        {"pages of aperture", info->aperture_pages, 1, APERTURE_PAGES_MOST, 1},
        {"bytes of firmware RAM", info->firmware_ram_bytes, 4, FERRY_BAR0_FIRMWARE_RAM_SPAN, 4},
    };
    for (size_t n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
        if (sizes[n].is < sizes[n].least || sizes[n].is > sizes[n].most || sizes[n].is % sizes[n].of_each != 0) {
            ferry_problem_set("the device says that it has %llu %s, and of this contract there are %llu to %llu%s: is "
                              "its bitstream whole?",
                              (unsigned long long)sizes[n].is, sizes[n].of, (unsigned long long)sizes[n].least,
                              (unsigned long long)sizes[n].most, sizes[n].of_each == 4096 ? ", in whole pages" : "");
            return false;
        }
    }
    return true;
}

static int identify(struct ferry_gpu *gpu)
{
    uint32_t magic, version, capabilities;
    struct ferry_gpu_info *info = &gpu->info;
    int error = ferry_gpu_register_read(gpu, FERRY_BAR0_MAGIC, &magic);
    if (error != FERRY_OK ||
        (error = ferry_gpu_register_read(gpu, FERRY_BAR0_CONTRACT_VERSION, &version)) != FERRY_OK) {
        return error;
    }
    if (magic != FERRY_BAR0_MAGIC_RESET) {
        ferry_problem_set("the device answers with %08x, as none of this driver's does: is its bitstream whole?",
                          magic);
        return FERRY_ERROR_CONTRACT;
    }
    if (FERRY_GET(FERRY_BAR0_CONTRACT_VERSION_MAJOR, version) != FERRY_BAR0_CONTRACT_VERSION_MAJOR_RESET) {
        return ferry_problem_contract("the link's other end", version);
    }
    if ((info->link.device[0] == 0 && (error = read_board(gpu, info->link.device)) != FERRY_OK) ||
        (error = ferry_gpu_register_read(gpu, FERRY_BAR0_CAPABILITIES, &capabilities)) != FERRY_OK ||
        (error = ferry_gpu_register_read(gpu, FERRY_BAR0_APERTURE_PAGES, &info->aperture_pages)) != FERRY_OK ||
        (error = ferry_gpu_register_read(gpu, FERRY_BAR0_FIRMWARE_RAM_BYTES, &info->firmware_ram_bytes)) != FERRY_OK ||
        (error = ferry_gpu_register_read64(gpu, FERRY_BAR0_LOCAL_BYTES, &info->local_bytes)) != FERRY_OK) {
        return error;
    }
    info->contract_version = version;
    info->rings = FERRY_GET(FERRY_BAR0_CAPABILITIES_RINGS, capabilities);
    info->tags = 1u << FERRY_GET(FERRY_BAR0_CAPABILITIES_TAGS_LOG2, capabilities);
    info->slots = FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOTS, capabilities);
    info->page_tables = FERRY_GET(FERRY_BAR0_CAPABILITIES_PAGE_TABLES, capabilities) != 0;
    info->tiling = FERRY_GET(FERRY_BAR0_CAPABILITIES_TILING, capabilities) != 0;
    info->views = FERRY_GET(FERRY_BAR0_CAPABILITIES_VIEWS, capabilities);
    info->slot_bytes = 1u << FERRY_GET(FERRY_BAR0_CAPABILITIES_SLOT_BYTES_LOG2, capabilities);
    info->data_bytes = 1u << FERRY_GET(FERRY_BAR0_CAPABILITIES_DATA_BYTES_LOG2, capabilities);
    return sizes_are_possible(info) ? FERRY_OK : FERRY_ERROR_CONTRACT;
}

/// A driver before this one may have left rings, records and jobs, in memory that is somebody else's by now: the host's
/// version is written by every driver, and it is 0 after a reset.
static int take_over(struct ferry_gpu *gpu)
{
    const struct ferry_link_operations *link = gpu->link->operations;
    uint32_t host_contract, status;
    int error = ferry_gpu_register_read(gpu, FERRY_BAR0_HOST_CONTRACT, &host_contract);
    if (error != FERRY_OK || host_contract == 0) {
        return error;
    }
    error = link->reset == NULL ? FERRY_ERROR_UNSUPPORTED : link->reset(gpu->link);
    for (uint64_t waited = 0; error == FERRY_OK; waited += RESET_POLL_CYCLES) {
        if ((error = ferry_gpu_register_read(gpu, FERRY_BAR0_HOST_CONTRACT, &host_contract)) != FERRY_OK ||
            (error = ferry_gpu_register_read(gpu, FERRY_BAR0_STATUS, &status)) != FERRY_OK ||
            (host_contract == 0 && status == 0)) {
            break;
        }
        error = waited >= FERRY_GPU_DEFAULT_TIMEOUT ? FERRY_ERROR_TIMEOUT : ferry_gpu_pump(gpu, RESET_POLL_CYCLES);
    }
    return error;
}

static int set_up(struct ferry_gpu *gpu, const struct ferry_gpu_options *options)
{
    int error =
        ferry_gpu_memory_make(gpu, FERRY_BAR0_RING_COUNT * FERRY_GPU_RECORD_STRIDE, FERRY_DMA_WATCH, &gpu->records);
    if (error != FERRY_OK || (error = ferry_gpu_memory_make(gpu, FERRY_FAULT_RECORD_SIZE << FERRY_GPU_FAULT_LOG_LOG2,
                                                            FERRY_DMA_WATCH, &gpu->fault_log)) != FERRY_OK) {
        return error;
    }
    // What the link itself may take is no lack of progress. The device gives a read up an eighth later at most
    // (ferry_tag_table); only behind that the engine may give up the host.
    const struct ferry_link_operations *link = gpu->link->operations;
    const uint32_t delay = link->delay == NULL ? 0 : link->delay(gpu->link);
    const struct {
        uint32_t offset, value;
    } settings[] = {
        {FERRY_BAR0_HOST_CONTRACT,
         options->host_contract != 0
             ? options->host_contract
             : FERRY_PUT(FERRY_BAR0_CONTRACT_VERSION_MAJOR, (uint32_t)FERRY_BAR0_CONTRACT_VERSION_MAJOR_RESET)},
        {FERRY_BAR0_ENGINE_TIMEOUT,
         delay + delay / 8 + (options->engine_timeout != 0 ? options->engine_timeout : DEFAULT_ENGINE_TIMEOUT)},
        {FERRY_BAR0_COMPLETION_TIMEOUT,
         delay + (options->completion_timeout != 0 ? options->completion_timeout : DEFAULT_COMPLETION_TIMEOUT)},
        {FERRY_BAR0_TAG_LIMIT, options->tag_limit},
        {FERRY_BAR0_INTERRUPT_COALESCE, FERRY_PUT(FERRY_BAR0_INTERRUPT_COALESCE_COUNT, options->interrupt_count) |
                                            FERRY_PUT(FERRY_BAR0_INTERRUPT_COALESCE_CYCLES, options->interrupt_cycles)},
        {FERRY_BAR0_INTERRUPT_STATUS, 0xffffffffu},
        {FERRY_BAR0_INTERRUPT_ENABLE, FERRY_BAR0_INTERRUPT_STATUS_RING_MASK | FERRY_BAR0_INTERRUPT_STATUS_FAULT_MASK |
                                          FERRY_BAR0_INTERRUPT_STATUS_HALT_MASK},
        {FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, FERRY_GPU_FAULT_LOG_LOG2},
        {FERRY_BAR0_FAULT_LOG_CONSUMED, 0},
    };
    for (size_t n = 0; n < sizeof(settings) / sizeof(settings[0]); n++) {
        if ((error = ferry_gpu_register_write(gpu, settings[n].offset, settings[n].value)) != FERRY_OK) {
            return error;
        }
    }
    return ferry_gpu_register_write64(gpu, FERRY_BAR0_FAULT_LOG_ADDRESS, gpu->fault_log.bus);
}

static void tell_refusals(struct ferry_gpu *gpu, ferry_link_refused_write *handler)
{
    if (gpu->link->operations->tell_refused != NULL) {
        gpu->link->operations->tell_refused(gpu->link, handler, gpu);
    }
}

void ferry_gpu_silence(struct ferry_gpu *gpu)
{
    // What is still on its way to memory that goes away is refused there, or does not leave the device.
    if (gpu->link->operations->silence != NULL) {
        gpu->link->operations->silence(gpu->link);
    }
}

/// Everything but the link.
static void drop(struct ferry_gpu *gpu)
{
    tell_refusals(gpu, NULL);
    ferry_gpu_silence(gpu);
    free(gpu->refusal);
    for (uint32_t ring = 0; ring < FERRY_BAR0_RING_COUNT; ring++) {
        ferry_gpu_memory_drop(gpu, &gpu->ring[ring].memory);
    }
    ferry_gpu_memory_drop(gpu, &gpu->records);
    ferry_gpu_memory_drop(gpu, &gpu->fault_log);
    pthread_mutex_destroy(&gpu->mutex);
    free(gpu);
}

int ferry_gpu_open(struct ferry_link *link, const struct ferry_gpu_options *options, struct ferry_gpu **gpu)
{
    const struct ferry_gpu_options defaults = {.size = sizeof(defaults)};
    options = options == NULL ? &defaults : options;
    if (link == NULL || gpu == NULL || options->size != sizeof(*options)) {
        return FERRY_ERROR_ARGUMENT;
    }
    struct ferry_gpu *made = calloc(1, sizeof(*made));
    if (made == NULL || pthread_mutex_init(&made->mutex, NULL) != 0) {
        free(made);
        return FERRY_ERROR_NO_HOST_MEMORY;
    }
    made->link = link;
    tell_refusals(made, ferry_gpu_refusals_note);
    if (link->operations->describe != NULL) {
        link->operations->describe(link, &made->info.link);
    }
    int error = identify(made);
    error = error == FERRY_OK ? take_over(made) : error;
    error = error == FERRY_OK ? ferry_gpu_register_write(made, FERRY_BAR0_CONTROL, 0) : error;
    error = error == FERRY_OK ? set_up(made, options) : error;
    error = error == FERRY_OK ? ferry_gpu_firmware_load(made, options->firmware_file) : error;
    error = error == FERRY_OK ? ferry_gpu_firmware_start(made, options->boot_timeout) : error;
    if (error != FERRY_OK) {
        drop(made);
        return error;
    }
    *gpu = made;
    return FERRY_OK;
}

void ferry_gpu_close(struct ferry_gpu *gpu)
{
    if (gpu == NULL) {
        return;
    }
    // With the core held in reset nothing starts any more.
    struct ferry_link *link = gpu->link;
    (void)ferry_gpu_register_write(gpu, FERRY_BAR0_CONTROL, 0);
    drop(gpu);
    link->operations->close(link);
}

void ferry_gpu_query(const struct ferry_gpu *gpu, struct ferry_gpu_info *info)
{
    *info = gpu->info;
}
