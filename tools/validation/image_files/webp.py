"""WebP, lossy and lossless, with alpha, EXIF and animation."""
import io
import struct

import numpy as np
from PIL import Image

from tools.validation.image_files.common import scene
from tools.validation.image_files.jpeg import exif


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
