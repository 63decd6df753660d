// SPDX-License-Identifier: Apache-2.0
// The walk over a rectangle against the published interleaves: every byte of every row at its address, in order,
// whatever the layout, the size of an element, and where the rectangle begins and ends; a piece a cycle.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "Vferry_rectangle.h"
#include "verilated.h"

namespace
{

uint64_t seed, state;

uint64_t next()
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

uint64_t below(uint64_t n)
{
    return (next() >> 11) % n;
}

// Standard swizzle, two dimensions: bits of the offset from bit 0 up, as AMD's address library publishes them; x and y
// count elements, b is a byte of one.
struct Element {
    unsigned bytes;
    const char *bits;
} const elements[] = {{1, "x0 x1 x2 x3 y0 y1 y2 y3 y4 x4 y5 x5 y6 x6 y7 x7"},
                      {2, "b0 x0 x1 x2 y0 y1 y2 x3 y3 x4 y4 x5 y5 x6 y6 x7"},
                      {4, "b0 b1 x0 x1 y0 y1 y2 x2 y3 x3 y4 x4 y5 x5 y6 x6"},
                      {8, "b0 b1 b2 x0 y0 y1 x1 x2 y2 x3 y3 x4 y4 x5 y5 x6"},
                      {16, "b0 b1 b2 b3 y0 y1 x0 x1 y2 x2 y3 x3 y4 x4 y5 x5"}};

// An image: rows behind each other, or tiles in rows.
struct Image {
    const Element *element; // null: rows
    unsigned tile_log2;     // 12 or 16
    uint64_t base;
    int64_t pitch; // bytes from a row (of tiles) to the next

    // Bits of a coordinate inside of a tile.
    unsigned count(char name) const
    {
        unsigned bits = 0;
        for (unsigned i = 0; i < tile_log2; i++)
            bits += element->bits[3 * i] == name;
        return bits;
    }
    unsigned swizzle() const { return element == nullptr ? 0 : element->bytes == 1 ? 1 : element->bytes <= 4 ? 2 : 3; }
    uint64_t tile_width() const { return (uint64_t)element->bytes << count('x'); } // in bytes
    uint64_t tile_height() const { return 1ull << count('y'); }
    // Of byte `x` of row `y`.
    uint64_t tile(uint64_t x, uint64_t y) const
    {
        return base + (int64_t)(y / tile_height()) * pitch + (x / tile_width() << tile_log2);
    }
    uint64_t address(uint64_t x, uint64_t y) const
    {
        if (element == nullptr)
            return base + (int64_t)y * pitch + x;
        uint64_t column = x % tile_width() / element->bytes, row = y % tile_height(), byte = x % element->bytes,
                 offset = 0;
        for (unsigned i = 0; i < tile_log2; i++) {
            uint64_t of = element->bits[3 * i] == 'x' ? column : element->bits[3 * i] == 'y' ? row : byte;
            offset |= (of >> (element->bits[3 * i + 1] - '0') & 1) << i;
        }
        return tile(x, y) + offset;
    }
};

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
    void load(const Image &image, uint64_t x, uint64_t y, uint32_t width, uint32_t rows)
    {
        bool tiled = image.element != nullptr;
        uint64_t first = tiled ? image.tile(x, y) : image.address(x, y);
        top->word = first & 0xffffffff;
        top->load_base = 1;
        clock();
        top->load_base = 0;
        wait(2);
        top->word = (uint64_t)width << 32 | (uint32_t)image.pitch;
        top->load_row = 1;
        clock();
        top->load_row = 0;
        wait(2);
        uint64_t in_x = tiled ? x % image.tile_width() : 0, in_y = tiled ? y % image.tile_height() : 0;
        top->word = (uint64_t)(tiled && image.tile_log2 == 12) << 36 | (uint64_t)image.swizzle() << 34 | in_y << 26 |
                    in_x << 16 | (rows - 1);
        top->load_shape = 1;
        clock();
        top->load_shape = 0;
        top->word = next();
        top->eval();
    }
    // Every byte, from the first piece on; empty when right. A ready that comes `stall` of 100 times.
    std::string walk(const Image &image, uint64_t x, uint64_t y, uint32_t width, uint32_t rows, unsigned stall)
    {
        load(image, x, y, width, rows);
        uint64_t pieces = 0, cycles = 0, expected_pieces = 0;
        uint64_t mask = 0x1ffffffff,
                 carry_of = (image.element != nullptr ? image.tile(x, y) : image.address(x, y)) >> 32 << 32;
        for (uint32_t row = 0; row < rows; row++) {
            uint32_t at = 0;
            while (at < width) {
                top->piece_ready = below(100) >= stall;
                top->eval();
                cycles++;
                if (!top->piece_valid)
                    return "no piece for byte " + std::to_string(at) + " of row " + std::to_string(row);
                uint32_t bytes = top->piece_bytes;
                if (bytes == 0 || at + bytes > width)
                    return std::to_string(bytes) + " bytes at " + std::to_string(at) + " of row " + std::to_string(row);
                // A row lies together, whatever its length: its ends are enough.
                for (uint32_t i = 0; i < bytes; i += image.element == nullptr && i + 1 < bytes ? bytes - 1 : 1) {
                    uint64_t right = (image.address(x + at + i, y + row) - carry_of) & mask;
                    if (((top->piece_address + i) & mask) != right)
                        return "byte " + std::to_string(at + i) + " of row " + std::to_string(row) + " at " +
                               std::to_string(top->piece_address + i) + ", not " + std::to_string(right);
                }
                bool row_ends = at + bytes == width;
                if (top->piece_row_last != row_ends || top->piece_last != (row_ends && row == rows - 1))
                    return "ends wrongly at byte " + std::to_string(at) + " of row " + std::to_string(row);
                if (top->piece_ready) {
                    at += bytes;
                    pieces++;
                }
                clock();
            }
            // Granules that the row touches.
            expected_pieces += image.element == nullptr ? 1 : (x + width - 1) / 16 - x / 16 + 1;
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
    return bench.walk(image, 0, 0, 512, 128, 0);
}

std::string every_beginning_of_a_tile()
{
    Bench bench;
    for (auto &element : elements) {
        for (unsigned tile_log2 : {12u, 16u}) {
            Image image = {&element, tile_log2, 0x7fff0000, (int64_t)3 << tile_log2};
            for (unsigned i = 0; i < 300; i++) {
                uint64_t x = below(2 * image.tile_width()), y = below(2 * image.tile_height());
                std::string wrong = bench.walk(image, x, y, 1 + below(70), 1 + below(5), 0);
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
        Image image = random_image();
        uint32_t width = below(8) == 0 ? 1 + below(9000) : 1 + below(300), rows = 1 + below(i % 10 == 0 ? 300 : 12);
        std::string wrong = bench.walk(image, below(9000), below(600), width, rows, below(2) * below(90));
        if (!wrong.empty())
            return "rectangle " + std::to_string(i) + ": " + wrong;
    }
    return "";
}

// A rectangle that was given up leaves nothing to the next.
std::string given_up()
{
    Bench bench;
    for (unsigned i = 0; i < 1000; i++) {
        bench.load(random_image(), below(900), below(300), 1 + below(900), 1 + below(300));
        bench.top->piece_ready = 1;
        bench.wait(30);
        bench.top->give_up = 1;
        bench.clock();
        bench.top->give_up = 0;
        bench.top->piece_ready = 0;
        bench.top->eval();
        if (bench.top->piece_valid)
            return "still there";
        std::string wrong = bench.walk(random_image(), below(900), below(300), 1 + below(90), 1 + below(9), 0);
        if (!wrong.empty())
            return wrong;
    }
    return "";
}

// The longest of each field.
std::string extremes()
{
    Bench bench;
    std::string wrong = bench.walk({nullptr, 0, 0xfffffff0, 0x7fffffff}, 0, 0, 0xffffff, 2, 0);
    if (wrong.empty())
        wrong = bench.walk({nullptr, 0, 0xfffffff0, -0x10}, 0, 0, 1, 65536, 0);
    if (wrong.empty())
        wrong = bench.walk({&elements[0], 12, 0xfffff000, 0x100000}, 0, 0, 0x40000, 1, 0);
    return wrong;
}

} // namespace

int main()
{
    const char *given = getenv("FERRY_SEED");
    seed = given != nullptr ? strtoull(given, nullptr, 0) : (uint64_t)time(nullptr);
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    printf("seed %llu (FERRY_SEED=%llu replays)\n", (unsigned long long)seed, (unsigned long long)seed);
    struct {
        const char *name;
        std::string (*run)();
    } tests[] = {{"rectangle_shapes", shapes},
                 {"rectangle_every_beginning_of_a_tile", every_beginning_of_a_tile},
                 {"rectangle_random", random_rectangles},
                 {"rectangle_given_up", given_up},
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
