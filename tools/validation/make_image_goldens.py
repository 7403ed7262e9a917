#!/usr/bin/env python3
"""Makes tests/golden/image/: small pictures of every kind, and what Pillow and the official HunYuanVL image processor
make of them. Needs pillow, numpy, torch and transformers; never run by the tests. Deterministic for given versions.

Usage: python -m tools.validation.make_image_goldens [OUTPUT_FOLDER]

decoded.json       file -> [width, height, CRC-32 of the upright RGB pixels]
resize.json        [source width, source height, seed, width, height, CRC-32 of the pixels]
smart_resize.json  [height, width, factor, min_pixels, max_pixels, resized height, resized width]
patches.json       [width, height, seed, patch, merge, min_pixels, max_pixels, grid height, grid width, CRC-32 of the floats]

Where Pillow is not the rule, the rule is written in image_files/, one file per format: 16-bit grey keeps its high byte (Pillow clips at 255, which
makes such pictures white; of PNM it is scaled as 16-bit colour is), and a transparent grey value counts in the file's
own bit depth (Pillow compares it with widened samples). So are kinds of TIFF and PNM that Pillow cannot read.
"""
import json
import random
import sys
from pathlib import Path

import numpy as np
import PIL
from PIL import Image, features

from tools.validation.image_files.bmp import bmp_files
from tools.validation.image_files.common import crc, noise, pillow_pixels
from tools.validation.image_files.jpeg import jpeg_files
from tools.validation.image_files.png import png_files
from tools.validation.image_files.pnm import pnm_files
from tools.validation.image_files.tiff import tiff_files
from tools.validation.image_files.webp import webp_files


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
