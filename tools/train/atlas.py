"""Glyph atlases: every drawn character of every font at every size, rasterised once by Pillow (FreeType).

Workers lay pages out from the metrics; the renderer copies the bitmaps on the device. An atlas is cached in a folder
as `metrics.npz` and `pixels.npy`. Coordinates are pixels, x to the right, y downwards, relative to the pen position
on the baseline.
"""

import concurrent.futures
import dataclasses
import pathlib

import numpy
from PIL import Image, ImageDraw, ImageFont

from characters import ASCII, DRAWN_CHARACTERS

SIZES = tuple(range(9, 41)) + tuple(range(42, 66, 3)) + tuple(range(68, 116, 8))
SPACE = len(DRAWN_CHARACTERS)  # the column of the space: an advance without a bitmap
COLUMNS = SPACE + 1
KERNING_SIZE = 100


@dataclasses.dataclass
class Metrics:
    """What layout needs. Arrays are indexed [font, size index, character column] unless stated otherwise."""

    names: numpy.ndarray     # [font] file names
    present: numpy.ndarray   # [font, column] bool: the font has the character
    fixed_pitch: numpy.ndarray  # [font] bool
    kerning: numpy.ndarray   # [font, ASCII, ASCII] in em
    advance: numpy.ndarray   # float32
    left: numpy.ndarray      # int16, from the pen to the bitmap's left edge
    top: numpy.ndarray       # int16, from the baseline to the bitmap's top edge, negative above it
    width: numpy.ndarray     # int16, 0 where nothing is drawn
    height: numpy.ndarray    # int16
    offset: numpy.ndarray    # int64, of the bitmap's first pixel in the pixel array

    @staticmethod
    def load(folder):
        with numpy.load(pathlib.Path(folder) / "metrics.npz", allow_pickle=False) as arrays:
            return Metrics(**{field.name: arrays[field.name] for field in dataclasses.fields(Metrics)})

    def __post_init__(self):
        self._steps = {}

    def steps(self, font, row):
        """Character → advance of one font at one size, kept for the next use. Not shared between threads."""
        found = self._steps.get((font, row))
        if found is None:
            found = self._steps[font, row] = dict(zip(DRAWN_CHARACTERS + " ", self.advance[font, row].tolist()))
        return found

    def save(self, folder):
        arrays = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        numpy.savez(pathlib.Path(folder) / "metrics.npz", **arrays)


def rasterize_font(path):
    """Bitmaps and metrics of one font, or None when it lacks a printable ASCII character."""
    shape = (len(SIZES), COLUMNS)
    advance = numpy.zeros(shape, numpy.float32)
    left, top, width, height = (numpy.zeros(shape, numpy.int16) for _ in range(4))
    offset = numpy.zeros(shape, numpy.int64)

    def load(size):
        return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)

    probe = load(40)
    missing_glyph = bytes(probe.getmask("\ue123"))
    present = numpy.array([bytes(probe.getmask(character)) != missing_glyph for character in DRAWN_CHARACTERS] + [True])
    if not present[:len(ASCII)].all():
        return None
    pieces, position = [], 0
    for row, size in enumerate(SIZES):
        font = load(size)
        advance[row, SPACE] = font.getlength(" ")
        # One sheet per size: cells wide enough for any character, the pen at (pen_x, pen_y) of each cell.
        cell_width, cell_height, pen_x, pen_y = 3 * size, 3 * size, size, 2 * size
        sheet = Image.new("L", (cell_width * len(DRAWN_CHARACTERS), cell_height), 0)
        draw = ImageDraw.Draw(sheet)
        for column, character in enumerate(DRAWN_CHARACTERS):
            if present[column]:
                advance[row, column] = font.getlength(character)
                draw.text((column * cell_width + pen_x, pen_y), character, fill=255, font=font, anchor="ls")
        cells = numpy.asarray(sheet).reshape(cell_height, -1, cell_width).transpose(1, 0, 2)
        in_rows, in_columns = cells.any(2), cells.any(1)
        for column in numpy.flatnonzero(in_rows.any(1)):
            y0, y1 = in_rows[column].argmax(), cell_height - in_rows[column, ::-1].argmax()
            x0, x1 = in_columns[column].argmax(), cell_width - in_columns[column, ::-1].argmax()
            left[row, column], top[row, column] = x0 - pen_x, y0 - pen_y
            width[row, column], height[row, column] = x1 - x0, y1 - y0
            offset[row, column] = position
            pieces.append(cells[column, y0:y1, x0:x1].ravel())
            position += pieces[-1].size
    font = load(KERNING_SIZE)
    single = numpy.array([font.getlength(character) for character in ASCII])
    kerning = numpy.zeros((len(ASCII), len(ASCII)), numpy.float32)
    if any(font.getlength(pair) != font.getlength(pair[0]) + font.getlength(pair[1]) for pair in ("AV", "To", "Ty")):
        pairs = numpy.array([[font.getlength(first + second) for second in ASCII] for first in ASCII])
        kerning += ((pairs - single[:, None] - single[None, :]) / KERNING_SIZE)
    fixed_pitch = abs(single[ASCII.index("i")] - single[ASCII.index("M")]) < 0.5
    return {"present": present, "fixed_pitch": fixed_pitch, "kerning": kerning, "advance": advance, "left": left,
            "top": top, "width": width, "height": height, "offset": offset, "pixels": numpy.concatenate(pieces)}


def build(font_folder, folder, workers):
    """Rasterises all fonts of `font_folder` into the cache `folder` unless that was done before."""
    folder = pathlib.Path(folder)
    if (folder / "metrics.npz").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(path for path in pathlib.Path(font_folder).iterdir() if path.suffix.lower() in (".ttf", ".otf"))
    if not paths:
        raise ValueError(f"{font_folder}: no font files; collect_fonts.py makes this folder")
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        results = list(pool.map(rasterize_font, paths))
    fonts = [(path.name, result) for path, result in zip(paths, results) if result]
    position = 0
    for _, result in fonts:
        result["offset"] += position
        position += result["pixels"].size
    numpy.save(folder / "pixels.npy", numpy.concatenate([result["pixels"] for _, result in fonts]))
    stacked = {field.name: numpy.stack([result[field.name] for _, result in fonts])
               for field in dataclasses.fields(Metrics) if field.name != "names"}
    Metrics(names=numpy.array([name for name, _ in fonts]), **stacked).save(folder)
