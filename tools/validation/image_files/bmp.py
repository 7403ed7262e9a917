"""BMP of every depth, header and compression."""
import struct

import numpy as np

from tools.validation.image_files.common import scene


def bmp(pixels, width, height, bits, header=40, compression=0, colors=0, palette=b"", masks=(), offset=None):
    """`pixels` as in the file; a negative height means the top row first."""
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(pixels), 2835, 2835, colors, 0)
        info += b"".join(struct.pack("<I", mask) for mask in masks)
        info = info.ljust(header, b"\0")
    start = 14 + len(info) + len(palette)
    return (b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start if offset is None else offset) + info + palette
            + pixels)


def bmp_rows(samples, bits, flip=True):
    """Bottom row first unless told otherwise; samples of a row in the order of the file."""
    data = b""
    for row in samples[::-1] if flip else samples:
        if bits == 16:
            packed = row.astype("<u2").tobytes()
        elif bits in (24, 32):
            packed = row.astype(np.uint8).tobytes()
        else:
            flags = (row.reshape(-1, 1) >> np.arange(bits - 1, -1, -1)) & 1
            packed = np.packbits(flags.astype(np.uint8).ravel()).tobytes()
        data += packed + b"\0" * (-len(packed) % 4)
    return data


def bmp_runs(rows, bits):
    """Runs where samples repeat, samples one by one where they do not."""
    def pack(values):
        if bits == 8:
            return bytes(values)
        values = values + [0] * (len(values) % 2)
        return bytes(a << 4 | b for a, b in zip(values[::2], values[1::2]))

    data = b""
    for row in rows[::-1]:
        row = list(map(int, row))
        while row:
            run = 1
            while run < min(255, len(row)) and row[run] == row[0]:
                run += 1
            if run > 1 or len(row) < 3:
                data += bytes([run, row[0] if bits == 8 else row[0] * 17])
            else:
                run = 3
                while run < min(255, len(row)) and row[run] != row[run - 1]:
                    run += 1
                packed = pack(row[:run])
                data += bytes([0, run]) + packed + b"\0" * (len(packed) % 2)
            row = row[run:]
        data += b"\0\0"
    return data + b"\0\1"


def bmp_files():
    files = {}
    width, height = 37, 23
    four = bytes((i * 37 + c * 61) % 256 * (c < 3) for i in range(256) for c in range(4))
    three = bytes(four[i * 4 + c] for i in range(256) for c in range(3))
    color, clear = scene(width, height, 3, 255), scene(width, height, 4, 255)
    for bits in (1, 4, 8):
        samples = scene(width, height, 1, (1 << bits) - 1)[:, :, 0]
        rows = bmp_rows(samples, bits)
        files[f"bmp_{bits}bit.bmp"] = bmp(rows, width, height, bits, palette=four[:4 << bits])
        files[f"bmp_os2_{bits}bit.bmp"] = bmp(rows, width, height, bits, 12, palette=three[:3 << bits])
        files[f"bmp_{bits}bit_few_colors.bmp"] = bmp(rows, width, height, bits, colors=2, palette=four[:8])
        files[f"bmp_{bits}bit_top_down.bmp"] = bmp(bmp_rows(samples, bits, False), width, -height, bits,
                                                   palette=four[:4 << bits])
    gray = bytes(i * (c < 3) for i in range(256) for c in range(4))
    files["bmp_gray.bmp"] = bmp(rows, width, height, 8, palette=gray)
    files["bmp_palette_offset.bmp"] = bmp(rows, width, height, 8, palette=four, offset=54)
    files["bmp_no_offset.bmp"] = bmp(rows, width, height, 8, palette=four, offset=0)
    files["bmp_black_white.bmp"] = bmp(bmp_rows(scene(width, height, 1, 1)[:, :, 0], 1), width, height, 1,
                                       palette=b"\0\0\0\0\xff\xff\xff\0")

    def words(red, green, blue):
        parts = [color[:, :, i] * top // 255 << shift for i, (top, shift) in enumerate((red, green, blue))]
        return bmp_rows(parts[0] | parts[1] | parts[2], 16)

    five = words((31, 10), (31, 5), (31, 0))
    six = words((31, 11), (63, 5), (31, 0))
    files["bmp_16bit.bmp"] = bmp(five, width, height, 16)
    files["bmp_16bit_555.bmp"] = bmp(five, width, height, 16, 40, 3, masks=(0x7C00, 0x3E0, 0x1F))
    files["bmp_16bit_565.bmp"] = bmp(six, width, height, 16, 56, 3, masks=(0xF800, 0x7E0, 0x1F, 0))
    files["bmp_16bit_565_v2.bmp"] = bmp(six, width, height, 16, 52, 3, masks=(0xF800, 0x7E0, 0x1F))
    bgr = color[:, :, ::-1]
    files["bmp_24bit.bmp"] = bmp(bmp_rows(bgr, 24), width, height, 24)
    files["bmp_24bit_top_down.bmp"] = bmp(bmp_rows(bgr, 24, False), width, -height, 24)
    files["bmp_24bit_os2.bmp"] = bmp(bmp_rows(bgr, 24), width, height, 24, 12)
    files["bmp_24bit_os2_v2.bmp"] = bmp(bmp_rows(bgr, 24), width, height, 24, 64)
    files["bmp_24bit_v5.bmp"] = bmp(bmp_rows(bgr, 24), width, height, 24, 124)
    bgra = clear[:, :, [2, 1, 0, 3]]
    files["bmp_32bit.bmp"] = bmp(bmp_rows(bgra, 32), width, height, 32)
    for header, name, order, masks in (
            (40, "bgrx", [2, 1, 0, 3], (0xFF0000, 0xFF00, 0xFF)),
            (56, "bgra", [2, 1, 0, 3], (0xFF0000, 0xFF00, 0xFF, 0xFF000000)),
            (108, "rgba", [0, 1, 2, 3], (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
            (124, "abgr", [3, 2, 1, 0], (0xFF000000, 0xFF0000, 0xFF00, 0xFF)),
            (124, "xbgr", [3, 2, 1, 0], (0xFF000000, 0xFF0000, 0xFF00, 0)),
            (108, "no_masks", [2, 1, 0, 3], (0, 0, 0, 0))):
        files[f"bmp_32bit_{name}.bmp"] = bmp(bmp_rows(clear[:, :, order], 32), width, height, 32, header, 3, masks=masks)
    for bits, method in ((8, 1), (4, 2)):
        samples = scene(width, height, 1, (1 << bits) - 1)[:, :, 0]
        samples[::4] = samples[::4] // 8 * 8 % (1 << bits)
        palette = four[:4 << bits]
        runs = bmp_runs(samples, bits)
        files[f"bmp_rle{bits}.bmp"] = bmp(runs, width, height, bits, 40, method, palette=palette)
        files[f"bmp_rle{bits}_no_end.bmp"] = bmp(runs[:-2], width, height, bits, 40, method, palette=palette)
        jumps = b"\5\x21\0\2\4\3\6\x43\0\0" + runs[runs.index(b"\0\0", 40) + 2:]
        files[f"bmp_rle{bits}_jump.bmp"] = bmp(jumps, width, height, bits, 40, method, palette=palette)
    return {name: (data, None) for name, data in files.items()}
