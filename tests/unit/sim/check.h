// SPDX-License-Identifier: Apache-2.0
// Tests in C++ with the output of cmocka: a list of named functions, and CHECK that ends the one it fails in.
#ifndef FERRY_TEST_CHECK_H
#define FERRY_TEST_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

struct Failure {
};

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                \
            throw Failure();                                                                                           \
        }                                                                                                              \
    } while (0)

struct Case {
    const char *name;
    void (*run)();
};
#define CASE(function)                                                                                                 \
    {                                                                                                                  \
#function, function                                                                                            \
    }

template <size_t count> int run_cases(const Case (&cases)[count])
{
    unsigned failed = 0;
    for (const Case &test : cases) {
        bool good = true;
        try {
            test.run();
        } catch (const Failure &) {
            good = false;
        }
        failed += !good;
        std::printf("%s %s\n", good ? "[       OK ]" : "[  FAILED  ]", test.name);
    }
    std::printf("%u passed, %u failed\n", static_cast<unsigned>(count) - failed, failed);
    return failed == 0 ? 0 : 1;
}

#endif
