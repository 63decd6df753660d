// SPDX-License-Identifier: Apache-2.0
// Packets on a full-speed USB wire, as a host sends and takes them: USB 2.0 chapters 7 and 8. NRZI, bit stuffing,
// synchronisation, check sums. A tick is a quarter of a bit, 1/48 microsecond.
#ifndef FERRY_SIM_USB_WIRE_H
#define FERRY_SIM_USB_WIRE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferry
{

/// Packet identifiers, with their complement in the upper half (8.3.1).
enum class UsbPid : uint8_t {
    out = 0xe1,
    in = 0x69,
    sof = 0xa5,
    setup = 0x2d,
    data0 = 0xc3,
    data1 = 0x4b,
    ack = 0xd2,
    nak = 0x5a,
    stall = 0x1e,
    none = 0, // Nothing came, or nothing whole.
};

/// CRC of 5 bits over an address and an endpoint, or a frame's number: 11 bits (8.3.5.1).
inline uint32_t usb_crc5(uint32_t bits)
{
    uint32_t crc = 0x1f;
    for (int n = 0; n < 11; n++) {
        crc = crc >> 1 ^ (((crc ^ bits >> n) & 1) != 0 ? 0x14 : 0);
    }
    return crc ^ 0x1f;
}

/// CRC of 16 bits over a packet's data (8.3.5.2).
inline uint32_t usb_crc16(const uint8_t *bytes, size_t count)
{
    uint32_t crc = 0xffff;
    for (size_t n = 0; n < 8 * count; n++) {
        crc = crc >> 1 ^ (((crc ^ bytes[n / 8] >> n % 8) & 1) != 0 ? 0xa001 : 0);
    }
    return crc ^ 0xffff;
}

/// Pins gives: `void drive(bool dp, bool dn)`, `void release()`, `void tick()` (one tick passes), and the wires as they
/// are then, `bool dp()` and `bool dn()`.
template <class Pins> class UsbWire
{
  public:
    explicit UsbWire(Pins &pins) : pins_(pins) {}

    /// Ticks that have passed here.
    uint64_t now() const { return now_; }

    void wait(uint64_t ticks)
    {
        while (ticks-- != 0) {
            pins_.tick();
            now_++;
        }
    }

    /// Both wires low, for a reset or, two bits of it, at a packet's end.
    void drive_reset(uint64_t ticks)
    {
        pins_.drive(false, false);
        wait(ticks);
        pins_.release();
    }

    /// Identifier and what follows it, up to the first idle bit.
    void send(UsbPid pid, const uint8_t *bytes, size_t count)
    {
        level_ = true;
        ones_ = 0;
        for (int n = 0; n < 7; n++) {
            send_bit(false);
        }
        send_bit(true);
        send_byte(static_cast<uint8_t>(pid));
        for (size_t n = 0; n < count; n++) {
            send_byte(bytes[n]);
        }
        pins_.drive(false, false);
        wait(2 * bit);
        pins_.drive(true, false);
        wait(bit);
        pins_.release();
    }

    /// The device's answer: its identifier, and what follows in `bytes`. none = nothing began in the time that a host
    /// waits, or what came breaks a rule; then broken() says which.
    UsbPid receive(std::vector<uint8_t> &bytes)
    {
        bytes.clear();
        broken_ = nullptr;
        // 7.1.19.1: a host waits for 18 bits from the packet's end, of which one has passed.
        for (uint32_t ticks = 0; !is_k(); ticks++) {
            if (ticks == 17 * bit) {
                return UsbPid::none;
            }
            wait(1);
        }
        return receive_bits(bytes);
    }

    /// What was wrong with the packet that receive() gave up, or nullptr when nothing came.
    const char *broken() const { return broken_; }

  private:
    static constexpr uint32_t bit = 4;
    static constexpr uint32_t most_bits = 8 + 8 * (1 + 64 + 2) * 7 / 6; // Of a packet, stuffed ones among them.

    bool is_k() { return !pins_.dp() && pins_.dn(); }
    bool is_low() { return !pins_.dp() && !pins_.dn(); }

    void send_level(bool value)
    {
        level_ = value ? level_ : !level_;
        pins_.drive(level_, !level_);
        wait(bit);
    }

    void send_bit(bool value)
    {
        send_level(value);
        ones_ = value ? ones_ + 1 : 0;
        if (ones_ == 6) {
            send_level(false);
            ones_ = 0;
        }
    }

    void send_byte(uint8_t byte)
    {
        for (int n = 0; n < 8; n++) {
            send_bit((byte >> n & 1) != 0);
        }
    }

    UsbPid give_up(const char *why)
    {
        broken_ = why;
        uint32_t quiet = 0;
        for (uint32_t ticks = 0; quiet < 8 * bit && ticks < bit * most_bits; ticks++) {
            quiet = pins_.dp() && !pins_.dn() ? quiet + 1 : 0;
            wait(1);
        }
        return UsbPid::none;
    }

    /// To the middle of the next bit: two ticks behind an edge, else four behind the last middle.
    void next_bit()
    {
        const bool before = pins_.dp();
        for (uint32_t ticks = 0; ticks < bit; ticks++) {
            wait(1);
            if (pins_.dp() != before || is_low()) {
                wait(bit / 2 - 1);
                return;
            }
        }
    }

    UsbPid receive_bits(std::vector<uint8_t> &bytes)
    {
        // The first edge was seen; its bit's middle.
        wait(bit / 2 - 1);
        bool before = true, synchronised = false;
        uint32_t ones = 0, shift = 0, count = 0, zeros = 0, bits = 0;
        while (!is_low()) {
            const bool level = pins_.dp(), value = level == before;
            before = level;
            if (!synchronised) {
                if (value && zeros < 6) {
                    return give_up("no synchronisation in front of a packet");
                }
                synchronised = value;
                zeros += !value;
                ones = value;
            } else if (ones == 6) {
                if (value) {
                    return give_up("seven ones in a row");
                }
                ones = 0;
            } else {
                ones = value ? ones + 1 : 0;
                shift |= static_cast<uint32_t>(value) << count % 8;
                if (++count % 8 == 0) {
                    bytes.push_back(static_cast<uint8_t>(shift));
                    shift = 0;
                }
            }
            if (++bits > most_bits) {
                return give_up("a packet that does not end");
            }
            next_bit();
        }
        return take(bytes, count);
    }

    /// The end of the packet, then what it is.
    UsbPid take(std::vector<uint8_t> &bytes, uint32_t bits)
    {
        wait(bit);
        if (!is_low()) {
            return give_up("a packet's end of one bit");
        }
        wait(bit);
        if (!pins_.dp() || pins_.dn()) {
            return give_up("no idle wires behind a packet");
        }
        if (bits == 0 || bits % 8 != 0) {
            return give_up("a packet of no whole bytes");
        }
        const uint8_t pid = bytes[0];
        bytes.erase(bytes.begin());
        if ((pid & 15) != (~pid >> 4 & 15)) {
            return give_up("an identifier that is not its complement's");
        }
        return static_cast<UsbPid>(pid);
    }

    Pins &pins_;
    uint64_t now_ = 0;
    bool level_ = true;
    uint32_t ones_ = 0;
    const char *broken_ = nullptr;
};

} // namespace ferry

#endif
