#!/usr/bin/env python3
"""Makes tests/golden/image/: small pictures of every kind, and what Pillow and the official HunYuanVL image processor
make of them. Needs pillow, numpy, torch and transformers; never run by the tests. Deterministic for given versions.

Usage: make_image_goldens.py [OUTPUT_FOLDER]

decoded.json       file -> [width, height, CRC-32 of the upright RGB pixels]
resize.json        [source width, source height, seed, width, height, CRC-32 of the pixels]
smart_resize.json  [height, width, factor, min_pixels, max_pixels, resized height, resized width]
patches.json       [width, height, seed, patch, merge, min_pixels, max_pixels, grid height, grid width, CRC-32 of the floats]

Where Pillow is not the rule, the rule is written here: 16-bit grey keeps its high byte (Pillow clips at 255, which
makes such pictures white; of PNM it is scaled as 16-bit colour is), and a transparent grey value counts in the file's
own bit depth (Pillow compares it with widened samples). So are kinds of TIFF and PNM that Pillow cannot read.
"""
import io
import json
import random
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, features
import PIL

ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
WHITE = (255, 255, 255, 255)


def crc(array):
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def noise(width, height, seed):
    """Pixels that the C++ tests make again: the high bytes of a linear congruential generator."""
    count = width * height * 3
    values = bytearray(count)
    for i in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        values[i] = seed >> 24
    return np.frombuffer(bytes(values), np.uint8).reshape(height, width, 3)


def scene(width, height, channels, top):
    """Ramps, edges and a little text-like texture, samples 0..top."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    planes = [x * top // max(width - 1, 1), y * top // max(height - 1, 1), (x * 7 + y * 3) % (top + 1),
              (x + y) * top // max(width + height - 2, 1)]
    image = np.stack(planes[:channels] if channels != 2 else [planes[0], planes[3]], -1)
    image[height // 3:height // 2, ::3, : max(channels - (channels in (2, 4)), 1)] = top
    return image


# --- PNG -------------------------------------------------------------------------------------------------------------
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


def on_white(rgba):
    image = Image.fromarray(rgba.astype(np.uint8), "RGBA")
    return np.array(Image.alpha_composite(Image.new("RGBA", image.size, WHITE), image).convert("RGB"))


def pillow_pixels(data):
    """The rule: upright, alpha on white as in transformers' convert_to_rgb, then RGB."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if "A" in image.getbands() or image.info.get("transparency") is not None:
        return on_white(np.array(image.convert("RGBA")))
    return np.array(image.convert("RGB"))


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


# --- EXIF and JPEG ---------------------------------------------------------------------------------------------------
def exif(byte_order, orientation, kind=3):
    e = "<" if byte_order == "II" else ">"
    value = struct.pack(e + "HH", orientation, 0) if kind == 3 else struct.pack(e + "I", orientation)
    entries = [struct.pack(e + "HHII", 0x010F, 2, 6, 50), struct.pack(e + "HHI", 0x0112, kind, 1) + value]
    return (byte_order.encode() + struct.pack(e + "HI", 42, 8) + struct.pack(e + "H", len(entries)) + b"".join(entries)
            + struct.pack(e + "I", 0) + b"\0" * 12 + b"maker\0")


def jpeg(image, **options):
    stream = io.BytesIO()
    image.save(stream, "JPEG", **options)
    return stream.getvalue()


def without_marker(data, marker):
    """The file without its first segment of this marker."""
    at = data.index(bytes([0xFF, marker]))
    return data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]


def with_segment(data, marker, content):
    return data[:2] + bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content + data[2:]


def jpeg_files():
    files = {}
    page = Image.fromarray(scene(301, 203, 3, 255).astype(np.uint8))
    small = Image.fromarray(scene(37, 23, 3, 255).astype(np.uint8))
    files["jpeg_420.jpg"] = jpeg(page, quality=75, subsampling="4:2:0")
    files["jpeg_444.jpg"] = jpeg(page, quality=75, subsampling="4:4:4")
    files["jpeg_422.jpg"] = jpeg(small, quality=90, subsampling="4:2:2")
    files["jpeg_420_progressive.jpg"] = jpeg(small, quality=60, subsampling="4:2:0", progressive=True)
    files["jpeg_420_restarts.jpg"] = jpeg(small, quality=80, subsampling="4:2:0", restart_marker_blocks=2)
    files["jpeg_rgb.jpg"] = jpeg(small, quality=90, keep_rgb=True)
    files["jpeg_gray.jpg"] = jpeg(small.convert("L"), quality=80)
    files["jpeg_gray_progressive.jpg"] = jpeg(small.convert("L"), quality=80, progressive=True)
    for side in (1, 7, 8, 9, 16, 17):
        files[f"jpeg_420_side{side}.jpg"] = jpeg(small.crop((0, 0, side, 18 - side)), quality=85, subsampling="4:2:0")

    cmyk = jpeg(Image.fromarray(scene(37, 23, 4, 255).astype(np.uint8), "CMYK"), quality=90)
    at = cmyk.index(b"Adobe") + 11
    files["jpeg_cmyk_adobe.jpg"] = cmyk[:at] + b"\0" + cmyk[at + 1:]
    files["jpeg_ycck_adobe.jpg"] = cmyk[:at] + b"\2" + cmyk[at + 1:]
    files["jpeg_cmyk_no_marker.jpg"] = without_marker(cmyk, 0xEE)

    plain = jpeg(small.crop((0, 0, 24, 16)), quality=85, subsampling="4:4:4")
    for orientation in range(1, 9):
        for byte_order in ("II", "MM"):
            files[f"jpeg_exif_{byte_order}_{orientation}.jpg"] = with_segment(
                plain, 0xE1, b"Exif\0\0" + exif(byte_order, orientation))
    files["jpeg_exif_long.jpg"] = with_segment(plain, 0xE1, b"Exif\0\0" + exif("MM", 6, kind=4))
    files["jpeg_exif_out_of_range.jpg"] = with_segment(plain, 0xE1, b"Exif\0\0" + exif("II", 9))
    profile = exif("II", 7)
    files["jpeg_exif_two_markers.jpg"] = with_segment(
        with_segment(plain, 0xE1, b"Exif\0\0" + profile[20:]), 0xE1, b"Exif\0\0" + profile[:20])
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta><tiff:Orientation>3</tiff:Orientation></x:xmpmeta>"
    files["jpeg_xmp.jpg"] = with_segment(plain, 0xE1, xmp)
    files["jpeg_xmp_and_exif.jpg"] = with_segment(files["jpeg_exif_II_8.jpg"], 0xE1, xmp)
    return {name: (data, None) for name, data in files.items()}


# --- WebP ------------------------------------------------------------------------------------------------------------
def webp(image, **options):
    stream = io.BytesIO()
    image.save(stream, "WEBP", **options)
    return stream.getvalue()


def riff_chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def webp_animation(frames, canvas, flags):
    """An animation by hand, whose frames (file, x, y) may be smaller than the canvas."""
    def number(value):
        return struct.pack("<I", value)[:3]

    body = riff_chunk(b"VP8X", struct.pack("<I", flags | 2) + number(canvas[0] - 1) + number(canvas[1] - 1))
    body += riff_chunk(b"ANIM", struct.pack("<IH", 0xFF00FF00, 0))
    for data, x, y in frames:
        image = Image.open(io.BytesIO(data))
        chunks, at = b"", 12
        while at < len(data):  # without the header that only a whole file has
            end = at + 8 + (struct.unpack("<I", data[at + 4:at + 8])[0] + 1) // 2 * 2
            if data[at:at + 4] in (b"VP8 ", b"VP8L", b"ALPH"):
                chunks += data[at:end]
            at = end
        body += riff_chunk(b"ANMF", number(x // 2) + number(y // 2) + number(image.width - 1) + number(image.height - 1)
                           + number(100) + b"\0" + chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def webp_files():
    color = Image.fromarray(scene(37, 23, 3, 255).astype(np.uint8))
    clear = Image.fromarray(scene(37, 23, 4, 255).astype(np.uint8), "RGBA")
    part = color.crop((3, 3, 22, 14)), clear.crop((3, 3, 22, 14))
    xmp = b'<x:xmpmeta><rdf:Description tiff:Orientation="3"/></x:xmpmeta>'
    files = {
        "webp_lossy.webp": webp(color, quality=80),
        "webp_lossy_side1.webp": webp(color.crop((0, 0, 1, 17)), quality=80),
        "webp_lossless.webp": webp(color, lossless=True),
        "webp_lossless_palette.webp": webp(color.quantize(7).convert("RGB"), lossless=True),
        "webp_alpha_lossy.webp": webp(clear, quality=70),
        "webp_alpha_lossless.webp": webp(clear, lossless=True, exact=True),
        "webp_animated.webp": webp(clear, save_all=True, append_images=[color.convert("RGBA")], lossless=True),
        "webp_animated_part.webp": webp_animation([(webp(part[0], quality=80), 6, 4)], (37, 23), 0),
        "webp_animated_alpha_part.webp": webp_animation([(webp(part[1], quality=80), 6, 4)], (37, 23), 16),
        "webp_animated_lossless_part.webp": webp_animation(
            [(webp(part[1], lossless=True), 18, 12), (webp(part[0], lossless=True), 0, 0)], (37, 23), 16),
        "webp_exif_II_6.webp": webp(color, quality=80, exif=b"Exif\0\0" + exif("II", 6)),
        "webp_exif_MM_5.webp": webp(clear, lossless=True, exif=exif("MM", 5)),
        "webp_xmp.webp": webp(color, lossless=True, xmp=xmp),
    }
    return {name: (data, None) for name, data in files.items()}


# --- TIFF ------------------------------------------------------------------------------------------------------------
def packbits(data):
    out = bytearray()
    while data:
        run = 1
        while run < min(128, len(data)) and data[run] == data[0]:
            run += 1
        if run > 1:
            out += bytes([257 - run, data[0]])
        else:
            while run < min(128, len(data)) and data[run] != data[run - 1]:
                run += 1
            out += bytes([run - 1]) + data[:run]
        data = data[run:]
    return bytes(out)


COMPRESS = {1: bytes, 8: zlib.compress, 32946: zlib.compress}


def tiff_part(samples, bits, e, compression, reverse):
    """A strip or tile of [rows, columns, samples]."""
    rows = []
    for row in samples.reshape(samples.shape[0], -1):
        if bits == 16:
            data = row.astype(e + "u2").tobytes()
        elif bits == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            flags = (row[:, None] >> np.arange(bits - 1, -1, -1)) & 1
            data = np.packbits(flags.astype(np.uint8).ravel()).tobytes()
        rows.append(packbits(data) if compression == 32773 else data)
    data = b"".join(rows) if compression == 32773 else COMPRESS[compression](b"".join(rows))
    return bytes(int(f"{value:08b}"[::-1], 2) for value in data) if reverse else data


def tiff(samples, bits, photometric, order="II", compression=1, rows=None, tile=None, separate=False, tags=(),
         big=False):
    """A file by hand, for the kinds that Pillow does not write. `tags`: (number, type, values) of further entries."""
    e = "<" if order == "II" else ">"
    height, width, count = samples.shape
    step_y, step_x = (tile[1], tile[0]) if tile else (rows or height, width)
    reverse = any(number == 266 and values == [2] for number, _, values in tags)
    parts = []
    for plane in range(count) if separate else [slice(None)]:
        values = samples[:, :, plane].reshape(height, width, -1)
        if tile:
            values = np.pad(values, ((0, -height % step_y), (0, -width % step_x), (0, 0)))
        for y in range(0, values.shape[0], step_y):
            for x in range(0, values.shape[1], step_x):
                parts.append(tiff_part(values[y:y + step_y, x:x + step_x], bits, e, compression, reverse))
    start = 16 if big else 8
    offsets = [start + sum(map(len, parts[:i])) for i in range(len(parts))]
    entries = [(256, 4, [width]), (257, 4, [height]), (258, 3, [bits] * count), (259, 3, [compression]),
               (262, 3, [photometric]), (277, 3, [count]), (284, 3, [2 if separate else 1]), *tags]
    if tile:
        entries += [(322, 3, [tile[0]]), (323, 3, [tile[1]]), (324, 4, offsets), (325, 4, list(map(len, parts)))]
    else:
        entries += [(273, 4, offsets), (278, 4, [step_y]), (279, 4, list(map(len, parts)))]
    body = b"".join(parts)
    body += b"\0" * (-(start + len(body)) % 2)
    directory, later = b"", b""
    word, head, inline = ("Q", "Q", 8) if big else ("I", "H", 4)
    later_at = start + len(body) + struct.calcsize(head) + len(entries) * (20 if big else 12) + inline
    for number, kind, values in sorted(entries):
        data = bytes(values) if kind in (1, 7) else struct.pack(e + {3: "H", 4: "I"}[kind] * len(values), *values)
        directory += struct.pack(e + "HH" + word, number, kind, len(values))
        if len(data) <= inline:
            directory += data.ljust(inline, b"\0")
        else:
            directory += struct.pack(e + word, later_at + len(later))
            later += data + b"\0" * (len(data) % 2)
    magic = struct.pack(e + "HHHQ", 43, 8, 0, start + len(body)) if big else struct.pack(e + "HI", 42, start + len(body))
    return (order.encode() + magic + body + struct.pack(e + head, len(entries)) + directory + struct.pack(e + word, 0)
            + later)


def saved_tiff(image, compression, **tags):
    stream = io.BytesIO()
    image.save(stream, "TIFF", compression=compression, tiffinfo={int(key[1:]): value for key, value in tags.items()})
    return stream.getvalue()


def gray_rows(samples):
    return np.repeat(samples, 3, axis=2).astype(np.uint8)


def tiff_files():
    files = {}
    color, clear, ink = (scene(37, 23, count, 255) for count in (3, 4, 4))
    for bits in (1, 2, 4, 8, 16):
        samples = scene(37, 23, 1, (1 << bits) - 1)
        for photometric, order in ((1, "II"), (0, "MM")):
            expected = gray_rows((samples >> 8) ^ (255 if photometric == 0 else 0)) if bits == 16 else None
            files[f"tiff_gray{photometric}_{bits}bit.tif"] = tiff(samples, bits, photometric, order), expected
    files["tiff_gray1_16bit_MM.tif"] = (tiff(scene(37, 23, 1, 65535), 16, 1, "MM"),
                                        gray_rows(scene(37, 23, 1, 65535) >> 8))
    for bits in (1, 2, 4, 8):
        samples = scene(37, 23, 1, (1 << bits) - 1)
        colors = [(i * 37 + c * 61) % 256 * 257 for c in range(3) for i in range(1 << bits)]
        data = tiff(samples, bits, 3, "II" if bits < 4 else "MM", tags=[(320, 3, colors)])
        files[f"tiff_palette_{bits}bit.tif"] = data, None
    narrow = [value // 257 for value in colors]  # of 8 bits: Pillow shows black
    files["tiff_palette_narrow.tif"] = tiff(samples, 8, 3, tags=[(320, 3, narrow)]), np.array(
        narrow, np.uint8).reshape(3, 256).T[samples[:, :, 0]]
    gray = scene(37, 23, 2, 255)
    wide = scene(37, 23, 4, 65535)
    for order in ("II", "MM"):
        files[f"tiff_rgb_{order}.tif"] = tiff(color, 8, 2, order, rows=5), None
        files[f"tiff_rgb_16bit_{order}.tif"] = tiff(wide[:, :, :3], 16, 2, order), None
        files[f"tiff_rgba_16bit_{order}.tif"] = tiff(wide, 16, 2, order, tags=[(338, 3, [2])]), None
        files[f"tiff_rgba_16bit_premultiplied_{order}.tif"] = tiff(wide, 16, 2, order, tags=[(338, 3, [1])]), None
        files[f"tiff_cmyk_{order}.tif"] = tiff(ink, 8, 5, order), None
        files[f"tiff_cmyk_16bit_{order}.tif"] = tiff(wide, 16, 5, order), None
    for name, kinds in (("straight", [2]), ("premultiplied", [1]), ("other", [0])):
        files[f"tiff_rgba_{name}.tif"] = tiff(clear, 8, 2, tags=[(338, 3, kinds)]), None
    files["tiff_rgba_unsaid.tif"] = tiff(clear, 8, 2), None
    files["tiff_gray_alpha.tif"] = tiff(gray, 8, 1, tags=[(338, 3, [2])]), None
    files["tiff_gray_other.tif"] = tiff(gray, 8, 1, tags=[(338, 3, [0])]), None
    alpha = gray[:, :, 1:]
    color_of_gray = np.where(alpha == 0, 0, np.minimum(255, gray[:, :, :1] * 255 // np.maximum(alpha, 1)))
    files["tiff_gray_premultiplied.tif"] = tiff(gray, 8, 1, tags=[(338, 3, [1])]), on_white(
        np.concatenate([color_of_gray] * 3 + [alpha], 2))

    # Strips, tiles, planes and compressions.
    for compression, name in ((1, "none"), (8, "deflate"), (32946, "old_deflate"), (32773, "packbits")):
        files[f"tiff_rgb_{name}_strips.tif"] = tiff(color, 8, 2, "MM", compression, rows=7), None
        files[f"tiff_rgb_{name}_tiles.tif"] = tiff(color, 8, 2, "II", compression, tile=(16, 16)), None
        files[f"tiff_gray_4bit_{name}.tif"] = tiff(scene(37, 23, 1, 15), 4, 1, "II", compression, rows=4), None
    files["tiff_rgb_planes.tif"] = tiff(color, 8, 2, separate=True, rows=23), None
    files["tiff_rgb_planes_strips.tif"] = tiff(color, 8, 2, "MM", 8, separate=True, rows=6), None
    files["tiff_rgb_planes_tiles.tif"] = tiff(color, 8, 2, "MM", 8, separate=True, tile=(16, 32)), None
    files["tiff_rgb_planes_16bit.tif"] = (tiff(wide[:, :, :3], 16, 2, "MM", separate=True, rows=4),
                                          (wide[:, :, :3] >> 8).astype(np.uint8))
    files["tiff_rgb_large_tile.tif"] = tiff(color, 8, 2, "II", 8, tile=(128, 64)), None
    files["tiff_big_II.tif"] = tiff(color, 8, 2, "II", big=True), None
    files["tiff_big_MM.tif"] = tiff(color, 8, 2, "MM", 8, rows=9, big=True), color.astype(np.uint8)
    files["tiff_fill_order.tif"] = tiff(scene(37, 23, 1, 1), 1, 1, tags=[(266, 3, [2])]), None
    files["tiff_fill_order_packbits.tif"] = tiff(scene(37, 23, 1, 1), 1, 0, "MM", 32773, tags=[(266, 3, [2])]), None
    picture = Image.fromarray(color.astype(np.uint8))
    page = Image.fromarray(scene(93, 40, 1, 255)[:, :, 0].astype(np.uint8)).convert("1")
    files["tiff_lzw.tif"] = saved_tiff(picture, "tiff_lzw"), None
    files["tiff_lzw_predictor.tif"] = saved_tiff(picture, "tiff_lzw", _317=2), None
    files["tiff_deflate_predictor.tif"] = saved_tiff(picture, "tiff_adobe_deflate", _317=2), None
    for name in ("tiff_ccitt", "group3", "group4"):
        files[f"tiff_fax_{name.removeprefix('tiff_')}.tif"] = saved_tiff(page, name), None
    files["tiff_fax_group3_2d.tif"] = saved_tiff(page, "group3", _292=1), None
    files["tiff_jpeg_ycbcr.tif"] = saved_tiff(picture.convert("YCbCr"), "jpeg"), None
    files["tiff_jpeg_rgb.tif"] = saved_tiff(picture, "jpeg"), None
    files["tiff_jpeg_gray.tif"] = saved_tiff(picture.convert("L"), "jpeg"), None
    files["tiff_jpeg_cmyk.tif"] = saved_tiff(Image.fromarray(ink.astype(np.uint8), "CMYK"), "jpeg"), None
    stream = io.BytesIO()
    picture.save(stream, "TIFF", save_all=True, append_images=[picture.rotate(180)], compression="tiff_lzw")
    files["tiff_two_pages.tif"] = stream.getvalue(), None

    # Orientation, from the tag, else from XMP.
    small = scene(19, 11, 3, 255)
    for orientation in range(1, 9):
        order = "MM" if orientation % 2 else "II"
        files[f"tiff_orientation_{orientation}.tif"] = tiff(small, 8, 2, order, tags=[(274, 3, [orientation])]), None
    packet = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    files["tiff_xmp.tif"] = tiff(small, 8, 2, tags=[(700, 1, list(packet))]), None
    return files


# --- BMP -------------------------------------------------------------------------------------------------------------
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


# --- PNM -------------------------------------------------------------------------------------------------------------
def pnm_scaled(samples, top):
    return np.array([[[round(int(v) / top * 255) for v in pixel] for pixel in row] for row in samples], np.uint8)


def pam(samples, top, kind):
    height, width, depth = samples.shape
    head = f"P7\n# a comment\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL {top}\nTUPLTYPE {kind}\nENDHDR\n"
    return head.encode() + samples.astype(">u2" if top > 255 else "u1").tobytes()


def pnm_files():
    files = {}
    bit = scene(37, 23, 1, 1)[:, :, 0]
    lines = "\n".join("".join(map(str, row)) for row in bit)
    files["pnm_p1.pbm"] = f"P1\n# comment\n37 23\n{lines}\n".encode(), None
    files["pnm_p1_spaces.pbm"] = ("P1 37\t23\n" + " ".join(lines.replace("\n", "# end\n"))).replace(
        "#  e n d ", "# end").encode(), None
    files["pnm_p4.pbm"] = b"P4\n37 23\n" + np.packbits(bit, axis=1).tobytes(), None
    for top in (1, 15, 100, 255, 1000, 65535):
        gray, color = scene(37, 23, 1, top), scene(37, 23, 3, top)
        kind = ">u2" if top > 255 else "u1"
        expected = gray_rows(pnm_scaled(gray, top)) if top > 255 else None
        files[f"pnm_p5_{top}.pgm"] = b"P5 37 23 %d\n" % top + gray.astype(kind).tobytes(), expected
        files[f"pnm_p6_{top}.ppm"] = b"P6\n#c\n37\n#d\n23\n%d\n" % top + color.astype(kind).tobytes(), None
        if top in (100, 1000):
            text = "\n".join(" ".join(map(str, row)) for row in gray[:, :, 0])
            files[f"pnm_p2_{top}.pgm"] = f"P2\n37 23 # sides\n{top}\n{text}".encode(), expected
            text = "\n".join(" ".join(map(str, row.ravel())) + " # row" for row in color)
            files[f"pnm_p3_{top}.ppm"] = f"P3\n37 23\n{top}\n{text}\n".encode(), None
    files["pnm_p6_trailing.ppm"] = files["pnm_p6_255.ppm"][0] + b"another picture", None
    for kind, depth, top in (("BLACKANDWHITE", 1, 1), ("GRAYSCALE", 1, 1000), ("GRAYSCALE_ALPHA", 2, 255), ("RGB", 3, 255),
                             ("RGB_ALPHA", 4, 65535)):
        samples = scene(37, 23, depth, top)
        values = pnm_scaled(samples, top)
        color = values[:, :, :3] if depth > 2 else np.repeat(values[:, :, :1], 3, 2)
        expected = on_white(np.concatenate([color, values[:, :, -1:]], 2)) if depth % 2 == 0 else color
        files[f"pnm_p7_{kind.lower()}.pam"] = pam(samples, top, kind), expected
    return files


# --- Sizes and patches -----------------------------------------------------------------------------------------------
def smart_resize_cases():
    from transformers.models.hunyuan_vl.image_processing_pil_hunyuan_vl import smart_resize

    random_numbers = random.Random(20260801)
    cases = [(h, w, 32, 262144, 16777216) for h, w in
             ((1, 1), (1, 200), (200, 1), (16, 16), (48, 80), (80, 48), (512, 512), (3508, 2480), (3301, 2550), (4096, 4096),
              (4097, 4097), (240, 48000), (10, 1000), (1008, 16), (65500, 400), (513, 511), (20, 4000), (8192, 8192))]
    while len(cases) < 420:
        factor = random_numbers.choice((28, 32, 32, 32, 16))
        minimum, maximum = random_numbers.choice(((262144, 16777216), (8192, 786432), (262144, 1048576), (3136, 1003520), (1, 4096)))
        if len(cases) % 3 == 0:  # halves: where the kind of rounding shows
            h, w = (factor * random_numbers.randrange(0, 90) + factor // 2 for _ in "hw")
        else:
            h, w = (int(2 ** random_numbers.uniform(0, 13.5)) for _ in "hw")
        if max(h, w) <= 200 * min(h, w):
            cases.append((h, w, factor, minimum, maximum))
    return [[*case, *smart_resize(*case)] for case in cases]


def resize_cases():
    cases = []
    for i, (source, target) in enumerate((
            ((64, 48), (32, 32)), ((64, 48), (96, 96)), ((64, 48), (64, 32)), ((64, 48), (32, 48)), ((64, 48), (64, 48)),
            ((1, 1), (32, 32)), ((1, 37), (32, 64)), ((37, 1), (64, 32)), ((2, 3), (96, 64)), ((301, 203), (96, 64)),
            ((301, 203), (1, 1)), ((301, 203), (320, 192)), ((600, 3), (32, 32)), ((3, 600), (320, 32)), ((150, 149), (151, 150)),
            ((199, 1), (33, 7)), ((17, 19), (289, 323)), ((255, 257), (31, 33)), ((100, 100), (99, 3)), ((5, 400), (160, 5)))):
        image = Image.fromarray(noise(*source, i + 1))
        cases.append([*source, i + 1, *target, crc(np.array(image.resize(target, Image.Resampling.BICUBIC)))])
    return cases


def patch_cases():
    from transformers.models.hunyuan_vl.image_processing_pil_hunyuan_vl import HunYuanVLImageProcessorPil

    cases = []
    for i, (size, patch, merge, pixels) in enumerate((
            ((512, 512), 16, 2, (262144, 16777216)), ((417, 300), 16, 2, (8192, 786432)), ((1, 1), 16, 2, (8192, 786432)),
            ((3, 500), 16, 2, (8192, 786432)), ((500, 30), 14, 2, (3136, 20000)), ((130, 250), 16, 1, (1024, 16384)),
            ((260, 260), 16, 2, (1024, 65536)))):
        processor = HunYuanVLImageProcessorPil(patch_size=patch, merge_size=merge, min_pixels=pixels[0], max_pixels=pixels[1])
        result = processor(Image.fromarray(noise(*size, i + 101)), return_tensors="np")
        _, grid_height, grid_width = map(int, result["image_grid_thw"][0])
        cases.append([*size, i + 101, patch, merge, *pixels, grid_height, grid_width,
                      crc(result["pixel_values"].astype("<f4"))])
    return cases


def write_rows(path, rows):
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "tests/golden/image"
    folder.mkdir(parents=True, exist_ok=True)
    print("Pillow", PIL.__version__, "libjpeg-turbo", features.version("libjpeg_turbo"), "libwebp",
          features.version("webp"), "libtiff", features.version("libtiff"))
    decoded = {}
    files = {**png_files(), **jpeg_files(), **webp_files(), **tiff_files(), **bmp_files(), **pnm_files()}
    for name, (data, expected) in sorted(files.items()):
        (folder / name).write_bytes(data)
        pixels = pillow_pixels(data) if expected is None else expected
        decoded[name] = [pixels.shape[1], pixels.shape[0], crc(pixels)]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in decoded.items())
    (folder / "decoded.json").write_text("{\n" + rows + "\n}\n")
    write_rows(folder / "smart_resize.json", smart_resize_cases())
    write_rows(folder / "resize.json", resize_cases())
    write_rows(folder / "patches.json", patch_cases())


if __name__ == "__main__":
    main()
