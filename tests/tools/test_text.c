// SPDX-License-Identifier: Apache-2.0
// What the tool reads as a number, how it tells one, and what of a name gets to a terminal, a picture or a page.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// cmocka asks for the standard headers before it.
#include <cmocka.h>

#include "tools/svg_text.h"
#include "tools/tool.h"

static void numbers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t number, size;
        bool is_number, is_size;
    } cases[] = {{"0", 0, 0, true, true},
                 {"007", 7, 7, true, true},
                 {"18446744073709551615", UINT64_MAX, UINT64_MAX, true, true},
                 {.text = "18446744073709551616"},
                 {.text = "28446744073709551615"},
                 {.text = "184467440737095516150"},
                 {.text = ""},
                 {.text = "K"},
                 {.text = "-1"},
                 {.text = " 1"},
                 {.text = "1 "},
                 {.text = "0x10"},
                 {.text = "1.5M"},
                 {.text = "1T"},
                 {.text = "1KK"},
                 {.text = "1iB"},
                 {.text = "1KB"},
                 {.text = "1KiBs"},
                 {"3k", 0, 3 << 10, false, true},
                 {"3KiB", 0, 3 << 10, false, true},
                 {"3m", 0, 3 << 20, false, true},
                 {"3MiB", 0, 3 << 20, false, true},
                 {"3G", 0, 3ull << 30, false, true},
                 {"17179869183G", 0, 17179869183ull << 30, false, true},
                 {.text = "17179869184G"},
                 {.text = "18014398509481984K"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t number = 0, size = 0;
        assert_int_equal(ferry_parse_number(cases[i].text, &number) == 0, cases[i].is_number);
        assert_int_equal(ferry_parse_size(cases[i].text, &size) == 0, cases[i].is_size);
        assert_true(!cases[i].is_number || number == cases[i].number);
        assert_true(!cases[i].is_size || size == cases[i].size);
    }
}

static void sizes_and_counts_are_told_as_people_read_them(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {1047552, "1023.0 KiB"},
                 {1048524, "1023.9 KiB"},
                 {1048575, "1.0 MiB"}, // And not 1024.0 KiB.
                 {5ull << 30, "5.0 GiB"},
                 {1ull << 40, "1.0 TiB"},
                 {UINT64_MAX, "16.0 EiB"}};
    static const struct {
        uint64_t count;
        const char *text;
    } counts[] = {{0, "0"},
                  {999, "999"},
                  {1000, "1,000"},
                  {10000, "10,000"},
                  {100000, "100,000"},
                  {1234567, "1,234,567"},
                  {UINT64_MAX, "18,446,744,073,709,551,615"}};
    char text[FERRY_SIZE_TEXT], count[28];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_string_equal(ferry_size_text(sizes[i].bytes, text), sizes[i].text);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_string_equal(ferry_count_text(counts[i].count, count), counts[i].text);
}

// One character or byte each: what a terminal gets, and what a picture does.
static const struct {
    const char *text, *shown, *drawn;
} names[] = {
    {"a<b>&\"'", "a<b>&\"'", "a&lt;b&gt;&amp;&quot;'"},
    {"\x01\t\n\x1b\x7f", "?????", "?????"},
    {"\xc2\x80\xc2\x9b\xc2\x9f", "???", NULL}, // C1, which XML may hold.
    {"\xc2\xa0\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80",
     "\xc2\xa0\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x98\x80"},
    {"\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbd"},
    {"\xef\xbf\xbe\xef\xbf\xbf", "\xef\xbf\xbe\xef\xbf\xbf", "??????"},
    // None of these is UTF-8: cut off, alone, longer than need be, a surrogate, beyond the last character.
    {"\xff"
     "a\xc3",
     "?a?", "?a?"},
    {"\xe6\xbc"
     "a",
     "??a", "??a"},
    {"\x80\xbf", "??", "??"},
    {"\xc0\xaf\xc1\xbf", "????", "????"},
    {"\xe0\x9f\xbf", "???", "???"},
    {"\xed\xa0\x80", "???", "???"},
    {"\xf0\x8f\xbf\xbf", "????", "????"},
    {"\xf4\x90\x80\x80", "????", "????"},
    {"\xf5\x80\x80\x80", "????", "????"},
    {"\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
     "\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
     "\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"}, // The first and the last that are.
};

static void names_are_shown_and_not_obeyed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char out[3][128] = {{0}}, clean[64];
        FILE *file[] = {fmemopen(out[0], sizeof out[0], "w"), fmemopen(out[1], sizeof out[1], "w"),
                        fmemopen(out[2], sizeof out[2], "w")};
        ferry_put_text(file[0], names[i].text);
        ferry_svg_text(file[1], names[i].text);
        ferry_print_line(file[2], "%s", names[i].text);
        for (int k = 0; k < 3; k++)
            fclose(file[k]);
        strcpy(clean, names[i].text);
        ferry_clean_text(clean);
        assert_string_equal(out[0], names[i].shown);
        assert_string_equal(clean, names[i].shown);
        assert_memory_equal(out[2], names[i].shown, strlen(names[i].shown));
        assert_string_equal(out[2] + strlen(names[i].shown), "\n");
        if (names[i].drawn)
            assert_string_equal(out[1], names[i].drawn);
    }
}

static void a_long_line_is_printed_whole(void **state)
{
    (void)state;
    for (size_t length = 1022; length <= 1026; length++) {
        char text[1100] = "", *out = NULL;
        size_t bytes;
        memset(text, 'x', length);
        FILE *file = open_memstream(&out, &bytes);
        ferry_print_line(file, "%s", text);
        fclose(file);
        assert_int_equal(bytes, length + 1);
        assert_int_equal(strspn(out, "x"), length);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
        cmocka_unit_test(sizes_and_counts_are_told_as_people_read_them),
        cmocka_unit_test(names_are_shown_and_not_obeyed),
        cmocka_unit_test(a_long_line_is_printed_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
