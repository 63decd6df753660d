// SPDX-License-Identifier: Apache-2.0
// Address spaces for the engine's tests: tables in video memory, written into the machine, into its reference and into
// those that the walker of tests/rtl/mmu reads, which knows nothing of the engine.
#ifndef FERRY_TEST_SPACES_H
#define FERRY_TEST_SPACES_H

#include <unordered_map>

#include "suite.h"

namespace gpu
{
#include "../mmu/tables.h"
}

struct Spaces {
    Machine &machine;
    Reference &reference;
    gpu::Tables tables;
    // Next page for a table, and where there are no more.
    uint64_t next_table, end;

    Spaces(Machine &to, Reference &expected, uint64_t begin, uint64_t behind)
        : machine(to), reference(expected), next_table(begin), end(behind)
    {
        tables.limits.local = machine.local.bytes.size();
        machine.tables_begin = begin;
        reference.virtual_place = [this](unsigned space, uint64_t address) {
            gpu::Answer answer = tables.walk({space, address, false, true});
            if (answer.fault != FERRY_FAULT_KIND_NONE)
                throw std::runtime_error("a test asks for what it did not map");
            return std::pair<bool, uint64_t>(answer.host, answer.address + address % 4096);
        };
    }
    uint64_t new_table()
    {
        uint64_t table = next_table;
        next_table += 4096;
        if (next_table > end)
            throw std::runtime_error("no room for a table");
        for (unsigned i = 0; i < 512; i++)
            put(table + 8 * i, 0);
        return table;
    }
    void put(uint64_t at, uint64_t word)
    {
        tables.local.words[at] = word;
        for (unsigned i = 0; i < 8; i++)
            machine.local.bytes[at + i] = reference.local[at + i] = (uint8_t)(word >> (8 * i));
    }
    void set_root(unsigned space, unsigned height)
    {
        uint64_t table = new_table();
        tables.roots[space] = {true, false, false, height, table};
        // ROOT: valid, host, snoop, height, page.
        machine.set_root(space, 1 | (uint64_t)height << 3 | table >> 12 << 5);
    }
    // Where the entry of that level for an address is; the tables above it are made.
    uint64_t entry_at(unsigned space, uint64_t address, unsigned level)
    {
        uint64_t table = tables.roots[space].address;
        for (unsigned height = tables.roots[space].height;; height--) {
            uint64_t at = table + (address >> (12 + 9 * height)) % 512 * 8;
            if (height == level)
                return at;
            uint64_t entry = tables.local.at(at);
            if (!(entry & gpu::VALID)) {
                entry = gpu::VALID | new_table();
                put(at, entry);
            }
            table = entry & 0xffffffffff000ull;
        }
    }
    void map(unsigned space, uint64_t address, bool host, uint64_t page, uint64_t bits = 0)
    {
        put(entry_at(space, address, 0), gpu::VALID | gpu::LEAF | (host ? gpu::HOST | gpu::SNOOP : 0) | bits | page);
    }
};

#endif
