#!/usr/bin/env python3
"""Makes tests/golden/image/: small pictures of every kind, and what Pillow and the official HunYuanVL image processor
make of them. Needs pillow, numpy, torch and transformers; never run by the tests. Deterministic for given versions.

Usage: make_image_goldens.py [OUTPUT_FOLDER]

decoded.json       file -> [width, height, CRC-32 of the upright RGB pixels]
resize.json        [source width, source height, seed, width, height, CRC-32 of the pixels]
smart_resize.json  [height, width, factor, min_pixels, max_pixels, resized height, resized width]
patches.json       [width, height, seed, patch, merge, min_pixels, max_pixels, grid height, grid width, CRC-32 of the floats]

Where Pillow is not the rule, the rule is written here: 16-bit grey keeps its high byte (Pillow clips at 255, which
makes such pictures white), and a transparent grey value counts in the file's own bit depth (Pillow compares it with
widened samples).
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
    print("Pillow", PIL.__version__, "libjpeg-turbo", features.version("libjpeg_turbo"))
    decoded = {}
    for name, (data, expected) in sorted({**png_files(), **jpeg_files()}.items()):
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
