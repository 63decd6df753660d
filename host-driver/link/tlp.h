// SPDX-License-Identifier: Apache-2.0
// PCIe transaction-layer packets as arrays of 32-bit words: headers in the numeric layout of PCI Express Base
// Specification section 2.2 (Fmt and Type in bits 31:24 of word 0), payload words with the lowest-address byte in bits
// 7:0. No digest, no prefixes. Pure functions, any thread.
#ifndef FERRY_LINK_TLP_H
#define FERRY_LINK_TLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Words of the longest packet here: a header of 4 and 256 bytes of payload.
#define FERRY_TLP_MAX_WORDS 68u

enum ferry_tlp_kind {
    FERRY_TLP_MEMORY_READ,
    FERRY_TLP_MEMORY_WRITE,
    FERRY_TLP_CONFIG_READ, // Configuration Type 0.
    FERRY_TLP_CONFIG_WRITE,
    FERRY_TLP_COMPLETION, // Without data.
    FERRY_TLP_COMPLETION_DATA,
    FERRY_TLP_OTHER, // A well-formed first word of a kind that this link does not carry.
};

enum ferry_tlp_status { // Completion status, section 2.2.9.
    FERRY_TLP_SUCCESS = 0,
    FERRY_TLP_UNSUPPORTED_REQUEST = 1,
    FERRY_TLP_RETRY = 2, // Configuration request retry.
    FERRY_TLP_COMPLETER_ABORT = 4,
};

struct ferry_tlp {
    enum ferry_tlp_kind kind;
    bool poisoned;          // EP: the payload is known to be bad.
    bool relaxed, no_snoop; // Attributes.
    uint8_t traffic_class;
    uint16_t requester; // Bus 15:8, device 7:3, function 2:0.
    uint8_t tag;
    uint32_t length; // 32-bit words asked for or carried, 1 to 1024; 0 only in a completion without data.
    // Requests.
    uint8_t first_enable, last_enable; // Byte enables; last is 0 when length is 1.
    uint64_t address;                  // Multiple of 4. Configuration: the register's byte offset, 0 to 4092.
    uint16_t target;                   // Configuration: bus, device and function asked.
    // Completions.
    uint16_t completer;
    uint8_t status;          // enum ferry_tlp_status.
    uint16_t byte_count;     // Bytes left for the request, this packet's included; 1 to 4096.
    uint8_t lower_address;   // Low 7 bits of the first byte's address.
    const uint32_t *payload; // `length` words, in the words that were decoded or are to be encoded; NULL without data.
};

/// Bytes from the first to the last enabled byte of a memory request (section 2.2.9, byte count); 1 for a read of
/// zero bytes.
uint32_t ferry_tlp_span(uint32_t length, uint8_t first_enable, uint8_t last_enable);
/// Place of the first enabled byte in its word; 0 when none is enabled.
uint32_t ferry_tlp_first_byte(uint8_t first_enable);
/// The enables of `bytes` (1 and more) bytes from `address` on; returns the length in words.
uint32_t ferry_tlp_enables(uint64_t address, uint32_t bytes, uint8_t *first_enable, uint8_t *last_enable);

/// Write the packet's words (room for 4 + length) and return their number. An address of 4 GiB and more makes a header
/// of four words, as section 2.2.4.1 asks. The struct must describe a packet that decodes again.
size_t ferry_tlp_encode(const struct ferry_tlp *tlp, uint32_t *words);
/// Take a packet apart; payload points into `words`. false when it is malformed: not the number of words that the
/// header tells, byte enables against section 2.2.5, a 4-word header for an address below 4 GiB, a memory request
/// across 4 KiB.
bool ferry_tlp_decode(const uint32_t *words, size_t count, struct ferry_tlp *tlp);

#ifdef __cplusplus
}
#endif
#endif
