"""JPEG of every colour form and EXIF orientation, baseline and progressive, with and without the Adobe marker."""
import io
import struct

import numpy as np
from PIL import Image

from tools.validation.image_files.common import scene


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
