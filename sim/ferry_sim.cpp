// SPDX-License-Identifier: Apache-2.0
#include "ferry_sim.h"

#include <cerrno>
#include <ctime>
#include <memory>
#include <new>

#include "devices.h"

struct ferry_sim {
    std::unique_ptr<ferry::Simulation> simulation;
    double seconds;
};

namespace
{

double thread_seconds()
{
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

bool legal(const ferry_sim_config &config)
{
    const ferry_sim_dram &dram = config.dram;
    return config.size == sizeof(config) && config.link_words_per_16 >= 1 && config.link_words_per_16 <= 32 &&
           // A packet holds its credits until it has arrived whole.
           (config.link_credit_words == 0 || config.link_credit_words >= ferry::PacketQueue::packet_words) &&
           config.reorder_percent <= 100 && config.stall_percent <= 90 && power_of_two(dram.banks) &&
           dram.banks <= 16 && power_of_two(dram.row_bytes) && dram.row_bytes >= 64 && dram.row_bytes <= 65536 &&
           (dram.refresh_interval == 0 || dram.refresh_interval > dram.refresh);
}

} // namespace

extern "C" {

void ferry_sim_default_dram(ferry_sim_dram *dram)
{
    // SDR SDRAM at 100 MHz behind a controller as boards of this class have it: refresh every 7.8 us.
    *dram = {8, 2048, 4, 2, 2, 3, 2, 780, 8};
}

void ferry_sim_default_config(ferry_sim_config *config)
{
    *config = {};
    config->size = sizeof(*config);
    ferry_sim_default_dram(&config->dram);
    config->link_latency = 100;
    config->link_words_per_16 = 32;
    config->reorder_percent = 25;
    config->seed = 1;
}

ferry_sim *ferry_sim_open(const ferry_sim_config *config)
{
    errno = EINVAL;
    if (config == nullptr || config->size != sizeof(*config)) {
        return nullptr;
    }
    ferry_sim_config full = *config;
    if (full.dram.banks == 0) {
        ferry_sim_default_dram(&full.dram);
    }
    if (!legal(full)) {
        return nullptr;
    }
    try {
        auto sim = std::make_unique<ferry_sim>();
        sim->seconds = 0;
        sim->simulation = full.wave_file == nullptr ? ferry::make_plain(full) : ferry::make_traced(full);
        if (sim->simulation == nullptr) {
            errno = full.wave_file == nullptr ? ENOMEM : EIO;
            return nullptr;
        }
        return sim.release();
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        return nullptr;
    }
}

void ferry_sim_close(ferry_sim *sim)
{
    delete sim;
}

bool ferry_sim_send(ferry_sim *sim, const uint32_t *words, size_t count)
{
    return sim->simulation->send(words, count);
}

size_t ferry_sim_queued(const ferry_sim *sim)
{
    return sim->simulation->queued();
}

const uint32_t *ferry_sim_receive(ferry_sim *sim, size_t *count)
{
    return sim->simulation->receive(count);
}

uint64_t ferry_sim_run(ferry_sim *sim, uint64_t cycles)
{
    const double start = thread_seconds();
    const uint64_t ran = sim->simulation->run(cycles);
    sim->seconds += thread_seconds() - start;
    return ran;
}

uint64_t ferry_sim_cycles(const ferry_sim *sim)
{
    return sim->simulation->cycles();
}

double ferry_sim_seconds(const ferry_sim *sim)
{
    return sim->seconds;
}

bool ferry_sim_busy(const ferry_sim *sim)
{
    return sim->simulation->busy();
}

const char *ferry_sim_violation(const ferry_sim *sim)
{
    return sim->simulation->violation();
}

void ferry_sim_fail_bursts(ferry_sim *sim, bool write, uint32_t count)
{
    sim->simulation->fail_bursts(write, count);
}

void ferry_sim_observe(ferry_sim *sim, const ferry_sim_observer *observer)
{
    sim->simulation->observe(observer);
}

} // extern "C"
