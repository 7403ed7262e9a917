"""What the writers of picture files share: made-up pixels, checksums, and the rule for what a decoded picture is."""
import io
import zlib

import numpy as np
from PIL import Image, ImageOps

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


def on_white(rgba):
    image = Image.fromarray(rgba.astype(np.uint8), "RGBA")
    return np.array(Image.alpha_composite(Image.new("RGBA", image.size, WHITE), image).convert("RGB"))


def pillow_pixels(data):
    """The rule: upright, alpha on white as in transformers' convert_to_rgb, then RGB."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    if "A" in image.getbands() or image.info.get("transparency") is not None:
        return on_white(np.array(image.convert("RGBA")))
    return np.array(image.convert("RGB"))


def gray_rows(samples):
    return np.repeat(samples, 3, axis=2).astype(np.uint8)
