// SPDX-License-Identifier: Apache-2.0
#include "server/slot.h"

#include <stdio.h>
#include <string.h>

#include "ferry_contract.h"

#define BAR3         0x1cu  // Upper word of BAR2's address.
#define REST         50000u // Cycles without work until nothing comes any more: memory, the firmware that starts.
#define QUEUED_WORDS 2048u  // Writes of the guest's may wait; with more of them the device runs first.
#define LARGEST      256u   // Payload; the device has no larger ones.
#define LARGEST_READ 512u

// ---- The device as a transport ----------------------------------------------------------------------------------

static int sim_send(void *context, const uint32_t *words, size_t count)
{
    struct slot *slot = context;
    if (ferry_sim_violation(slot->sim) != NULL) {
        return FERRY_ERROR_DEVICE_LOST;
    }
    return ferry_sim_send(slot->sim, words, count) ? FERRY_OK : FERRY_ERROR_BUSY;
}

static const uint32_t *sim_receive(void *context, size_t *count)
{
    return ferry_sim_receive(((struct slot *)context)->sim, count);
}

static uint64_t sim_run(void *context, uint64_t cycles)
{
    struct slot *slot = context;
    const uint64_t ran = ferry_sim_run(slot->sim, cycles);
    const char *violation = ferry_sim_violation(slot->sim);
    if (violation != NULL && !slot->told) {
        slot->told = true;
        fprintf(stderr, "ferry-sim: simulation stopped at cycle %llu: %s\n",
                (unsigned long long)ferry_sim_cycles(slot->sim), violation);
    }
    return ran;
}

static uint64_t sim_cycles(void *context)
{
    return ferry_sim_cycles(((struct slot *)context)->sim);
}

// ---- Open and close ---------------------------------------------------------------------------------------------

static bool power_on(struct slot *slot)
{
    slot->sim = ferry_sim_open(&slot->config);
    if (slot->sim == NULL) {
        fprintf(stderr, "ferry-sim: no memory for the device, or its waves cannot be written\n");
        return false;
    }
    slot->rc = (struct ferry_root_complex){
        .transport = {.context = slot, .send = sim_send, .receive = sim_receive, .run = sim_run, .cycles = sim_cycles},
        .find = guest_memory_find,
        .memory = &slot->memory,
        .max_payload = 128, // As after power-on; look_at_sizes() follows the guest.
        .max_read = LARGEST_READ,
        .boundary = 64,
    };
    slot->rested = 0;
    slot->told = false;
    return true;
}

bool slot_open(struct slot *slot, const struct ferry_sim_config *config)
{
    *slot = (struct slot){.config = *config};
    return power_on(slot);
}

void slot_close(struct slot *slot)
{
    guest_memory_drop(&slot->memory);
    if (slot->sim != NULL) {
        ferry_sim_close(slot->sim);
        slot->sim = NULL;
    }
}

bool slot_reset(struct slot *slot)
{
    ferry_sim_close(slot->sim);
    return power_on(slot);
}

// ---- Configuration ----------------------------------------------------------------------------------------------

static uint32_t config_word(struct slot *slot, uint32_t address)
{
    struct ferry_tlp tlp = {.kind = FERRY_TLP_CONFIG_READ,
                            .length = 1,
                            .first_enable = 0xf,
                            .address = address & ~3u,
                            .target = FERRY_RC_DEVICE};
    uint32_t word, tag;
    if (ferry_rc_start_read(&slot->rc, &tlp, &word, 4, &tag) != FERRY_OK ||
        ferry_rc_finish_read(&slot->rc, tag) != FERRY_OK) {
        return 0xffffffffu;
    }
    return word;
}

/// The guest decides how long the device's packets may be, and what it may be sent.
static void look_at_sizes(struct slot *slot)
{
    const uint32_t control = config_word(slot, FERRY_CONFIG_SPACE_DEVICE_CONTROL);
    const uint32_t payload = 128u << FERRY_GET(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD, control);
    const uint32_t read = 128u << FERRY_GET(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ, control);
    slot->rc.max_payload = payload < LARGEST ? payload : LARGEST;
    slot->rc.max_read = read < LARGEST_READ ? read : LARGEST_READ;
}

uint32_t slot_config_read(struct slot *slot, uint32_t address, unsigned bytes)
{
    uint32_t word = config_word(slot, address);
    slot->rested = 0;
    // The virtual machine knows no BARs of 64 bits. The upper word, which it takes for a BAR of its own, stays zero.
    if ((address & ~3u) == FERRY_CONFIG_SPACE_BAR2_LOW) {
        word &= ~15u;
    }
    word >>= 8 * (address & 3u);
    return bytes == 4 ? word : word & ((1u << 8 * bytes) - 1u);
}

void slot_config_write(struct slot *slot, uint32_t address, unsigned bytes, uint32_t value)
{
    const uint32_t word = value << 8 * (address & 3u);
    struct ferry_tlp tlp = {.kind = FERRY_TLP_CONFIG_WRITE,
                            .length = 1,
                            .first_enable = (uint8_t)(((1u << bytes) - 1u) << (address & 3u)),
                            .address = address & ~3u,
                            .target = FERRY_RC_DEVICE,
                            .payload = &word};
    uint32_t tag;
    slot->rested = 0;
    if ((address & ~3u) == BAR3 || ferry_rc_start_read(&slot->rc, &tlp, NULL, 0, &tag) != FERRY_OK) {
        return;
    }
    (void)ferry_rc_finish_read(&slot->rc, tag);
    if ((address & ~3u) == FERRY_CONFIG_SPACE_DEVICE_CONTROL) {
        look_at_sizes(slot);
    }
}

// ---- Registers and video memory ---------------------------------------------------------------------------------

uint64_t slot_read(struct slot *slot, uint64_t address, unsigned bytes)
{
    struct ferry_tlp tlp = {.kind = FERRY_TLP_MEMORY_READ, .address = address & ~3ull};
    uint64_t value = 0;
    uint32_t tag;
    slot->rested = 0;
    tlp.length = ferry_tlp_enables(address, bytes, &tlp.first_enable, &tlp.last_enable);
    if (ferry_rc_start_read(&slot->rc, &tlp, &value, bytes, &tag) != FERRY_OK ||
        ferry_rc_finish_read(&slot->rc, tag) != FERRY_OK) {
        value = UINT64_MAX;
    }
    return bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1u);
}

void slot_write(struct slot *slot, uint64_t address, unsigned bytes, uint64_t value)
{
    uint32_t payload[2] = {0};
    struct ferry_tlp tlp = {.kind = FERRY_TLP_MEMORY_WRITE,
                            .requester = FERRY_RC_REQUESTER,
                            .address = address & ~3ull,
                            .payload = payload};
    slot->rested = 0;
    tlp.length = ferry_tlp_enables(address, bytes, &tlp.first_enable, &tlp.last_enable);
    memcpy((unsigned char *)payload + address % 4, &value, bytes);
    (void)ferry_rc_send(&slot->rc, &tlp);
    while (ferry_sim_queued(slot->sim) > QUEUED_WORDS && ferry_rc_run(&slot->rc, 64)) {
    }
}

// ---- Time -------------------------------------------------------------------------------------------------------

bool slot_busy(const struct slot *slot)
{
    return slot->rested < REST && ferry_sim_violation(slot->sim) == NULL;
}

void slot_run(struct slot *slot, uint64_t cycles)
{
    const uint64_t start = ferry_sim_cycles(slot->sim);
    while (ferry_sim_cycles(slot->sim) - start < cycles &&
           ferry_rc_run(&slot->rc, cycles - (ferry_sim_cycles(slot->sim) - start))) {
    }
    slot->rested = ferry_sim_busy(slot->sim) ? 0 : slot->rested + cycles;
}
