"""Draws the input pictures of the golden cases and the examples, with Pillow's built-in font.

Called by make_goldens.py. Same bytes each time with the pinned Pillow.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont


def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)


def _page(width: int, height: int, lines: list[str], size: int, margin: int = 12, spacing: float = 1.5) -> Image.Image:
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        draw.text((margin, margin + row * size * spacing), line, fill=(20, 20, 30), font=_font(size))
    return picture


def _texture(width: int, height: int, seed: int) -> Image.Image:
    """Smooth colour waves with sharp shapes and a little noise: every frequency a resize can get wrong."""
    generator = np.random.Generator(np.random.PCG64(seed))
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    channels = []
    for _ in range(3):
        frequency = generator.integers(2, 9, size=2)
        phase = generator.random() * 6.28
        wave = np.sin(rows * frequency[0] / 40 + phase) * np.cos(columns * frequency[1] / 40)
        channels.append(128 + 100 * wave)
    values = np.stack(channels, axis=-1) + generator.integers(-12, 13, size=(height, width, 3))
    picture = Image.fromarray(values.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for _ in range(5):
        x, y = int(generator.integers(0, width)), int(generator.integers(0, height))
        colour = tuple(int(value) for value in generator.integers(0, 256, size=3))
        draw.rectangle((x, y, x + width // 5, y + height // 7), fill=colour)
        draw.line((0, y, x, height), fill=colour[::-1], width=2)
    return picture


def draw_tiny_pictures(folder: Path) -> None:
    """Small coloured pictures whose sides are no multiples of 32, so that each is resized."""
    folder.mkdir(parents=True, exist_ok=True)
    _texture(100, 100, seed=1).save(folder / "square.png", optimize=True)
    _texture(150, 70, seed=2).save(folder / "wide.png", optimize=True)
    # 80 and 112 lie halfway between multiples of 32: round half to even gives 64 and 128.
    _texture(80, 112, seed=3).save(folder / "tall.png", optimize=True)
    _texture(61, 43, seed=4).save(folder / "small.png", optimize=True)  # Below min_pixels: enlarged.
    _texture(260, 190, seed=5).save(folder / "large.jpg", quality=85)  # Above max_pixels: reduced.

    transparent = _texture(90, 65, seed=6).convert("RGBA")
    ramp = np.linspace(0, 255, 90).astype(np.uint8)
    transparent.putalpha(Image.fromarray(np.repeat(ramp[None, :], 65, axis=0)))
    transparent.save(folder / "transparent.png", optimize=True)

    exif = Image.Exif()
    exif[0x0112] = 6  # Displayed after a quarter turn clockwise: a wide file, a tall picture.
    _texture(140, 75, seed=7).save(folder / "turned.jpg", quality=90, exif=exif)


def draw_nano_pictures(folder: Path) -> None:
    """Printed English that the small model reads."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "text_square.png": _page(
            250,
            250,
            ["The meeting was", "moved to Monday", "at 10:30 in the", "main office.", "", "Bring the report."],
            22,
        ),
        "text_wide.png": _page(440, 90, ["Please return this form before", "the end of the month."], 24),
        "text_tall.png": _page(
            100, 440, ["Menu", "", "bread", "milk", "eggs", "apples", "coffee", "sugar", "rice", "salt"], 22
        ),
        "text_label.png": _page(200, 60, ["Total $48.20"], 24),
    }
    for name, picture in pages.items():
        picture.convert("L").save(folder / name, optimize=True)

    # A photograph of text_wide.png with the camera turned: a tall file, the same picture on the screen.
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = pages["text_wide.png"].convert("L").transpose(Image.Transpose.ROTATE_90)
    turned.save(folder / "text_turned.png", optimize=True, exif=exif)


def draw_examples(folder: Path) -> None:
    """Pages for the README: what the small model reads without a mistake."""
    folder.mkdir(parents=True, exist_ok=True)
    letter = [
        "Dear Sarah,",
        "",
        "Thank you for your letter.",
        "The new library opens on Saturday",
        "at 10:00 in the old town hall.",
        "",
        "We have more than 4500 books and",
        "a quiet room for reading. Please",
        "bring your family and your friends.",
        "",
        "With best wishes,",
        "Thomas Green",
    ]
    _page(512, 512, letter, 24, margin=30, spacing=1.58).convert("L").save(folder / "page_512.png", optimize=True)

    picture = Image.new("RGB", (352, 400), (252, 251, 246))
    draw = ImageDraw.Draw(picture)
    draw.text((88, 24), "Corner Market", fill=(30, 30, 40), font=_font(26))
    items = [("Bread", "2.40"), ("Milk", "1.30"), ("Apples", "3.80"), ("Tea", "4.10")]
    for row, (item, price) in enumerate(items):
        draw.text((32, 92 + 42 * row), f"{item} {price}", fill=(30, 30, 40), font=_font(24))
    draw.text((32, 274), "Total 11.60", fill=(20, 20, 30), font=_font(28))
    draw.text((32, 340), "Thank you for your visit.", fill=(60, 60, 70), font=_font(22))
    picture.save(folder / "receipt.png", optimize=True)

    sign = Image.new("RGB", (480, 128), (24, 78, 119))
    draw = ImageDraw.Draw(sign)
    draw.text((30, 22), "Platform 4", fill="white", font=_font(36))
    draw.text((30, 74), "Trains to the north every hour", fill=(255, 214, 102), font=_font(26))
    sign.save(folder / "sign.png", optimize=True)
