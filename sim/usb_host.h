// SPDX-License-Identifier: Apache-2.0
// A USB host controller with one full-speed device at its port, at the wires: transactions, data toggles, frames,
// control transfers, as USB 2.0 chapters 8 and 9 have them. What a device does against them is told in violation().
#ifndef FERRY_SIM_USB_HOST_H
#define FERRY_SIM_USB_HOST_H

#include <array>
#include <cstring>

#include "usb_wire.h"

namespace ferry
{

enum class UsbResult {
    done,
    nak,   // Not now.
    stall, // Never, or a request that the device does not know.
    fault, // No whole answer, three times over.
};

template <class Pins> class UsbHost
{
  public:
    static constexpr size_t packet_bytes = 64;
    static constexpr uint64_t millisecond = 48000; // Ticks.

    explicit UsbHost(Pins &pins) : wire_(pins) {}

    /// How long a bus reset is: what a hub drives, at least (7.1.7.5). A device has noted it after 2.5 microseconds.
    uint64_t reset_ticks = 10 * millisecond;

    const char *violation() const { return violation_; }

    /// Bus reset, and an address (7.1.7.5, 9.4.6). fault = nobody answers.
    UsbResult reset()
    {
        wire_.wait(gap);
        wire_.drive_reset(reset_ticks);
        wire_.wait(millisecond / 10);
        address_ = 0;
        clear_toggles();
        next_frame_ = wire_.now();
        static const uint8_t set_address[8] = {0x00, 0x05, new_address, 0, 0, 0, 0, 0};
        size_t moved = 0;
        const UsbResult result = control(set_address, nullptr, moved);
        if (result == UsbResult::done) {
            address_ = new_address;
            idle(2 * millisecond);
        }
        return result;
    }

    /// Let time pass, with what a host sends in it.
    void idle(uint64_t ticks)
    {
        const uint64_t end = wire_.now() + ticks;
        while (wire_.now() < end) {
            begin();
            const uint64_t left = end - wire_.now(), frame = next_frame_ - wire_.now();
            wire_.wait(wire_.now() >= end ? 0 : next_frame_ <= wire_.now() ? 1 : left < frame ? left : frame);
        }
    }

    /// The first transaction of a control transfer alone: what follows it is the caller's, or nothing does.
    UsbResult begin_control(const uint8_t setup[8])
    {
        const UsbResult result = send(UsbPid::setup, 0, UsbPid::data0, setup, 8);
        toggle_in_[0] = toggle_out_[0] = true;
        return result;
    }

    /// 8.5.3: set-up, data, status. `data` has, or gets, wLength bytes; `moved` of them went.
    UsbResult control(const uint8_t setup[8], uint8_t *data, size_t &moved)
    {
        const bool in = (setup[0] & 0x80) != 0;
        const size_t length = setup[6] | static_cast<size_t>(setup[7]) << 8;
        moved = 0;
        UsbResult result = begin_control(setup);
        while (result == UsbResult::done && moved < length) {
            const size_t part = length - moved < packet_bytes ? length - moved : packet_bytes;
            size_t got = part;
            if (in) {
                uint8_t bytes[packet_bytes];
                result = patient([&] { return bulk_in(0, bytes, got); });
                got = got < part ? got : part;
                std::memcpy(data + moved, bytes, result == UsbResult::done ? got : 0);
            } else {
                result = patient([&] { return bulk_out(0, data + moved, part); });
            }
            moved += result == UsbResult::done ? got : 0;
            if (got < packet_bytes) {
                break;
            }
        }
        if (result != UsbResult::done) {
            return result;
        }
        toggle_in_[0] = toggle_out_[0] = true;
        uint8_t none[packet_bytes];
        size_t bytes = 0;
        result = patient([&] { return in && length != 0 ? bulk_out(0, none, 0) : bulk_in(0, none, bytes); });
        if (result == UsbResult::done) {
            note_request(setup);
        }
        return result;
    }

    /// One transaction (8.5.2). nak leaves everything as it was.
    UsbResult bulk_out(unsigned endpoint, const uint8_t *data, size_t count)
    {
        const UsbResult result =
            send(UsbPid::out, endpoint, toggle_out_[endpoint] ? UsbPid::data1 : UsbPid::data0, data, count);
        toggle_out_[endpoint] ^= result == UsbResult::done;
        return result;
    }

    /// Up to packet_bytes into `data`.
    UsbResult bulk_in(unsigned endpoint, uint8_t *data, size_t &count)
    {
        for (int tries = 0; tries < 3; tries++) {
            begin();
            token(UsbPid::in, endpoint);
            const UsbPid pid = wire_.receive(answer_);
            if (pid == UsbPid::nak || pid == UsbPid::stall) {
                return pid == UsbPid::nak ? UsbResult::nak : UsbResult::stall;
            }
            if ((pid != UsbPid::data0 && pid != UsbPid::data1) || !checked()) {
                note_broken(pid);
                continue;
            }
            wire_.wait(gap);
            wire_.send(UsbPid::ack, nullptr, 0);
            // 8.6.3: one that came before; its acknowledgement was lost.
            if ((pid == UsbPid::data1) != toggle_in_[endpoint]) {
                tries = -1;
                continue;
            }
            toggle_in_[endpoint] = !toggle_in_[endpoint];
            count = answer_.size() - 2;
            std::memcpy(data, answer_.data(), count);
            return UsbResult::done;
        }
        return UsbResult::fault;
    }

  private:
    static constexpr uint8_t new_address = 5;
    static constexpr uint32_t gap = 4 * 3; // Between a device's packet and the host's: at least two bits.
    static constexpr uint32_t patience = 100000;

    template <class Transaction> UsbResult patient(Transaction transaction)
    {
        UsbResult result = UsbResult::nak;
        for (uint32_t tries = 0; tries < patience && result == UsbResult::nak; tries++) {
            result = transaction();
        }
        return result == UsbResult::nak ? UsbResult::fault : result;
    }

    void clear_toggles()
    {
        toggle_in_.fill(false);
        toggle_out_.fill(false);
    }

    /// Requests behind which both sides begin with DATA0 (9.1.1.5, 9.4.5).
    void note_request(const uint8_t setup[8])
    {
        if ((setup[0] == 0x00 && setup[1] == 9) || (setup[0] == 0x01 && setup[1] == 11)) {
            clear_toggles();
        } else if (setup[0] == 0x02 && setup[1] == 1 && setup[2] == 0) {
            ((setup[4] & 0x80) != 0 ? toggle_in_ : toggle_out_)[setup[4] & 15] = false;
        }
    }

    /// Frames begin once a millisecond; a device that hears of none for three sleeps.
    void begin()
    {
        wire_.wait(gap);
        if (wire_.now() < next_frame_) {
            return;
        }
        const uint32_t bits = frame_ & 0x7ff, crc = usb_crc5(bits);
        const uint8_t bytes[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8 | crc << 3)};
        wire_.send(UsbPid::sof, bytes, 2);
        frame_++;
        next_frame_ += millisecond;
        next_frame_ = next_frame_ < wire_.now() ? wire_.now() + millisecond : next_frame_;
    }

    void token(UsbPid pid, unsigned endpoint)
    {
        const uint32_t bits = address_ | endpoint << 7, crc = usb_crc5(bits);
        const uint8_t bytes[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8 | crc << 3)};
        wire_.send(pid, bytes, 2);
    }

    UsbResult send(UsbPid pid, unsigned endpoint, UsbPid toggle, const uint8_t *data, size_t count)
    {
        uint8_t bytes[packet_bytes + 2];
        std::memcpy(bytes, data, count);
        const uint32_t crc = usb_crc16(bytes, count);
        bytes[count] = static_cast<uint8_t>(crc);
        bytes[count + 1] = static_cast<uint8_t>(crc >> 8);
        for (int tries = 0; tries < 3; tries++) {
            begin();
            token(pid, endpoint);
            wire_.wait(gap);
            wire_.send(toggle, bytes, count + 2);
            const UsbPid said = wire_.receive(answer_);
            if (said == UsbPid::ack) {
                return UsbResult::done;
            }
            if (said == UsbPid::nak || said == UsbPid::stall) {
                return said == UsbPid::nak ? UsbResult::nak : UsbResult::stall;
            }
            note_broken(said);
        }
        return UsbResult::fault;
    }

    bool checked() const
    {
        const size_t count = answer_.size();
        return count >= 2 && count <= packet_bytes + 2 &&
               usb_crc16(answer_.data(), count - 2) ==
                   (answer_[count - 2] | static_cast<uint32_t>(answer_[count - 1]) << 8);
    }

    void note_broken(UsbPid pid)
    {
        const char *why = wire_.broken() != nullptr ? wire_.broken()
                          : pid != UsbPid::none     ? "an answer of the wrong kind"
                                                    : nullptr;
        violation_ = violation_ != nullptr ? violation_ : why;
    }

    UsbWire<Pins> wire_;
    std::vector<uint8_t> answer_;
    std::array<bool, 16> toggle_in_{}, toggle_out_{};
    uint32_t address_ = 0, frame_ = 0;
    uint64_t next_frame_ = 0;
    const char *violation_ = nullptr;
};

} // namespace ferry

#endif
