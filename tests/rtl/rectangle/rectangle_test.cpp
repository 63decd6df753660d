// SPDX-License-Identifier: Apache-2.0
// The walk over a rectangle against the published interleaves: every byte of every row at its address, in order,
// whatever the layout, the size of an element, and where the rectangle begins and ends; a piece a cycle.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "../random.h"
#include "Vferry_rectangle.h"
#include "images.h"
#include "verilated.h"

namespace
{

Random chance(1);

uint64_t next()
{
    return chance.next();
}

uint64_t below(uint64_t n)
{
    return chance.below(n);
}

struct Bench {
    std::unique_ptr<Vferry_rectangle> top = std::make_unique<Vferry_rectangle>();

    Bench()
    {
        top->rst = 1;
        clock();
        clock();
        top->rst = 0;
    }
    void clock()
    {
        top->clk = 0;
        top->eval();
        top->clk = 1;
        top->eval();
    }
    void wait(unsigned most)
    {
        for (uint64_t i = below(most + 1); i > 0; i--)
            clock();
    }
    void pulse(CData &load, uint64_t word)
    {
        top->word = word;
        load = 1;
        clock();
        load = 0;
        top->word = next();
        wait(2);
        clock();
    }
    void load(const Rectangle &r, bool goes_on = false)
    {
        top->piece_ready = 0;
        top->goes_on = goes_on;
        pulse(top->load_size, (uint64_t)(r.rows - 1) << 32 | r.width | (next() & 0xff000000));
        top->goes_on = next() & 1;
        pulse(top->load_source, r.source.first());
        pulse(top->load_destination, r.destination.first());
        pulse(top->load_source_layout, r.source.layout());
        top->eval();
        top->word = r.destination.layout();
        top->load_destination_layout = 1;
        clock();
        top->load_destination_layout = 0;
        top->word = next();
        clock();
        clock();
    }
    // Takes pieces of the rectangle, but not all; rows that are whole by then.
    uint32_t some_rows(const Rectangle &r)
    {
        uint32_t at = 0, row = 0;
        for (uint64_t pieces = below(200); pieces > 0; pieces--) {
            top->piece_ready = 1;
            top->eval();
            if (top->piece_last)
                break;
            at += top->piece_bytes;
            clock();
            if (at == r.width) {
                at = 0;
                row++;
            }
        }
        top->piece_ready = 0;
        top->eval();
        return row;
    }
    // Every byte, from the first piece on; empty when right. A ready that does not come in `stall` of 100 cycles. A
    // walk that goes on does so with row `first`.
    std::string walk(const Rectangle &r, unsigned stall, bool goes_on = false, uint32_t first = 0)
    {
        load(r, goes_on);
        top->piece_ready = 1;
        for (uint32_t row = 0; row < first; row++) {
            top->eval();
            if (top->piece_valid || !top->passes)
                return "row " + std::to_string(row) + " is not passed over";
            clock();
        }
        uint64_t pieces = 0, cycles = 0, expected_pieces = 0;
        bool whole = !r.source.tiled() && !r.destination.tiled();
        // A row lies together, whatever its length, and of a long one no more is looked at either: its ends are enough.
        bool ends = whole || r.width > 1u << 20;
        for (uint32_t row = first; row < r.rows; row++) {
            uint32_t at = 0;
            while (at < r.width) {
                top->piece_ready = below(100) >= stall;
                top->eval();
                cycles++;
                if (!top->piece_valid)
                    return "no piece for byte " + std::to_string(at) + " of row " + std::to_string(row);
                uint32_t bytes = top->piece_bytes;
                if (bytes == 0 || at + bytes > r.width)
                    return std::to_string(bytes) + " bytes at " + std::to_string(at) + " of row " + std::to_string(row);
                for (uint32_t i = 0; i < bytes; i += ends && i + 1 < bytes ? bytes - 1 : 1)
                    for (bool to : {false, true}) {
                        uint32_t right = (uint32_t)(to ? r.destination : r.source).byte(at + i, row);
                        uint32_t shown = (to ? top->piece_destination : top->piece_source) + i;
                        if (shown != right)
                            return std::string(to ? "to" : "from") + ": byte " + std::to_string(at + i) + " of row " +
                                   std::to_string(row) + " at " + std::to_string(shown) + ", not " +
                                   std::to_string(right);
                    }
                if (top->piece_last != (at + bytes == r.width && row == r.rows - 1))
                    return "ends wrongly at byte " + std::to_string(at) + " of row " + std::to_string(row);
                if (top->piece_ready) {
                    at += bytes;
                    pieces++;
                }
                clock();
            }
            // A piece ends where a granule of either side does, or sixteen bytes behind its beginning.
            for (uint32_t done = 0; done < r.width; expected_pieces++)
                done += whole ? r.width : std::min(r.source.together(done), r.destination.together(done));
        }
        top->eval();
        if (top->piece_valid)
            return "a piece behind the last";
        if (pieces != expected_pieces || (stall == 0 && cycles != pieces))
            return std::to_string(pieces) + " pieces in " + std::to_string(cycles) + " cycles, not " +
                   std::to_string(expected_pieces);
        top->piece_ready = 0;
        return "";
    }
};

Image random_image()
{
    unsigned kind = below(11);
    Image image = {kind == 0 ? nullptr : &elements[(kind - 1) / 2], kind % 2 ? 12u : 16u, 0, 0};
    image.base = 0x100000000ull * below(8) + 0x40000000 + below(0x40000000);
    if (image.element == nullptr) {
        image.pitch = (int64_t)below(20000) - 4000;
    } else {
        image.base = image.base >> image.tile_log2 << image.tile_log2;
        image.pitch = (int64_t)(1 + below(9)) << image.tile_log2;
        if (below(4) == 0)
            image.pitch = -image.pitch;
    }
    return image;
}

// The sizes of tiles that Direct3D 12 documents for tiled resources, and Microsoft's masks of the interleave of 4
// bytes.
std::string shapes()
{
    static const unsigned shape[][3] = {{0, 256, 256}, {1, 256, 128}, {2, 128, 128}, {3, 128, 64}, {4, 64, 64}};
    for (auto &[index, width, height] : shape) {
        Image image = {&elements[index], 16, 0, 0};
        if (image.tile_width() != width * image.element->bytes || image.tile_height() != height)
            return "tile of elements of " + std::to_string(image.element->bytes);
    }
    Bench bench;
    Image image = {&elements[2], 16, 0, 0x40000};
    auto spread = [](uint64_t value, unsigned mask) {
        uint64_t result = 0;
        for (unsigned bit = 0, from = 0; bit < 16; bit++)
            if (mask >> bit & 1)
                result |= (value >> from++ & 1) << bit;
        return result;
    };
    for (unsigned y = 0; y < 128; y++)
        for (unsigned x = 0; x < 512; x++)
            if (image.address(x, y) != (spread(x, 0b1010101010001111) | spread(y, 0b0101010101110000)))
                return "byte " + std::to_string(x) + " of row " + std::to_string(y);
    Side tile = {image, 0, 0};
    return bench.walk({tile, tile, 512, 128}, 0);
}

Side random_side()
{
    return {random_image(), below(9000), below(600)};
}

std::string every_beginning_of_a_tile()
{
    Bench bench;
    for (auto &element : elements) {
        for (unsigned tile_log2 : {12u, 16u}) {
            Image image = {&element, tile_log2, 0x7fff0000, (int64_t)3 << tile_log2};
            for (unsigned i = 0; i < 300; i++) {
                Side side = {image, below(2 * image.tile_width()), below(2 * image.tile_height())};
                uint32_t width = 1 + below(70), rows = 1 + below(5);
                std::string wrong = bench.walk(i % 2 ? Rectangle{side, random_side(), width, rows}
                                                     : Rectangle{random_side(), side, width, rows},
                                               0);
                if (!wrong.empty())
                    return "elements of " + std::to_string(element.bytes) + ": " + wrong;
            }
        }
    }
    return "";
}

std::string random_rectangles()
{
    Bench bench;
    for (unsigned i = 0; i < 1500; i++) {
        uint32_t width = below(8) == 0 ? 1 + below(9000) : 1 + below(300), rows = 1 + below(i % 10 == 0 ? 300 : 12);
        std::string wrong = bench.walk({random_side(), random_side(), width, rows}, below(2) * below(90));
        if (!wrong.empty())
            return "rectangle " + std::to_string(i) + ": " + wrong;
    }
    return "";
}

// A rectangle that was given up leaves nothing to the next, whether it is given up by a pulse or by the next itself.
std::string given_up()
{
    Bench bench;
    for (unsigned i = 0; i < 1000; i++) {
        bench.load({random_side(), random_side(), 1 + (uint32_t)below(900), 1 + (uint32_t)below(300)});
        bench.top->piece_ready = 1;
        bench.wait(30);
        if (i % 2) {
            bench.top->give_up = 1;
            bench.clock();
            bench.top->give_up = 0;
            bench.top->piece_ready = 0;
            bench.top->eval();
            if (bench.top->piece_valid)
                return "still there";
        }
        std::string wrong =
            bench.walk({random_side(), random_side(), 1 + (uint32_t)below(90), 1 + (uint32_t)below(9)}, 0);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// A walk whose row was kept goes on with it, whatever was walked meanwhile, and so does that one if it made way in
// turn.
std::string goes_on()
{
    Bench bench;
    for (unsigned i = 0; i < 1000; i++) {
        Rectangle one = {random_side(), random_side(), 1 + (uint32_t)below(90), 2 + (uint32_t)below(30)};
        Rectangle other = {random_side(), random_side(), 1 + (uint32_t)below(90), 2 + (uint32_t)below(30)};
        uint32_t done[2];
        bench.load(one);
        done[0] = bench.some_rows(one);
        bench.load(other);
        done[1] = i % 2 ? bench.some_rows(other) : 0;
        if (i % 2 == 0) {
            bench.top->give_up = 1;
            bench.clock();
            bench.top->give_up = 0;
        }
        std::string wrong = bench.walk(one, 0, true, done[0]);
        if (wrong.empty() && i % 2)
            wrong = bench.walk(other, below(50), true, done[1]);
        if (!wrong.empty())
            return "round " + std::to_string(i) + ": " + wrong;
    }
    return "";
}

// The longest of each field.
std::string extremes()
{
    Bench bench;
    Side upwards = {{nullptr, 0, 0xfffffff0, -0x10}, 0, 0}, far = {{nullptr, 0, 0x10, 0x7fffffff}, 0, 0};
    std::string wrong = bench.walk({far, upwards, 0xffffff, 2}, 0);
    if (wrong.empty())
        wrong = bench.walk({upwards, upwards, 1, 65536}, 0);
    if (wrong.empty())
        wrong = bench.walk({{{&elements[0], 12, 0xf0000000, 0x100000}, 0, 0}, upwards, 0x40000, 1}, 0);
    if (wrong.empty())
        wrong = bench.walk(
            {{{&elements[4], 16, 0x10000000, 0x800000}, 0, 0}, {{nullptr, 0, 0, 1 << 23}, 0, 0}, 1u << 23, 2}, 0);
    return wrong;
}

} // namespace

int main()
{
    chance = Random(seed_given((uint64_t)time(nullptr)));
    struct {
        const char *name;
        std::string (*run)();
    } tests[] = {{"rectangle_shapes", shapes},
                 {"rectangle_every_beginning_of_a_tile", every_beginning_of_a_tile},
                 {"rectangle_random", random_rectangles},
                 {"rectangle_given_up", given_up},
                 {"rectangle_goes_on", goes_on},
                 {"rectangle_extremes", extremes}};
    unsigned failed = 0, passed = 0;
    for (auto &test : tests) {
        std::string wrong = test.run();
        (wrong.empty() ? passed : failed)++;
        if (wrong.empty())
            printf("[       OK ] %s\n", test.name);
        else
            printf("[  FAILED  ] %s: %s\n", test.name, wrong.c_str());
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
