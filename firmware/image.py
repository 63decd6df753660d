# SPDX-License-Identifier: Apache-2.0
"""Writes a flat firmware binary as $readmemh words (little endian, 32 bits) and as a C array with its header."""

import argparse
import pathlib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--hex", type=pathlib.Path, required=True)
    parser.add_argument("--c", type=pathlib.Path, required=True)
    arguments = parser.parse_args()

    image = arguments.binary.read_bytes()
    image += bytes(-len(image) % 4)
    words = [int.from_bytes(image[at : at + 4], "little") for at in range(0, len(image), 4)]
    arguments.hex.write_text("".join(f"{word:08x}\n" for word in words))

    guard = "FERRY_FIRMWARE_IMAGE_H"
    arguments.c.with_suffix(".h").write_text(
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Made by firmware/image.py. The firmware, to be written to firmware RAM from its first byte on.\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        "extern const unsigned char ferry_firmware_image[];\n"
        "extern const unsigned ferry_firmware_image_bytes;\n\n#endif\n"
    )
    rows = "".join(
        "    " + " ".join(f"0x{byte:02x}," for byte in image[at : at + 16]) + "\n" for at in range(0, len(image), 16)
    )
    arguments.c.write_text(
        "// SPDX-License-Identifier: Apache-2.0\n// Made by firmware/image.py.\n"
        '#include "firmware_image.h"\n\n'
        f"const unsigned char ferry_firmware_image[] = {{\n{rows}}};\n\n"
        f"const unsigned ferry_firmware_image_bytes = {len(image)};\n"
    )


if __name__ == "__main__":
    main()
