// SPDX-License-Identifier: Apache-2.0
// What memory must hold after a job: byte by byte, every byte's place looked up on its own. Source bytes are all read
// before the first is written, which is what "overlap handled" means.
#ifndef FERRY_TEST_REFERENCE_H
#define FERRY_TEST_REFERENCE_H

#include <functional>
#include <map>

#include "machine.h"

struct Reference {
    std::vector<uint8_t> local, host;
    uint64_t host_base = 0;
    std::map<uint64_t, uint64_t> aperture;
    // Lists as the test wrote them: command RAM offset → pages.
    std::map<uint16_t, std::vector<uint64_t>> lists;
    // Where a virtual address of a space goes, as the test mapped it: in video memory or in host memory, and there.
    std::function<std::pair<bool, uint64_t>(unsigned space, uint64_t address)> virtual_place;

    explicit Reference(const Machine &machine)
        : local(machine.local.bytes), host(machine.host.bytes), host_base(machine.host.base)
    {
    }
    uint8_t *place(unsigned kind, bool list, uint16_t list_address, uint64_t address, unsigned space = 0)
    {
        if (!list && kind == FERRY_ADDRESS_KIND_VIRTUAL) {
            auto [is_host, at] = virtual_place(space, address);
            return is_host ? &host.at(at - host_base) : &local.at(at);
        }
        if (list)
            return &host.at(lists.at(list_address).at(address >> 12) + (address & 4095) - host_base);
        if (kind == FERRY_ADDRESS_KIND_LOCAL)
            return &local.at(address);
        if (kind == FERRY_ADDRESS_KIND_SYSTEM)
            return &host.at(address - host_base);
        return &host.at(aperture.at(address >> 12) + (address & 4095) - host_base);
    }
    uint8_t *destination(const Job &job, uint64_t i)
    {
        return place(job.destination_kind, job.list == FERRY_LIST_SIDE_DESTINATION, job.list_address,
                     job.destination + i, job.space);
    }
    void apply(const Job &job)
    {
        if (job.op == FERRY_JOB_OP_READ)
            return;
        std::vector<uint8_t> bytes(job.length);
        for (uint64_t i = 0; i < job.length; i++) {
            if (job.op == FERRY_JOB_OP_FILL)
                bytes[i] = (uint8_t)(job.source >> (8 * (i % (1u << job.pattern_log2))));
            else
                bytes[i] = *place(job.source_kind, job.list == FERRY_LIST_SIDE_SOURCE, job.list_address, job.source + i,
                                  job.space);
        }
        for (uint64_t i = 0; i < job.length; i++)
            *destination(job, i) = bytes[i];
    }
    // What the machine has where the reference has this byte.
    uint8_t now(const Machine &machine, const uint8_t *place) const
    {
        bool in_local = place >= local.data() && place < local.data() + local.size();
        return in_local ? machine.local.bytes[place - local.data()] : machine.host.bytes[place - host.data()];
    }
    // The bytes that the job may have written, as they are.
    void take_over(const Machine &machine, const Job &job)
    {
        for (uint64_t i = 0; job.op != FERRY_JOB_OP_READ && i < job.length; i++) {
            uint8_t *place = destination(job, i);
            *place = now(machine, place);
        }
    }
    // Empty when memory is as it must be, else the first difference.
    std::string compare(const Machine &machine) const
    {
        if (local == machine.local.bytes && host == machine.host.bytes)
            return "";
        for (size_t i = 0; i < local.size(); i++)
            if (local[i] != machine.local.bytes[i])
                return "local byte " + std::to_string(i) + ": expected " + std::to_string(local[i]) + ", found " +
                       std::to_string(machine.local.bytes[i]);
        for (size_t i = 0; i < host.size(); i++)
            if (host[i] != machine.host.bytes[i])
                return "host byte " + std::to_string(i) + ": expected " + std::to_string(host[i]) + ", found " +
                       std::to_string(machine.host.bytes[i]);
        return "";
    }
};

#endif
