// SPDX-License-Identifier: Apache-2.0
// Bus enumeration as firmware of a PC does it: identify, size and place the BARs, walk the capabilities, set payload
// and read sizes, point interrupt messages at us, then let the device decode and master.
#include "ferry_contract.h"
#include "link/problem.h"
#include "link/root_complex_state.h"

#define BAR0_BASE       0x00000000e0000000ull
#define BAR2_BASE       0x0000004000000000ull
#define CAPABILITY_PCIE 0x10u
#define CAPABILITY_MSI  0x05u
#define DEVICE_TAGS     32u // More are never in use (contract, config_space.DEVICE_CAPABILITIES).

static int config_read(struct ferry_root_complex *rc, uint32_t offset, uint32_t *value)
{
    struct ferry_tlp tlp = {
        .kind = FERRY_TLP_CONFIG_READ, .length = 1, .first_enable = 0xf, .address = offset, .target = FERRY_RC_DEVICE};
    uint32_t tag;
    int error = ferry_rc_start_read(rc, &tlp, value, 4, &tag);
    return error != FERRY_OK ? error : ferry_rc_finish_read(rc, tag);
}

static int config_write(struct ferry_root_complex *rc, uint32_t offset, uint32_t value)
{
    struct ferry_tlp tlp = {.kind = FERRY_TLP_CONFIG_WRITE,
                            .length = 1,
                            .first_enable = 0xf,
                            .address = offset,
                            .target = FERRY_RC_DEVICE,
                            .payload = &value};
    uint32_t tag;
    int error = ferry_rc_start_read(rc, &tlp, NULL, 0, &tag);
    return error != FERRY_OK ? error : ferry_rc_finish_read(rc, tag);
}

/// Change the masked bits of a register.
static int config_change(struct ferry_root_complex *rc, uint32_t offset, uint32_t mask, uint32_t bits)
{
    uint32_t value;
    int error = config_read(rc, offset, &value);
    return error != FERRY_OK ? error : config_write(rc, offset, (value & ~mask) | (bits & mask));
}

/// Write all ones, see which bits stay: the size of a BAR (PCI section 6.2.5.1).
static int probe(struct ferry_root_complex *rc, uint32_t offset, uint32_t *mask)
{
    int error = config_write(rc, offset, 0xffffffffu);
    return error != FERRY_OK ? error : config_read(rc, offset, mask);
}

/// It is none of ours, or nothing whole.
static int not_as_ours(const char *what)
{
    ferry_problem_set("%s as this driver's devices have it: is its bitstream whole, and of this release?", what);
    return FERRY_ERROR_BACKEND;
}

static bool power_of_two(uint64_t bytes)
{
    return bytes != 0 && (bytes & (bytes - 1)) == 0;
}

static int place_bars(struct ferry_root_complex *rc)
{
    uint32_t low, high;
    int error = probe(rc, FERRY_CONFIG_SPACE_BAR0, &low);
    if (error != FERRY_OK) {
        return error;
    }
    rc->bar_bytes[0] = (uint32_t)(~(low & ~15u) + 1);
    rc->bar_base[0] = BAR0_BASE;
    // A 32-bit memory BAR of one page at least; the registers need 64 KiB.
    if ((low & 7u) != 0 || !power_of_two(rc->bar_bytes[0]) || rc->bar_bytes[0] < 0x10000u ||
        BAR0_BASE % rc->bar_bytes[0] != 0) {
        return not_as_ours("the device answers, but its BAR0 is not");
    }
    if ((error = probe(rc, FERRY_CONFIG_SPACE_BAR2_LOW, &low)) != FERRY_OK ||
        (error = probe(rc, FERRY_CONFIG_SPACE_BAR2_HIGH, &high)) != FERRY_OK) {
        return error;
    }
    rc->bar_bytes[2] = ~((uint64_t)high << 32 | (low & ~15u)) + 1;
    rc->bar_base[2] = BAR2_BASE;
    if ((low & 7u) != 4u || !power_of_two(rc->bar_bytes[2]) || BAR2_BASE % rc->bar_bytes[2] != 0) {
        return not_as_ours("the device answers, but its BAR2 is not");
    }
    if ((error = config_write(rc, FERRY_CONFIG_SPACE_BAR0, (uint32_t)BAR0_BASE)) != FERRY_OK ||
        (error = config_write(rc, FERRY_CONFIG_SPACE_BAR2_LOW, (uint32_t)BAR2_BASE)) != FERRY_OK) {
        return error;
    }
    return config_write(rc, FERRY_CONFIG_SPACE_BAR2_HIGH, (uint32_t)(BAR2_BASE >> 32));
}

/// Set sizes in the PCI Express capability at `at`; what the device supports bounds what was asked for.
static int set_sizes(struct ferry_root_complex *rc, uint32_t at)
{
    const uint32_t shift = at - FERRY_CONFIG_SPACE_PCIE;
    uint32_t capabilities;
    rc->express = at;
    int error = config_read(rc, FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES + shift, &capabilities);
    if (error != FERRY_OK) {
        return error;
    }
    uint32_t supported = 128u << FERRY_GET(FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_MAX_PAYLOAD, capabilities);
    rc->max_payload = rc->max_payload < supported ? rc->max_payload : supported;
    uint32_t read_code = rc->max_read == 512 ? 2 : rc->max_read == 256 ? 1 : 0;
    uint32_t control = FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD, rc->max_payload == 256 ? 1u : 0u) |
                       FERRY_PUT(FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ, read_code) |
                       FERRY_CONFIG_SPACE_DEVICE_CONTROL_EXTENDED_TAG_ENABLE_MASK;
    uint32_t mask = FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_PAYLOAD_MASK |
                    FERRY_CONFIG_SPACE_DEVICE_CONTROL_MAX_READ_MASK |
                    FERRY_CONFIG_SPACE_DEVICE_CONTROL_EXTENDED_TAG_ENABLE_MASK;
    error = config_change(rc, FERRY_CONFIG_SPACE_DEVICE_CONTROL + shift, mask, control);
    return error != FERRY_OK ? error
                             : config_change(rc, FERRY_CONFIG_SPACE_LINK_CONTROL + shift,
                                             FERRY_CONFIG_SPACE_LINK_CONTROL_READ_COMPLETION_BOUNDARY_MASK,
                                             FERRY_PUT(FERRY_CONFIG_SPACE_LINK_CONTROL_READ_COMPLETION_BOUNDARY,
                                                       rc->boundary == 128 ? 1u : 0u));
}

static int set_messages(struct ferry_root_complex *rc, uint32_t at)
{
    const uint32_t shift = at - FERRY_CONFIG_SPACE_MSI;
    int error = config_write(rc, FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW + shift, FERRY_RC_MESSAGE_ADDRESS);
    if (error != FERRY_OK || (error = config_write(rc, FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH + shift, 0)) != FERRY_OK ||
        (error = config_write(rc, FERRY_CONFIG_SPACE_MSI_DATA + shift, FERRY_RC_MESSAGE_DATA)) != FERRY_OK ||
        (error = config_write(rc, FERRY_CONFIG_SPACE_MSI_MASK + shift, 0)) != FERRY_OK) {
        return error;
    }
    return config_change(rc, FERRY_CONFIG_SPACE_MSI + shift, FERRY_CONFIG_SPACE_MSI_ENABLE_MASK,
                         FERRY_CONFIG_SPACE_MSI_ENABLE_MASK);
}

static int walk_capabilities(struct ferry_root_complex *rc)
{
    uint32_t word;
    bool sizes = false;
    bool messages = false;
    int error = config_read(rc, FERRY_CONFIG_SPACE_CAPABILITY, &word);
    if (error != FERRY_OK) {
        return error;
    }
    uint32_t at = word & 0xfc;
    // 48 capabilities is all that fits into the space; more means that the list bites its tail.
    for (int n = 0; n < 48 && at != 0; n++) {
        if ((error = config_read(rc, at, &word)) != FERRY_OK) {
            return error;
        }
        if ((word & 0xff) == CAPABILITY_PCIE) {
            sizes = true;
            error = set_sizes(rc, at);
        } else if ((word & 0xff) == CAPABILITY_MSI) {
            messages = true;
            error = set_messages(rc, at);
        }
        if (error != FERRY_OK) {
            return error;
        }
        at = word >> 8 & 0xfc;
    }
    return at == 0 && sizes && messages ? FERRY_OK
                                        : not_as_ours("the device answers, but its list of capabilities is not");
}

int ferry_rc_enumerate(struct ferry_root_complex *rc)
{
    uint32_t id;
    int error = config_read(rc, FERRY_CONFIG_SPACE_ID, &id);
    if (error != FERRY_OK) {
        return error;
    }
    if (FERRY_GET(FERRY_CONFIG_SPACE_ID_VENDOR, id) != FERRY_CONFIG_SPACE_ID_VENDOR_RESET ||
        FERRY_GET(FERRY_CONFIG_SPACE_ID_DEVICE, id) != FERRY_CONFIG_SPACE_ID_DEVICE_RESET) {
        ferry_problem_set("the device says that it is %04x:%04x, and this driver's are %04x:%04x: take bitstream and "
                          "driver from one tree, where contract/records.rdl has the ids",
                          FERRY_GET(FERRY_CONFIG_SPACE_ID_VENDOR, id), FERRY_GET(FERRY_CONFIG_SPACE_ID_DEVICE, id),
                          (unsigned)FERRY_CONFIG_SPACE_ID_VENDOR_RESET, (unsigned)FERRY_CONFIG_SPACE_ID_DEVICE_RESET);
        return FERRY_ERROR_BACKEND;
    }
    if ((error = place_bars(rc)) != FERRY_OK || (error = walk_capabilities(rc)) != FERRY_OK) {
        return error;
    }
    const uint32_t enable = FERRY_CONFIG_SPACE_COMMAND_MEMORY_ENABLE_MASK | FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK;
    return config_change(rc, FERRY_CONFIG_SPACE_COMMAND, enable, enable);
}

/// What the device had asked whoever was here before, nobody else will answer: his packets went with him. A read that a
/// reset breaks off keeps its tag until an answer comes, or for many times the completion time-out: with all tags like
/// that the device reads nothing. A tag that waits for none counts an unexpected completion; the reset clears that.
static int answer_what_is_owed(struct ferry_root_complex *rc)
{
    struct ferry_tlp answer = {.kind = FERRY_TLP_COMPLETION,
                               .requester = FERRY_RC_DEVICE,
                               .completer = FERRY_RC_REQUESTER,
                               .status = FERRY_TLP_UNSUPPORTED_REQUEST,
                               .byte_count = 4};
    int error = config_change(rc, FERRY_CONFIG_SPACE_COMMAND, FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK, 0);
    for (unsigned tag = 0; tag < DEVICE_TAGS && error == FERRY_OK; tag++) {
        answer.tag = (uint8_t)tag;
        error = ferry_rc_send(rc, &answer);
    }
    return error;
}

int ferry_rc_reset(struct ferry_root_complex *rc)
{
    const uint32_t shift = rc->express - FERRY_CONFIG_SPACE_PCIE;
    const uint32_t begin = FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK;
    uint32_t capabilities;
    int error = config_read(rc, FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES + shift, &capabilities);
    if (error == FERRY_OK && FERRY_GET(FERRY_CONFIG_SPACE_DEVICE_CAPABILITIES_FUNCTION_RESET, capabilities) == 0) {
        return FERRY_ERROR_UNSUPPORTED;
    }
    error = error == FERRY_OK ? answer_what_is_owed(rc) : error;
    error = error == FERRY_OK ? config_change(rc, FERRY_CONFIG_SPACE_DEVICE_CONTROL + shift, begin, begin) : error;
    // The device answers to configuration at once; whoever must wait for more sees it in the registers.
    return error == FERRY_OK ? ferry_rc_enumerate(rc) : error;
}
