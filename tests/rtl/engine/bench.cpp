// SPDX-License-Identifier: Apache-2.0
// Measures the engine in cycles: one memory with constant read latency (RL), write response one cycle after the last
// beat, start-to-done from the cycle the job is taken to the cycle its last response arrives. Rows with a floor name
// what no engine with a registered address and one registered data stage can beat: RL + 2 + beats. Memory is compared
// after every row. The argument is the file to write.
#include <algorithm>
#include <cmath>

#include "../rectangle/images.h"
#include "spaces.h"

namespace
{

constexpr uint64_t SOURCE = 0x10000;
constexpr uint64_t DESTINATION = 0x100000;
constexpr size_t BYTES = 2 << 20;

struct Row {
    std::string name;
    double value;
    const char *unit;
    double floor;
};
std::vector<Row> rows;
bool wrong = false;

void add(const std::string &name, double value, const char *unit, double floor)
{
    rows.push_back({name, value, unit, floor});
    printf("%-28s %10.2f %-22s floor %10.2f\n", name.c_str(), value, unit, floor);
}

struct Bench {
    Machine machine;
    Reference reference;
    explicit Bench(unsigned read_latency, unsigned stall = 0) : machine(1, BYTES, HOST_BASE, BYTES), reference(machine)
    {
        machine.timing.read_latency = read_latency;
        machine.timing.stall_percent = stall;
    }
    void add(const Job &job)
    {
        machine.submit(job);
        reference.apply(job);
    }
    double run()
    {
        size_t first = machine.taken_at.size();
        machine.drain();
        std::string difference = reference.compare(machine);
        if (!machine.errors.empty() || !difference.empty()) {
            printf("wrong: %s %s\n", difference.c_str(), machine.errors.empty() ? "" : machine.errors[0].c_str());
            wrong = true;
        }
        return (double)(machine.retired_at.back() - machine.taken_at[first]);
    }
};

std::string size_name(uint32_t bytes)
{
    return bytes >= 1024 ? std::to_string(bytes / 1024) + "KiB" : std::to_string(bytes) + "B";
}

double beats(uint64_t destination, uint32_t bytes)
{
    return (double)(((destination & 7) + bytes + 7) / 8);
}

void single(const char *name, uint32_t bytes, unsigned latency, unsigned source_off, unsigned destination_off)
{
    Bench bench(latency);
    Job job;
    job.source = SOURCE + source_off;
    job.destination = DESTINATION + destination_off;
    job.length = bytes;
    bench.add(job);
    add(std::string(name) + "/" + size_name(bytes) + "/rl" + std::to_string(latency), bench.run(), "cycles",
        latency + 2 + beats(job.destination, bytes));
}

void queue(const char *name, uint32_t bytes, unsigned count, unsigned latency, unsigned source_off,
           unsigned destination_off)
{
    Bench bench(latency);
    for (unsigned i = 0; i < count; i++) {
        Job job;
        uint32_t pitch = (bytes + 7) & ~7u;
        job.unordered = true;
        job.source = SOURCE + pitch * i + source_off;
        job.destination = DESTINATION + (pitch + (destination_off ? 8 : 0)) * i + destination_off;
        job.length = bytes;
        bench.add(job);
    }
    // A beat a cycle, and once the way of the first read and the last response.
    double each = beats(DESTINATION + destination_off, bytes) + (latency + 2.0) / count;
    add(std::string(name) + "/" + size_name(bytes) + "/rl" + std::to_string(latency), bench.run() / count,
        "cycles/descriptor", each);
}

// A rectangle's pieces as the sequencer hands them over, one in two cycles: bytes of a row a beat a cycle are all of
// the bus.
void rectangle(const std::string &name, const Rectangle &r, unsigned latency)
{
    Bench bench(latency);
    bench.machine.job_pace = 2;
    bool whole = !r.source.tiled() && !r.destination.tiled();
    for (uint32_t row = 0; row < r.rows; row++)
        for (uint32_t at = 0, bytes; at < r.width; at += bytes) {
            Job job;
            bytes = whole ? r.width : std::min({r.width - at, r.source.together(at), r.destination.together(at)});
            job.unordered = row != 0 || at != 0;
            job.source = r.source.byte(at, row);
            job.destination = r.destination.byte(at, row);
            job.length = bytes;
            bench.add(job);
        }
    double all = (double)r.width * r.rows / 8;
    add(name + "/rl" + std::to_string(latency), 100 * all / bench.run(), "% of bus", 100 * all / (latency + 2 + all));
}

void rectangles()
{
    for (unsigned latency : {1u, 20u, 100u}) {
        Side rows = {{nullptr, 0, SOURCE, 256}, 0, 0}, packed = {{nullptr, 0, DESTINATION, 64}, 0, 0};
        rectangle("rectangle/64B-rows", {rows, packed, 64, 256}, latency);
        for (const Element &element : elements) {
            Side tiles = {{&element, 16, DESTINATION, 0x10000}, 0, 0};
            uint32_t width = (uint32_t)tiles.image.tile_width(), height = (uint32_t)tiles.image.tile_height();
            Side image = {{nullptr, 0, SOURCE, width}, 0, 0};
            std::string name = "tiled/" + std::to_string(element.bytes) + "B/";
            rectangle(name + "swizzle", {image, tiles, width, height}, latency);
            rectangle(name + "unswizzle", {tiles, image, width, height}, latency);
        }
    }
}

// A space of three levels, all tables in video memory, and 128 scattered pages there; the destination is consecutive.
constexpr uint64_t TABLES_AT = 0x180000, TABLES_END = 8 << 20, VIRTUAL_TO = 0x80000;

void map_range(Spaces &spaces, uint64_t address, uint64_t page, unsigned pages)
{
    for (unsigned i = 0; i < pages; i++)
        spaces.map(1, address + 4096ull * i, false, page + 4096ull * i);
}

// Start-to-done with both sides virtual and both pages remembered.
void virtual_single(uint32_t bytes, unsigned latency)
{
    Bench bench(latency);
    Spaces spaces(bench.machine, bench.reference, TABLES_AT, BYTES);
    spaces.set_root(1, 2);
    map_range(spaces, 0, SOURCE, 1);
    map_range(spaces, VIRTUAL_TO, DESTINATION, 1);
    Job job;
    job.space = 1;
    job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
    job.destination = VIRTUAL_TO;
    job.length = bytes;
    bench.add(job);
    bench.run();
    bench.add(job);
    add("virtual/" + size_name(bytes) + "/rl" + std::to_string(latency), bench.run(), "cycles",
        latency + 2 + beats(job.destination, bytes));
}

// 128 pages in random order. Hit: one job, every page remembered. Miss: a job a page, each in another GiB of the space,
// so that every one is a walk of three levels; the destination is remembered but for a line now and then.
void virtual_gather(bool miss, unsigned latency)
{
    Bench bench(latency);
    Machine &machine = bench.machine;
    // Tables of 128 walks: above everything else.
    machine.local.bytes.resize(TABLES_END);
    bench.reference.local.resize(TABLES_END);
    machine.top->local_limit = TABLES_END;
    Spaces spaces(machine, bench.reference, 2 << 20, TABLES_END);
    spaces.set_root(1, 2);
    map_range(spaces, VIRTUAL_TO, DESTINATION, 128);
    for (unsigned i = 0; i < 128; i++)
        spaces.map(1, miss ? (1ull + i) << 30 : 4096ull * i, false, 0x80000 + 4096ull * ((i * 37) % 128));
    auto add_all = [&] {
        for (unsigned i = 0; i < (miss ? 128 : 1); i++) {
            Job job;
            job.space = 1;
            job.unordered = true;
            job.source_kind = job.destination_kind = FERRY_ADDRESS_KIND_VIRTUAL;
            job.source = miss ? (1ull + i) << 30 : 0;
            job.destination = VIRTUAL_TO + 4096ull * i;
            job.length = miss ? 4096 : 128 * 4096;
            bench.add(job);
        }
    };
    if (!miss) {
        add_all();
        bench.run();
    }
    uint64_t reads = machine.table_reads;
    add_all();
    add(std::string(miss ? "gather/miss/rl" : "gather/hit/rl") + std::to_string(latency), bench.run() / 128,
        "cycles/page", 512);
    printf("%28s %.2f reads of tables a page\n", "", (double)(machine.table_reads - reads) / 128);
}

} // namespace

int main(int argc, char **argv)
{
    for (unsigned latency : {1u, 20u, 100u})
        for (uint32_t bytes : {1u, 8u, 64u, 256u, 1024u, 4096u, 65536u})
            single("copy", bytes, latency, 0, 0);
    for (uint32_t bytes : {64u, 4096u, 65536u})
        single("misaligned", bytes, 20, 1, 3);
    for (unsigned latency : {1u, 20u, 100u}) {
        queue("queue", 8, 256, latency, 0, 0);
        queue("queue", 64, 256, latency, 0, 0);
        queue("queue", 256, 64, latency, 0, 0);
        queue("queue", 4096, 64, latency, 0, 0);
        queue("queue-misaligned", 64, 256, latency, 1, 3);
        queue("queue-misaligned", 4096, 64, latency, 1, 3);
    }
    rectangles();
    for (unsigned misaligned : {0u, 1u}) {
        Bench bench(20, 25);
        Job job;
        job.source = SOURCE + misaligned;
        job.destination = DESTINATION + 3 * misaligned;
        job.length = 65536;
        bench.add(job);
        double each = beats(job.destination, job.length);
        add(misaligned ? "stall25-misaligned/64KiB/rl20" : "stall25/64KiB/rl20", 100 * each / bench.run(), "% of bus",
            75);
    }
    for (uint32_t bytes : {1u, 4096u, 65536u}) {
        Bench bench(20);
        Job job;
        job.op = FERRY_JOB_OP_FILL;
        job.source = 0x0123456789abcdef;
        job.pattern_log2 = 3;
        job.destination = DESTINATION + 3;
        job.length = bytes;
        bench.add(job);
        add("fill/" + size_name(bytes), bench.run(), "cycles", 2 + beats(job.destination, bytes));
    }
    // A copy of 64 KiB makes way for an urgent job of no bytes: from the cycle it is taken to the one in which it is
    // over, so with the last response of what went before. The worst of all phases. Floor: what is in flight.
    for (unsigned latency : {1u, 20u, 100u}) {
        for (unsigned misaligned : {0u, 1u}) {
            double worst = 0;
            for (unsigned phase = 0; phase < 100; phase++) {
                Bench bench(latency);
                Job job, urgent;
                job.source = SOURCE + misaligned;
                job.destination = DESTINATION + 3 * misaligned;
                job.length = 65536;
                urgent.urgent = true;
                urgent.slot = 1;
                bench.add(job);
                for (unsigned i = 0; i < 300 + 67 * phase; i++)
                    bench.machine.step();
                size_t first = bench.machine.taken_at.size();
                size_t retired = bench.machine.retired_at.size();
                bench.machine.submit(urgent);
                bench.run();
                double cycles = (double)(bench.machine.retired_at[retired] - bench.machine.taken_at[first]);
                worst = cycles > worst ? cycles : worst;
            }
            add(std::string(misaligned ? "preempt-misaligned" : "preempt") + "/rl" + std::to_string(latency), worst,
                "cycles", latency + 512);
        }
    }
    // 128 scattered host pages into consecutive local ones: as a list, and through the aperture.
    for (unsigned aperture : {0u, 1u}) {
        Bench bench(20);
        std::vector<uint64_t> pages;
        for (unsigned i = 0; i < 128; i++)
            pages.push_back(HOST_BASE + 4096ull * ((i * 37) % 128));
        Job job;
        job.length = 128 * 4096;
        job.destination = DESTINATION;
        if (aperture) {
            bench.machine.map_pages(0, pages, true);
            for (unsigned i = 0; i < 128; i++)
                bench.reference.aperture[i] = pages[i];
            job.source_kind = FERRY_ADDRESS_KIND_APERTURE;
        } else {
            bench.machine.put_list(0, pages);
            bench.reference.lists[0] = pages;
            job.source_kind = FERRY_ADDRESS_KIND_SYSTEM;
            job.list = FERRY_LIST_SIDE_SOURCE;
        }
        bench.add(job);
        add(aperture ? "gather-aperture/4KiB/rl20" : "gather-list/4KiB/rl20", bench.run() / 128, "cycles/page", 512);
    }
    for (unsigned latency : {1u, 20u})
        for (uint32_t bytes : {1u, 4096u})
            virtual_single(bytes, latency);
    virtual_gather(false, 20);
    virtual_gather(true, 20);
    virtual_gather(true, 100);
    FILE *file = argc > 1 ? fopen(argv[1], "w") : nullptr;
    if (file != nullptr) {
        fprintf(file, "[\n");
        for (size_t i = 0; i < rows.size(); i++)
            fprintf(file, " {\"name\": \"%s\", \"value\": %.2f, \"unit\": \"%s\", \"floor\": %.2f}%s\n",
                    rows[i].name.c_str(), rows[i].value, rows[i].unit, rows[i].floor, i + 1 < rows.size() ? "," : "");
        fprintf(file, "]\n");
        fclose(file);
    }
    return wrong;
}
