// SPDX-License-Identifier: Apache-2.0
// A storm on the whole device: three rings with packets of every kind, while the processor is at BAR2, page tables
// change, time-outs strike, memory and host give errors or nothing, and the host takes away leave, power, rings, the
// core, the firmware, the engine's work or all of it by a function reset. Whatever becomes of a buffer: what it writes
// is what its packets name; a byte of it is the right one or as it was; of one that ends well it is the right one; of
// one that faults the record says what was done; and the device works afterwards.
#include "many_devices.h"
#include "storm_jobs.h"
#include "storm_rows.h"

namespace
{

// The causes that this storm has; any other fault is none of its.
bool expected(uint32_t kind)
{
    for (uint32_t cause :
         {FERRY_FAULT_KIND_RIGHTS, FERRY_FAULT_KIND_WATCHDOG, FERRY_FAULT_KIND_ENGINE_RESET,
          FERRY_FAULT_KIND_COMPLETION_TIMEOUT, FERRY_FAULT_KIND_LOCAL_ERROR, FERRY_FAULT_KIND_HOST_UNSUPPORTED,
          FERRY_FAULT_KIND_HOST_ABORT, FERRY_FAULT_KIND_TABLE_ERROR, FERRY_FAULT_KIND_BUFFER_FETCH})
        if (kind == cause)
            return true;
    return false;
}

// Of the buffer of a ring that was handed over last.
struct Record {
    bool there;
    uint32_t kind, offset, written;
    bool write;
};

class Storm
{
  public:
    Storm(Checks &checks, Random &random)
        : checks_(checks), random_(random), bench_(checks, random), jobs_(checks, random, bench_),
          rows_(checks, random, root_)
    {
        root_.any_order = root_.answers_in_any_order = true;
        root_.answer_payload = 128;
        root_.load_words = 32;
        root_.on_local_write = [this](uint64_t at, uint8_t) { stray_ += !StormRows::owns(at) && !jobs_.names(at); };
        root_.on_host_write = [this](uint64_t at, uint8_t) { stray_ += at >= DATA && !jobs_.names(at); };
        // Fences count past the end of their numbers.
        for (unsigned n = 0; n < StormJobs::RINGS_USED; n++)
            jobs_.ring_of(n).count_from(jobs_.ring_of(n).produced(), ~uint64_t{0} - random_.below(300));
    }

    void round()
    {
        surroundings();
        stops_ = jobs_.once_more = random_.once_in(2);
        stopped_ = false;
        for (unsigned n = 0; n < StormJobs::RINGS_USED; n++) {
            jobs_.order(n);
            records_[n] = {};
            fences_[n] = jobs_.ring_of(n).submit(1 | (random_.once_in(2) ? 3u << 4 : 0));
            root_.run(random_.below(900));
            trouble();
        }
        if (random_.once_in(10))
            function_reset();
        else
            for (unsigned n = 0; n < StormJobs::RINGS_USED; n++)
                look_at(n);
        jobs_.look_at_pages();
    }
    // Nothing troubles it any more.
    void quiet()
    {
        calm();
        root_.credit_latency = 0;
        root_.bar0(FERRY_BAR0_TAG_LIMIT, 0);
        root_.stall = false;
        root_.memory_pace = root_.link_pace = 1;
        root_.run(3000);
        for (int i = 0; i < 2000 && bench_.stuck(); i++)
            root_.run(20);
        checks_.equal(stray_, 0, "bytes that no packet names");
        root_.on_local_write = root_.on_host_write = nullptr;
        bench_.works();
        std::printf("    %u records; %u packets refused, %u pages moved, %u words of BAR2 compared\n", explained_,
                    refused_, jobs_.moved(), rows_.compared());
    }
    unsigned good = 0, bad = 0;

  private:
    void surroundings()
    {
        root_.memory_latency = 1 + random_.below(random_.once_in(3) ? 120 : 30);
        root_.answers_wrong_in = random_.once_in(3) ? 20 + random_.below(200) : 0;
        root_.read_error_in = random_.once_in(6) ? static_cast<int>(random_.below(1000)) : -1;
        root_.write_error_in = random_.once_in(6) ? static_cast<int>(random_.below(100)) : -1;
        root_.credit_latency = random_.once_in(4) ? 1 + random_.below(60) : 0;
        root_.link_latency = 10 + random_.below(200);
        root_.stall = random_.once_in(2);
        root_.memory_pace = random_.once_in(4) ? 1 + random_.below(8) : 1;
        root_.link_pace = random_.once_in(4) ? 1 + random_.below(8) : 1;
        const uint32_t timeout = random_.once_in(2)   ? 0
                                 : random_.once_in(2) ? 1 + random_.below(60)
                                                      : 200 + random_.below(600);
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, timeout);
        strict_ = timeout == 0 && root_.read_error_in < 0 && root_.write_error_in < 0;
    }
    void calm()
    {
        root_.answers_wrong_in = 0;
        root_.read_error_in = root_.write_error_in = -1;
        root_.memory_dead = false;
        root_.bar0(FERRY_BAR0_ENGINE_TIMEOUT, 0);
        root_.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, 0);
    }

    void trouble()
    {
        configuration();
        for (unsigned i = random_.below(6); i; i--)
            rows_.disturb(strict_);
        if (random_.once_in(4)) {
            const unsigned n = random_.below(StormJobs::RINGS_USED);
            root_.bar0(ring(n, FERRY_BAR0_RING_CONTROL), 0);
            root_.run(random_.below(700));
            root_.bar0(ring(n, FERRY_BAR0_RING_CONTROL), 1);
        }
        if (random_.once_in(8)) {
            root_.memory_dead = true;
            root_.run(random_.below(1500));
            root_.memory_dead = false;
        }
        if (random_.once_in(3))
            root_.bar0(FERRY_BAR0_TAG_LIMIT, random_.below(6));
        if (random_.once_in(3))
            root_.bar0(FERRY_BAR0_COMPLETION_TIMEOUT, random_.once_in(2) ? 0 : 150 + random_.below(400));
        if (random_.once_in(4)) {
            root_.bar0(FERRY_BAR0_CONTROL, 3);
            root_.run(random_.below(60));
        }
        if (stops_ && random_.once_in(2))
            core();
    }
    // The leave to speak, power, the largest packets and the tags.
    void configuration()
    {
        if (random_.once_in(4)) {
            root_.config_write(0x04, 2);
            root_.run(random_.below(1500));
            root_.config_write(0x04, 6);
        }
        if (random_.once_in(4)) {
            root_.config_write(0xa4, 3);
            root_.run(random_.below(1500));
            root_.config_write(0xa4, 0);
        }
        if (random_.once_in(3)) {
            const bool long_tags = random_.once_in(2);
            const uint32_t payload = random_.once_in(2) ? 1u << 5 : 0, reads = random_.below(3) << 12;
            root_.config_write(0x48, payload | (long_tags ? 1u << 8 : 0) | 1u << 11 | reads);
            root_.allow_long_tags(long_tags);
        }
    }
    // It stops and goes on, and has its firmware anew at times.
    void core()
    {
        stopped_ = true;
        root_.bar0(FERRY_BAR0_CONTROL, random_.once_in(2) ? 0 : 2);
        root_.run(random_.once_in(2) ? 0 : random_.below(300));
        if (random_.once_in(6)) {
            root_.load("build/firmware/firmware.bin");
            // Whoever asks for something behind it would take the time for a device that does not answer.
            while (!root_.sent_all())
                root_.tick();
        }
        root_.bar0(FERRY_BAR0_CONTROL, random_.once_in(4) ? 3 : 1);
        root_.run(random_.below(500));
    }
    void function_reset()
    {
        root_.config_write(0x48,
                           root_.config_read(0x48) | FERRY_CONFIG_SPACE_DEVICE_CONTROL_INITIATE_FUNCTION_RESET_MASK);
        root_.run(random_.below(30000));
        root_.enumerate();
        root_.allow_long_tags(true);
        calm();
        root_.run(8000);
        for (int i = 0; i < 3000 && bench_.stuck(); i++)
            root_.run(20);
        checks_.that(!bench_.stuck(), "not stuck");
        checks_.equal(root_.bar0(FERRY_BAR0_STATUS), 0, "status after a function reset");
        checks_.that(root_.boot("build/firmware/firmware.bin"), "firmware serves rings");
        root_.bar0(FERRY_BAR0_INTERRUPT_ENABLE, 0x3ff);
        root_.bar0_64(FERRY_BAR0_FAULT_LOG_ADDRESS, FAULTS);
        root_.bar0(FERRY_BAR0_FAULT_LOG_ENTRIES_LOG2, 5);
        read_ = 0;
        jobs_.begin_anew();
        rows_.begin_anew();
        for (unsigned n = 0; n < StormJobs::RINGS_USED; n++)
            for (const Written &written : jobs_.written(n))
                right_or_as_it_was(written, false);
    }

    void read_log()
    {
        const uint32_t produced = root_.bar0(FERRY_BAR0_FAULT_LOG_PRODUCED);
        for (; read_ != produced; read_++) {
            const uint64_t at = FAULTS + read_ % 32 * 64;
            const uint32_t what = static_cast<uint32_t>(root_.load64(at) >> 32);
            const uint32_t kind = FERRY_GET(FERRY_FAULT_RECORD_WHAT_KIND, what);
            checks_.that(expected(kind), "a fault has a cause that is there");
            const unsigned n = FERRY_GET(FERRY_FAULT_RECORD_WHAT_RING, what);
            if (n < StormJobs::RINGS_USED && root_.load64(at + FERRY_FAULT_RECORD_FENCE_VALUE) == fences_[n])
                records_[n] = {true, kind, FERRY_GET(FERRY_FAULT_RECORD_WHAT_PACKET_OFFSET, what),
                               static_cast<uint32_t>(root_.load64(at + FERRY_FAULT_RECORD_WRITTEN - 4) >> 32),
                               FERRY_GET(FERRY_FAULT_RECORD_WHAT_WRITE, what) != 0};
        }
        root_.bar0(FERRY_BAR0_FAULT_LOG_CONSUMED, produced);
    }

    void look_at(unsigned n)
    {
        Ring &of = jobs_.ring_of(n);
        // An entry that could not be read retires without its fence value.
        bool retired = false;
        for (unsigned i = 0; i < 900 && !retired; i++) {
            of.wait(1000);
            retired = root_.bar0(ring(n, FERRY_BAR0_RING_RETIRED)) == root_.bar0(ring(n, FERRY_BAR0_RING_PRODUCER));
            read_log();
        }
        checks_.that(retired, "a buffer ends");
        const bool well = of.idle() && of.status() == FERRY_BUFFER_STATUS_SUCCESS;
        (well ? good : bad)++;
        // Who stopped the core knows nothing of what was told of meanwhile.
        if (!stopped_) {
            if (well)
                checks_.that(!records_[n].there, "no record of a good buffer");
            else if (records_[n].there)
                hold_against(n, records_[n]);
            else
                checks_.that(!of.idle(), "a record of a bad buffer");
        }
        for (const Written &written : jobs_.written(n)) {
            right_or_as_it_was(written, well);
            if (written.illegal)
                checks_.that(!well, "a buffer with a packet that has no right does not end well");
            refused_ += written.illegal;
        }
    }
    // What was done of each packet, and what the record says of that.
    void hold_against(unsigned n, const Record &record)
    {
        explained_++;
        // Writes that stand behind one that memory refuses have been made when it does.
        const bool last =
            record.kind == FERRY_FAULT_KIND_ENGINE_RESET || (!record.write && record.kind != FERRY_FAULT_KIND_WATCHDOG);
        for (const Written &written : jobs_.written(n)) {
            const size_t bytes = written.content.size();
            size_t done = 0, in_front = bytes;
            for (size_t i = bytes; i-- > 0;) {
                const bool right = jobs_.at(written.out, written.places[i]) == written.content[i];
                done += right;
                if (!right)
                    in_front = i;
            }
            const int faults = checks_.faults();
            if (written.offset < record.offset)
                checks_.equal(done, bytes, "bytes of a packet in front of the one that is named");
            if (written.offset > record.offset && last)
                checks_.equal(done, 0, "bytes of a packet behind the one that is named");
            if (written.offset == record.offset && written.counted) {
                checks_.that(in_front >= record.written, "so many bytes are written as the record tells");
                if (record.kind == FERRY_FAULT_KIND_ENGINE_RESET && record.written)
                    checks_.equal(done, record.written, "bytes that are written when a reset comes");
            }
            if (checks_.faults() != faults)
                std::printf("    ring %u, fault %u of the packet at %u, %u bytes written; at %u %zu of %zu bytes are\n",
                            n, record.kind, record.offset, record.written, written.offset, done, bytes);
        }
    }
    void right_or_as_it_was(const Written &written, bool right_alone)
    {
        for (size_t i = 0; i < written.content.size(); i++) {
            const uint8_t now = jobs_.at(written.out, written.places[i]), right = written.content[i];
            const uint8_t before = static_cast<uint8_t>(~right);
            checks_.that((now == right && !written.illegal) || (now == before && !right_alone),
                         "a byte is right, or of a bad buffer as it was");
        }
    }

    Checks &checks_;
    Random &random_;
    Bench bench_;
    RootComplex &root_ = bench_.root();
    StormJobs jobs_;
    StormRows rows_;
    bool strict_ = false, stops_ = false, stopped_ = false;
    Record records_[StormJobs::RINGS_USED];
    uint64_t fences_[StormJobs::RINGS_USED];
    uint32_t read_ = 0;
    unsigned stray_ = 0, explained_ = 0, refused_ = 0;
};

} // namespace

int main()
{
    return many_devices<Storm>("a_storm_leaves_what_was_written_right_or_as_it_was_and_a_device_that_works", 2, 60);
}
