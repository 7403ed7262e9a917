"""PNG of every colour type and depth, interlaced, with palettes, transparency and EXIF."""
import struct
import zlib

import numpy as np

from tools.validation.image_files.common import on_white, scene
from tools.validation.image_files.jpeg import exif

ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pack_rows(samples, bits):
    rows = []
    for i, row in enumerate(samples.reshape(samples.shape[0], -1)):
        if bits == 16:
            data = row.astype(">u2").tobytes()
        elif bits == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            flags = (row[:, None] >> np.arange(bits - 1, -1, -1)) & 1
            data = np.packbits(flags.astype(np.uint8).ravel()).tobytes()
        kind = i % 2 if bits >= 8 else 0  # filters none and sub take turns
        if kind == 1:
            step = max(1, samples.shape[2] * bits // 8)
            data = bytes((data[j] - (data[j - step] if j >= step else 0)) & 255 for j in range(len(data)))
        rows.append(bytes([kind]) + data)
    return b"".join(rows)


def png(samples, bits, color_type, interlaced=False, before=b"", after=b""):
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, int(interlaced))
    if interlaced:
        passes = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        raw = b"".join(pack_rows(part, bits) for part in passes if part.size)
    else:
        raw = pack_rows(samples, bits)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", zlib.compress(raw, 9)) + after
            + chunk(b"IEND", b""))


def png_files():
    files = {}
    palette = bytes((i * 37 + c * 61) % 256 for i in range(256) for c in range(3))
    for color_type, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
        for bits in depths:
            for interlaced in (False, True):
                samples = scene(37, 23, CHANNELS[color_type], (1 << bits) - 1)
                before = chunk(b"PLTE", palette[:3 << bits]) if color_type == 3 else b""
                data = png(samples, bits, color_type, interlaced, before)
                expected = None
                if color_type == 0 and bits == 16:
                    expected = np.repeat(samples >> 8, 3, axis=2).astype(np.uint8)
                files[f"png_type{color_type}_{bits}bit{'_interlaced' if interlaced else ''}.png"] = data, expected

    # Transparent values and palette entries.
    for bits in (1, 2, 4, 8, 16):
        samples = scene(19, 11, 1, (1 << bits) - 1)
        value = int(samples[5, 9, 0])
        widened = samples >> 8 if bits == 16 else samples * 255 // ((1 << bits) - 1)
        rgba = np.concatenate([widened] * 3 + [np.where(samples == value, 0, 255)], axis=2)
        data = png(samples, bits, 0, False, chunk(b"tRNS", struct.pack(">H", value)))
        files[f"png_transparent_gray_{bits}bit.png"] = data, on_white(rgba)
    samples = scene(19, 11, 3, 255)
    key = chunk(b"tRNS", struct.pack(">3H", *map(int, samples[5, 9])))
    files["png_transparent_rgb.png"] = png(samples, 8, 2, False, key), None
    for interlaced in (False, True):
        samples = scene(19, 11, 1, 15)
        before = chunk(b"PLTE", palette[:48]) + chunk(b"tRNS", bytes(range(0, 256, 17))[:16])
        name = f"png_transparent_palette{'_interlaced' if interlaced else ''}.png"
        files[name] = png(samples, 4, 3, interlaced, before), None
    files["png_transparent_palette_entry.png"] = png(scene(19, 11, 1, 3), 2, 3, False,
                                                     chunk(b"PLTE", palette[:12]) + chunk(b"tRNS", b"\xff\x00")), None

    # Orientation in a PNG: eXIf before and after the pixels, ImageMagick's comment, XMP.
    samples = scene(19, 11, 3, 255)
    profile = exif("MM", 8)
    text = b"Raw profile type exif\0\nexif\n%8d\n%s\n" % (len(profile) + 6, (b"Exif\0\0" + profile).hex().encode())
    compressed = b"Raw profile type exif\0\0" + zlib.compress(text[22:])
    packet = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    itxt = b"XML:com.adobe.xmp\0\0\0\0\0" + packet
    files["png_exif_before.png"] = png(samples, 8, 2, False, chunk(b"eXIf", exif("II", 6))), None
    files["png_exif_after.png"] = png(samples, 8, 2, False, b"", chunk(b"eXIf", exif("MM", 5))), None
    files["png_raw_profile.png"] = png(samples, 8, 2, False, chunk(b"tEXt", text)), None
    files["png_raw_profile_compressed.png"] = png(samples, 8, 2, False, chunk(b"zTXt", compressed)), None
    files["png_xmp.png"] = png(samples, 8, 2, False, chunk(b"iTXt", itxt)), None
    files["png_1x1.png"] = png(scene(1, 1, 3, 255), 8, 2), None
    return files
