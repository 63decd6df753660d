// SPDX-License-Identifier: Apache-2.0
// Back end `pci` on a function made of files, at work: registers and video memory, a device that goes, interrupt
// messages and what else is written into configuration space, and time.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "pci_fixture.h"

static void registers_and_video_memory(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    const struct ferry_link_operations *call = link->operations;
    unsigned char data[64], back[64];
    uint32_t value;
    assert_int_equal(call->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, 0x12345678), FERRY_OK);
    assert_int_equal(tree_word("resource0", FERRY_BAR0_SCRATCH), 0x12345678);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
    assert_int_equal(value, 0x12345678);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, TREE_BAR0, &value), FERRY_ERROR_RANGE);
    assert_int_equal(value, 0xffffffffu);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, 2, &value), FERRY_ERROR_RANGE);
    assert_int_equal(call->write32(link, FERRY_BAR_REGISTERS, TREE_BAR0 - 2, 0), FERRY_ERROR_RANGE);
    assert_int_equal(call->write32(link, (enum ferry_bar)1, 0, 0), FERRY_ERROR_RANGE);
    for (size_t n = 0; n < sizeof(data); n++) {
        data[n] = (unsigned char)(n * 7 + 1);
    }
    for (uint64_t at = 0; at < 16; at++) {
        for (size_t bytes = 0; bytes <= 24; bytes++) {
            memset(back, 0, sizeof(back));
            assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, 4096 + at, data, bytes), FERRY_OK);
            assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 4096 + at, back, bytes), FERRY_OK);
            assert_memory_equal(back, data, bytes);
            assert_int_equal(back[bytes], 0);
        }
    }
    assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, TREE_BAR2 - 8, back, 9), FERRY_ERROR_RANGE);
    assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, UINT64_MAX - 3, data, 8), FERRY_ERROR_RANGE);
    call->close(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2); // It reaches no memory any more.
}

static void a_device_that_goes_is_lost_by_name(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    uint32_t value;
    tree_set_word("resource0", FERRY_BAR0_SCRATCH, 0xffffffffu);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_OK);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value),
                     FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 answers no more: it was reset, or sleeps");
    // Whoever writes, or reads video memory, has no value by which it would tell.
    assert_int_equal(link->operations->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, 1),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(link->operations->write_block(link, FERRY_BAR_WINDOW, 0, &value, 4), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(link->operations->read_block(link, FERRY_BAR_WINDOW, 0, &value, 4), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(link->operations->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    link->operations->close(link);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, FERRY_BAR0_MAGIC_RESET);
    link = open_good();
    tree_set_word("config", 0, 0xffffffffu);
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    tree_set_word("resource0", FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES, 0xffffffffu);
    assert_int_equal(link->operations->pump(link, UINT64_MAX, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 is gone: it was unplugged, or has no power");
    link->operations->close(link);
}

/// It goes in the middle of a block: the rest are the ones that a bus gives for nobody's answer.
static void what_is_read_of_a_device_that_went_is_no_data(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    struct ferry_link *link = open_good();
    const struct ferry_link_operations *call = link->operations;
    unsigned char data[64];
    for (off_t n = 0; n < 64; n += 4) {
        tree_set_word("resource2", 4096 + n, n < 16 ? 0x12345678 : 0xffffffffu);
    }
    // As long as it is there, they are data.
    for (size_t bytes = 0; bytes <= sizeof(data); bytes++) {
        assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 4096, data, bytes), FERRY_OK);
    }
    tree_set_word("resource0", at, 1000);
    assert_int_equal(call->cycles(link), 1000);
    for (off_t n = 0; n < 8; n += 4) {
        tree_set_word("resource0", at + n, 0xffffffffu);
    }
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 4096, data, 16), FERRY_OK); // All of it was there before.
    assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 4096, data, 17), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 answers no more: it was reset, or sleeps");
    call->close(link);
    // So are they no time: who waits for it would wait for ever, or no more.
    tree_set_word("resource0", FERRY_BAR0_MAGIC, FERRY_BAR0_MAGIC_RESET);
    tree_set_word("resource0", at, 1000);
    tree_set_word("resource0", at + 4, 0);
    link = open_good();
    assert_int_equal(call->cycles(link), 1000);
    for (off_t n = 0; n < 8; n += 4) {
        tree_set_word("resource0", at + n, 0xffffffffu);
    }
    tree_set_word("resource0", FERRY_BAR0_MAGIC, 0xffffffffu);
    assert_int_equal(call->cycles(link), 1000);
    assert_int_equal(call->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(call->cycles(link), 1000);
    call->close(link);
}

/// The kernel resets a function for whoever asks it to (`reset` in sysfs, an error that the port above saw), and puts
/// its configuration back: it answers, and has forgotten all. Whoever waited for a time would wait as long as it had
/// run.
static void a_clock_that_goes_back_is_a_device_that_was_reset(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    struct ferry_link *link = open_good();
    const struct ferry_link_operations *call = link->operations;
    uint32_t value;
    tree_set_word("resource0", at + 4, 7);
    assert_int_equal(call->cycles(link), 7ull << 32);
    // Its own reset is none of these.
    assert_int_equal(call->reset(link), FERRY_OK);
    tree_set_word("resource0", at + 4, 0);
    assert_int_equal(call->cycles(link), 7ull << 32);
    tree_set_word("resource0", at, 5000);
    assert_int_equal(call->cycles(link), (7ull << 32) + 5000);
    assert_int_equal(call->cycles(link), (7ull << 32) + 5000);
    tree_set_word("resource0", at, 4999);
    assert_int_equal(call->cycles(link), (7ull << 32) + 5000);
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(call->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 was reset by somebody else: its clock went back");
    call->close(link);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/// The kernel takes the mappings of a function that is removed away, as of a file that is cut: a program that touches
/// them gets SIGBUS. Of two functions one goes.
static void a_function_that_is_removed_ends_no_program(void **state)
{
    (void)state;
    struct sigaction before, now;
    unsigned char data[3 * PAGE_BYTES];
    uint32_t value;
    struct sigaction own = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGBUS, &own, &before), 0);
    struct ferry_link *link = open_good();
    const struct ferry_link_operations *call = link->operations;
    memset(data, 1, sizeof(data));
    assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, 0, data, sizeof(data)), FERRY_OK);
    tree_set_word("config", 0, 0xffffffffu);
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(truncate(tree_path(TREE_FOLDER "/resource%u", 2 * n), n == 0 ? 0 : PAGE_BYTES), 0);
    }
    assert_int_equal(call->read_block(link, FERRY_BAR_WINDOW, 100, data, sizeof(data) - 100), FERRY_ERROR_DEVICE_LOST);
    assert_string_equal(ferry_problem(), "the device at 0000:01:00.0 is gone: it was unplugged, or has no power");
    assert_int_equal(call->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(value, 0xffffffffu);
    assert_int_equal(call->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, 1), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(call->write_block(link, FERRY_BAR_WINDOW, 0, data, sizeof(data)), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(call->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    // What is about something else is its owner's, and all of it when the last link is closed.
    assert_int_equal(signals, 0);
    raise(SIGBUS);
    assert_int_equal(signals, 1);
    call->close(link);
    assert_int_equal(sigaction(SIGBUS, &before, &now), 0);
    assert_ptr_equal(now.sa_handler, count_signal);
}

/// How a program ends that has a function open, minds SIGBUS in that way, is sent it, and then loses the function.
static int end_of_one_that_is_sent_the_signal(void (*handler)(int))
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        const struct sigaction own = {.sa_handler = handler};
        const struct rlimit none = {0, 0};
        unsigned char data[PAGE_BYTES];
        setrlimit(RLIMIT_CORE, &none);
        sigaction(SIGBUS, &own, NULL);
        struct ferry_link *link = open_good();
        kill(getpid(), SIGBUS);
        if (handler == SIG_DFL) {
            _exit(2); // It was to end here.
        }
        tree_set_word("config", 0, 0xffffffffu);
        for (unsigned n = 0; n < 2; n++) {
            assert_int_equal(truncate(tree_path(TREE_FOLDER "/resource%u", 2 * n), 0), 0);
        }
        _exit(link->operations->read_block(link, FERRY_BAR_WINDOW, 0, data, sizeof(data)) == FERRY_ERROR_DEVICE_LOST
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_signal_that_a_process_sends_does_what_it_did(void **state)
{
    (void)state;
    assert_int_equal(end_of_one_that_is_sent_the_signal(SIG_IGN), 0); // And the function is guarded still.
    tree_drop();
    tree_make();
    const int status = end_of_one_that_is_sent_the_signal(SIG_DFL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
}

/// What a child does with an open function, and then ends without closing it.
static void opens_and_ends(int how)
{
    static struct ferry_link *link; // No leak.
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    assert_non_null(link = open_good());
    if (how == 0) {
        exit(0);
    }
    const pid_t child = how < 0 ? fork() : -1;
    if (child > 0) { // A child of this one's is none that has the function.
        (void)waitpid(child, NULL, 0);
        _exit(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & FERRY_CONFIG_SPACE_COMMAND_BUS_MASTER_MASK ? 0 : 1);
    }
    (void)raise(how < 0 ? SIGTERM : how);
    _exit(2);
}

/// A terminal's signal, or a fault of the program's own: its pages are others' at once, and nothing else would keep the
/// device from them.
static void a_program_that_ends_takes_the_device_off_the_bus(void **state)
{
    (void)state;
    const int ends[] = {0, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGABRT, SIGKILL, -1};
    struct sigaction now;
    for (size_t n = 0; n < sizeof(ends) / sizeof(ends[0]); n++) {
        int status;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            opens_and_ends(ends[n]);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (ends[n] > 0) {
            assert_true(WIFSIGNALED(status));
            assert_int_equal(WTERMSIG(status), ends[n]); // As it would have ended.
        } else {
            assert_int_equal(status, 0);
        }
        const bool reaches = (tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 4) != 0;
        assert_int_equal(reaches, ends[n] == SIGKILL || ends[n] == -1);
        tree_set_word("enable", 0, 0x30303030);
    }
    // Handlers are there while a function is open, and only where there was none.
    struct sigaction own = {.sa_handler = count_signal}, before;
    assert_int_equal(sigaction(SIGHUP, &own, &before), 0);
    struct ferry_link *link = open_good();
    signals = 0;
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(signals, 1);
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler != SIG_DFL);
    link->operations->close(link);
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    assert_int_equal(sigaction(SIGHUP, &before, &now), 0);
    assert_true(now.sa_handler == count_signal);
}

static void interrupt_messages_are_looked_for_in_memory(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    unsigned reasons = 99;
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 6);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI), 0x01800005u | FERRY_CONFIG_SPACE_MSI_ENABLE_MASK);
    assert_int_not_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI_DATA), 0);
    const uint64_t at = (uint64_t)tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH) << 32 |
                        tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW);
    uint32_t *message = (uint32_t *)(uintptr_t)link->operations->dma_find(link, at);
    assert_non_null(message);
    assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
    assert_int_equal(reasons, 0);
    *message = tree_word("config", FERRY_CONFIG_SPACE_MSI_DATA);
    assert_int_equal(link->operations->pump(link, UINT64_MAX, &reasons), FERRY_OK);
    assert_int_equal(reasons, FERRY_PUMP_INTERRUPT);
    assert_int_equal(link->operations->take_interrupts(link), 1);
    assert_int_equal(link->operations->take_interrupts(link), 0);
    link->operations->silence(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
    link->operations->close(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI), 0x01800005u);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 2);
}

/// The capability is found by the list, and what a driver before has masked is open again.
static void interrupt_messages_may_stand_elsewhere_and_be_masked(void **state)
{
    (void)state;
    enum { AT = 0xc0, AWAY = AT - FERRY_CONFIG_SPACE_MSI };
    tree_set_word("config", FERRY_CONFIG_SPACE_PCIE, 0x10u | AT << 8);
    tree_set_word("config", AT, 0x01800005u);
    tree_set_word("config", FERRY_CONFIG_SPACE_MSI, 0);
    tree_set_word("config", FERRY_CONFIG_SPACE_MSI_MASK + AWAY, 0xffffffffu);
    struct ferry_link *link = open_good();
    assert_int_not_equal(tree_word("config", AT) & FERRY_CONFIG_SPACE_MSI_ENABLE_MASK, 0);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI_MASK + AWAY), 0);
    const uint64_t at = (uint64_t)tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH + AWAY) << 32 |
                        tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW + AWAY);
    assert_non_null(link->operations->dma_find(link, at));
    assert_int_not_equal(tree_word("config", FERRY_CONFIG_SPACE_MSI_DATA + AWAY), 0);
    for (off_t place = FERRY_CONFIG_SPACE_MSI; place <= FERRY_CONFIG_SPACE_MSI_MASK; place += 4) {
        assert_int_equal(tree_word("config", place), 0);
    }
    link->operations->close(link);
    assert_int_equal(tree_word("config", AT) & FERRY_CONFIG_SPACE_MSI_ENABLE_MASK, 0);
}

static void an_interrupt_of_before_a_reset_is_none_behind_it(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    unsigned reasons;
    struct ferry_link_counts before, behind;
    link->operations->counts(link, &before);
    const uint64_t at = (uint64_t)tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_HIGH) << 32 |
                        tree_word("config", FERRY_CONFIG_SPACE_MSI_ADDRESS_LOW);
    uint32_t *message = (uint32_t *)(uintptr_t)link->operations->dma_find(link, at);
    // One that was seen, and one that nobody has looked for.
    for (unsigned seen = 0; seen < 2; seen++) {
        *message = 1;
        assert_int_equal(seen ? link->operations->pump(link, 0, NULL) : FERRY_OK, FERRY_OK);
        assert_int_equal(link->operations->reset(link), FERRY_OK);
        assert_int_equal(link->operations->pump(link, 0, &reasons), FERRY_OK);
        assert_int_equal(reasons, 0);
        assert_int_equal(link->operations->take_interrupts(link), 0);
        link->operations->counts(link, &behind);
        assert_int_equal(behind.mapped_pages, before.mapped_pages); // They come into the same page.
    }
    link->operations->close(link);
}

/// The kernel, which takes its time before it opens the file: as long as the function reaches memory, and no longer
/// than a while.
struct kernel {
    char reset[256];
    int config;
    bool reached;
};

static void *reset_by_kernel(void *context)
{
    struct kernel *kernel = context;
    const struct timespec moment = {0, 1000000};
    uint32_t command = 4;
    char word[2] = "";
    for (unsigned n = 0; n < 2000 && (command & 4) != 0; n++) {
        (void)__real_pread(kernel->config, &command, 4, FERRY_CONFIG_SPACE_COMMAND);
        __real_nanosleep(&moment, NULL);
    }
    const int fd = open(kernel->reset, O_RDONLY);
    kernel->reached = (command & 4) != 0 || fd < 0 || read(fd, word, sizeof(word)) != 1 || word[0] != '1';
    close(fd);
    return NULL;
}

/// Nothing of before is on its way to memory while a function is reset.
static void a_function_reaches_no_memory_while_it_is_reset(void **state)
{
    (void)state;
    struct kernel kernel = {.config = open(tree_path(TREE_FOLDER "/config"), O_RDONLY)};
    pthread_t thread;
    struct ferry_link *link = open_good();
    snprintf(kernel.reset, sizeof(kernel.reset), "%s", tree_path(TREE_FOLDER "/reset"));
    assert_int_equal(unlink(kernel.reset), 0);
    assert_int_equal(mkfifo(kernel.reset, 0644), 0);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 6);
    assert_int_equal(pthread_create(&thread, NULL, reset_by_kernel, &kernel), 0);
    const int error = link->operations->reset(link);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(kernel.config);
    const uint32_t command = tree_word("config", FERRY_CONFIG_SPACE_COMMAND);
    link->operations->close(link);
    assert_int_equal(error, FERRY_OK);
    assert_false(kernel.reached);
    assert_int_equal(command & 6, 6);
}

/// The upper half of COMMAND is STATUS, whose bits a written 1 clears.
static void errors_that_the_function_has_seen_are_left_to_others(void **state)
{
    (void)state;
    tree_set_word("config", FERRY_CONFIG_SPACE_COMMAND, 0xf9100140u);
    struct ferry_link *link = open_good();
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND), 0x146);
    tree_set_word("config", FERRY_CONFIG_SPACE_COMMAND, 0xf9100146u);
    link->operations->close(link);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND), 0x142);
}

static void time_is_the_device_s(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    struct ferry_link *link = open_good();
    tree_set_word("resource0", at, 0xfffffff0u);
    tree_set_word("resource0", at + 4, 3);
    assert_int_equal(link->operations->cycles(link), 0x3fffffff0ull);
    assert_int_equal(link->operations->reset(link), FERRY_OK);
    tree_set_word("resource0", at, 16);
    tree_set_word("resource0", at + 4, 0);
    assert_int_equal(link->operations->cycles(link), 0x400000000ull);
    assert_int_equal(tree_word("config", FERRY_CONFIG_SPACE_COMMAND) & 6, 6);
    link->operations->close(link);
}

/// Its clock goes from 2^32 * n - 1 on to 2^32 * n, again and again, all 64 bits at once.
struct clock {
    uint64_t *time;
    bool stop;
};

static void *tick(void *context)
{
    struct clock *clock = context;
    for (uint64_t n = 1; !__atomic_load_n(&clock->stop, __ATOMIC_RELAXED); n++) {
        __atomic_store_n(clock->time, (n << 32) - 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(clock->time, n << 32, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void time_is_right_while_it_carries(void **state)
{
    (void)state;
    struct ferry_link *link = open_good();
    const int fd = open(tree_path(TREE_FOLDER "/resource0"), O_RDWR);
    unsigned char *bar = mmap(NULL, TREE_BAR0, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(bar, MAP_FAILED);
    struct clock clock = {(uint64_t *)(void *)(bar + FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES), false};
    pthread_t thread;
    uint64_t before = 0, later = 0;
    assert_int_equal(pthread_create(&thread, NULL, tick, &clock), 0);
    // Until both were at work at the same time for long, however the system divides them.
    for (unsigned seen = 0; seen < 20000 && before <= later;) {
        before = __atomic_load_n(clock.time, __ATOMIC_SEQ_CST);
        const uint64_t told = link->operations->cycles(link);
        later = __atomic_load_n(clock.time, __ATOMIC_SEQ_CST);
        seen += later != before;
        before = told < before ? UINT64_MAX : told;
    }
    __atomic_store_n(&clock.stop, true, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    munmap(bar, TREE_BAR0);
    close(fd);
    link->operations->close(link);
    assert_true(before <= later);
}

static void a_wait_is_as_long_where_time_s_low_half_goes_round(void **state)
{
    (void)state;
    const off_t at = FERRY_BAR0_COUNTER_AT + FERRY_BAR0_COUNTER_CYCLES;
    for (unsigned around = 0; around < 2; around++) {
        struct ferry_link *link = open_good();
        tree_set_word("resource0", at, around ? 0xffffff00u : 0x1000u);
        sleeps = 0;
        slept_nanoseconds = 0;
        slept_cycles = 64;
        assert_int_equal(link->operations->pump(link, 1000, NULL), FERRY_OK);
        // 1000 cycles are 16 times 64, and it looks at the time at each eighth.
        assert_in_range(sleeps, 16, 16 + 8);
        // Others run meanwhile, and what comes is not found much too late.
        assert_in_range(slept_nanoseconds / sleeps, 10000, 1000000);
        link->operations->close(link);
    }
}

/// The device answers, and its clock stands: nobody's wait would have an end.
static void a_clock_that_stands_is_a_lost_device(void **state)
{
    (void)state;
    uint32_t value;
    struct ferry_link *link = open_good();
    slept_cycles = 0;
    alarm(60); // For a wait without an end.
    assert_int_equal(link->operations->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    alarm(0);
    assert_non_null(strstr(ferry_problem(), "the device at 0000:01:00.0 is gone: it answers, but its clock stands"));
    assert_int_equal(link->operations->pump(link, 1000, NULL), FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(link->operations->write32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, 1),
                     FERRY_ERROR_DEVICE_LOST);
    assert_int_equal(link->operations->read32(link, FERRY_BAR_REGISTERS, FERRY_BAR0_SCRATCH, &value),
                     FERRY_ERROR_DEVICE_LOST);
    link->operations->close(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(registers_and_video_memory),
        CASE(a_device_that_goes_is_lost_by_name),
        CASE(what_is_read_of_a_device_that_went_is_no_data),
        CASE(a_clock_that_goes_back_is_a_device_that_was_reset),
        CASE(a_function_that_is_removed_ends_no_program),
        CASE(a_signal_that_a_process_sends_does_what_it_did),
        CASE(a_program_that_ends_takes_the_device_off_the_bus),
        CASE(interrupt_messages_are_looked_for_in_memory),
        CASE(interrupt_messages_may_stand_elsewhere_and_be_masked),
        CASE(an_interrupt_of_before_a_reset_is_none_behind_it),
        CASE(a_function_reaches_no_memory_while_it_is_reset),
        CASE(errors_that_the_function_has_seen_are_left_to_others),
        CASE(time_is_the_device_s),
        CASE(time_is_right_while_it_carries),
        CASE(a_wait_is_as_long_where_time_s_low_half_goes_round),
        CASE(a_clock_that_stands_is_a_lost_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
