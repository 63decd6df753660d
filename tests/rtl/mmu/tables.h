// SPDX-License-Identifier: Apache-2.0
// Page tables as the tests see them: two memories, what writes tables into them, and a walker that answers what the
// unit must, written from the manual and sharing nothing with it.
#ifndef TABLES_H
#define TABLES_H

#include <cstdint>
#include <unordered_map>

#define _Static_assert static_assert // the contract is C
#include "ferry_contract.h"

constexpr uint64_t PAGE = 4096;
constexpr uint64_t LOCAL_BYTES = 64 << 20;

constexpr uint64_t VALID = FERRY_TABLE_ENTRY_ENTRY_VALID_MASK;
constexpr uint64_t HOST = FERRY_TABLE_ENTRY_ENTRY_HOST_MASK;
constexpr uint64_t SNOOP = FERRY_TABLE_ENTRY_ENTRY_SNOOP_MASK;
constexpr uint64_t READ_ONLY = FERRY_TABLE_ENTRY_ENTRY_READ_ONLY_MASK;
constexpr uint64_t PROTECTED = FERRY_TABLE_ENTRY_ENTRY_PROTECTED_MASK;
constexpr uint64_t LEAF = FERRY_TABLE_ENTRY_ENTRY_LEAF_MASK;
constexpr uint64_t GROUP = FERRY_TABLE_ENTRY_ENTRY_GROUP_MASK;

// Words that were written; all others are 0. Addresses of reads that are answered with an error.
struct Memory {
    std::unordered_map<uint64_t, uint64_t> words;
    std::unordered_map<uint64_t, bool> bad;
    uint64_t at(uint64_t address) const
    {
        auto found = words.find(address);
        return found == words.end() ? 0 : found->second;
    }
};

struct Limits {
    uint64_t local = LOCAL_BYTES, protect_base = 0, protect_limit = 0;
};

struct Root {
    bool valid = false, host = false, snoop = false;
    unsigned height = 0;
    uint64_t address = 0;
};

struct Request {
    unsigned space = 0;
    uint64_t address = 0;
    bool write = false, may_protected = false;
    bool operator==(const Request &) const = default;
};

struct Answer {
    unsigned fault = FERRY_FAULT_KIND_NONE;
    bool host = false, snoop = false;
    uint64_t address = 0; // of the page
    unsigned height = 0;
    uint64_t seen = 0; // entry that decided; 0 if it stands in the protected range
    bool operator==(const Answer &) const = default;
};

struct Tables {
    Memory local, host;
    Limits limits;
    Root roots[16];

    Memory &in(bool is_host) { return is_host ? host : local; }

    static Answer fault(unsigned kind, unsigned height, uint64_t seen)
    {
        Answer answer;
        answer.fault = kind;
        answer.height = height;
        answer.seen = seen;
        return answer;
    }

    bool outside(uint64_t address, uint64_t bytes) const { return address + bytes > limits.local; }

    bool closed(uint64_t address, uint64_t bytes) const
    {
        return address < limits.protect_limit && address + bytes > limits.protect_base / PAGE * PAGE;
    }

    // Follows the tables as they are now.
    Answer walk(const Request &request) const
    {
        const Root &root = roots[request.space];
        if (!root.valid)
            return fault(FERRY_FAULT_KIND_PAGE_ABSENT, root.height, 0);
        if (request.address >> (21 + 9 * root.height) != 0)
            return fault(FERRY_FAULT_KIND_RANGE, root.height, 0);
        if (!root.host && outside(root.address, PAGE))
            return fault(FERRY_FAULT_KIND_TABLE_RANGE, root.height, 0);
        bool is_host = root.host;
        uint64_t table = root.address;
        for (unsigned height = root.height;; height--) {
            uint64_t place = table + (request.address >> (12 + 9 * height)) % 512 * 8;
            const Memory &memory = is_host ? host : local;
            uint64_t entry = memory.at(place);
            const uint64_t shown = !is_host && closed(table, PAGE) ? 0 : entry;
            if (memory.bad.count(place))
                return fault(FERRY_FAULT_KIND_TABLE_ERROR, height, shown);
            if (!(entry & VALID))
                return fault(FERRY_FAULT_KIND_PAGE_ABSENT, height, shown);
            uint64_t known = VALID | HOST | SNOOP | READ_ONLY | PROTECTED | LEAF | GROUP | 0xffffffffff000ull;
            uint64_t address = entry & 0xffffffffff000ull;
            bool leaf = entry & LEAF;
            bool broken = (entry & ~known) || ((entry & SNOOP) && !(entry & HOST)) || (leaf && height > 1) ||
                          (!leaf && height == 0) || (!leaf && (entry & (READ_ONLY | PROTECTED | GROUP)));
            if (leaf && height == 1)
                broken = broken || address % (2 << 20) || (entry & GROUP);
            if (leaf && height == 0 && (entry & GROUP))
                broken = broken || address / PAGE % 16 != request.address / PAGE % 16;
            if (broken)
                return fault(FERRY_FAULT_KIND_TABLE_ENTRY, height, shown);
            if (!leaf) {
                if (!(entry & HOST) && outside(address, PAGE))
                    return fault(FERRY_FAULT_KIND_TABLE_RANGE, height, shown);
                is_host = entry & HOST;
                table = address;
                continue;
            }
            uint64_t bytes = height == 1 ? 2 << 20 : entry & GROUP ? 65536 : PAGE;
            uint64_t begin = address / bytes * bytes;
            if (!(entry & HOST) && outside(begin, bytes))
                return fault(FERRY_FAULT_KIND_RANGE, height, shown);
            bool is_protected = (entry & PROTECTED) || (!(entry & HOST) && closed(begin, bytes));
            if (is_protected && !request.may_protected)
                return fault(FERRY_FAULT_KIND_PROTECTED, height, shown);
            if ((entry & READ_ONLY) && request.write)
                return fault(FERRY_FAULT_KIND_PAGE_READ_ONLY, height, shown);
            Answer answer;
            answer.host = entry & HOST;
            answer.snoop = entry & SNOOP;
            answer.address = begin + request.address % bytes / PAGE * PAGE;
            return answer;
        }
    }
};

#endif
