"""TIFF of every layout, compression and colour form that is read."""
import io
import struct
import zlib

import numpy as np
from PIL import Image

from tools.validation.image_files.common import gray_rows, on_white, scene


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
