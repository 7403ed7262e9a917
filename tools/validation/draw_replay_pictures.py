"""Draws the pictures of the heavy replays: six kinds of page that people read, and one page in several shapes.

    python -m tools.validation.draw_replay_pictures OUT

Needs the Debian packages fonts-dejavu-core, fonts-wqy-zenhei and fonts-arphic-ukai; with those and the pinned Pillow
the pixels are the same each time. Called by replay.py and compare_full_size.py.
"""

import argparse
import math
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = {
    "latin": ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core"),
    "mono": ("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf", "fonts-dejavu-core"),
    "chinese": ("/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc", "fonts-wqy-zenhei"),
    "brush": ("/usr/share/fonts/truetype/arphic/ukai.ttc", "fonts-arphic-ukai"),
}
INK = (25, 25, 35)
# Pixels: a square, a wide and a tall grid of patches, one below min_pixels, one of several prefill chunks.
GRID_SIZES = {"square": (512, 512), "wide": (1024, 256), "tall": (256, 1024), "small": (150, 110),
              "larger": (1024, 768)}

DOCUMENT = (
    "文字识别把图片中的文字变成可以检索和编辑的文本。近年来，视觉语言模型不再把版面分析、检测与识别分成几个步骤，而是直接读取整页，"
    "按照阅读顺序写出结果。",
    "A page is cut into patches of 16 by 16 pixels. Four neighbouring patches become one token, each row of tokens "
    "ends with a newline token, and the language model reads them all before the first word is written.",
    "表一列出了三种页面的耗时。注意力的计算量随图像标记数的平方增长，因此像素上限是最主要的调节参数：调低可以提速，代价是细节。",
    "The result is the same for every number of threads, so a page that was read once can be compared later, byte for "
    "byte, with a new reading of it.",
)


def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    path, package = FONTS[name]
    if not Path(path).exists():
        raise SystemExit(f"{path} is missing; install it with: apt-get install {package}")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def scene(width: int, height: int, seed: int) -> Image.Image:
    """Something photographed: smooth colours out of focus with sensor noise."""
    generator = np.random.Generator(np.random.PCG64(seed))
    small = generator.integers(40, 190, size=(9, 12, 3)).astype(np.uint8)
    blurred = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
    blurred = blurred.filter(ImageFilter.GaussianBlur(6))
    noise = generator.integers(-6, 7, size=(height, width, 3))
    return Image.fromarray((np.asarray(blurred).astype(np.int16) + noise).clip(0, 255).astype(np.uint8))


def subtitle() -> Image.Image:
    """A film frame with two lines of outlined text at its foot."""
    picture = scene(768, 432, seed=11)
    draw = ImageDraw.Draw(picture)
    for y, text, size, name in ((338, "我们明天早上八点在车站见面。", 34, "chinese"),
                                (385, "Let's meet at the station at eight.", 24, "latin")):
        draw.text((384, y), text, fill="white", font=font(name, size), anchor="mm", stroke_width=2,
                  stroke_fill="black")
    return picture


def receipt() -> Image.Image:
    picture = Image.new("RGB", (384, 768), (246, 244, 236))
    draw = ImageDraw.Draw(picture)
    draw.text((192, 40), "城东便利店", fill=INK, font=font("chinese", 32), anchor="mm")
    draw.text((192, 80), "2026-03-14 18:52  No. 004217", fill=INK, font=font("mono", 15), anchor="mm")
    items = (("牛奶 1L", 2, 12.80), ("全麦面包", 1, 9.50), ("鸡蛋 10 枚", 1, 15.90), ("苹果", 3, 4.20),
             ("绿茶", 2, 18.00), ("电池 AA", 4, 3.75))
    total = sum(count * price for _, count, price in items)
    for row, (name, count, price) in enumerate(items):
        y = 140 + 52 * row
        draw.text((28, y), name, fill=INK, font=font("chinese", 24))
        draw.text((356, y + 4), f"{count} x {price:6.2f} {count * price:7.2f}", fill=INK, font=font("mono", 16),
                  anchor="ra")
    draw.line((28, 470, 356, 470), fill=INK, width=1)
    for row, (name, value) in enumerate((("合计", total), ("实收", 150.0), ("找零", 150.0 - total))):
        draw.text((28, 488 + 44 * row), name, fill=INK, font=font("chinese", 26))
        draw.text((356, 492 + 44 * row), f"{value:.2f}", fill=INK, font=font("mono", 22), anchor="ra")
    bars = np.random.Generator(np.random.PCG64(12)).integers(1, 5, size=90)
    x = 40
    for index, bar in enumerate(bars):
        if x + bar > 344:
            break
        if index % 2 == 0:
            draw.rectangle((x, 650, x + int(bar) - 1, 712), fill=INK)
        x += int(bar)
    draw.text((192, 738), "谢谢惠顾 Thank you", fill=INK, font=font("chinese", 20), anchor="mm")
    return picture.rotate(1.5, Image.Resampling.BICUBIC, fillcolor=(120, 104, 88))


def calligraphy() -> Image.Image:
    """Brush writing in columns, right to left, on a lacquered wooden panel with grain and a seal."""
    width, height = 512, 640
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    grain = np.sin(columns / 5 + 3 * np.sin(rows / 90)) * 9 + np.sin(columns / 17 + rows / 210) * 14
    panel = np.stack([96 + grain, 52 + 0.6 * grain, 34 + 0.4 * grain], axis=-1)
    picture = Image.fromarray(panel.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((18, 18, width - 19, height - 19), 22, outline=(188, 150, 70), width=6)
    for column, text in enumerate(("春眠不觉晓", "处处闻啼鸟", "夜来风雨声", "花落知多少")):
        for row, character in enumerate(text):
            draw.text((420 - 108 * column, 110 + 104 * row), character, fill=(226, 190, 96), font=font("brush", 84),
                      anchor="mm")
    draw.rectangle((40, 560, 84, 604), fill=(168, 32, 28))
    draw.text((62, 582), "印", fill=(240, 222, 206), font=font("brush", 34), anchor="mm")
    return picture.filter(ImageFilter.GaussianBlur(0.6))


def table() -> Image.Image:
    picture = Image.new("RGB", (704, 480), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((352, 32), "二〇二六年第一季度销售 Sales, Q1 2026", fill=INK, font=font("chinese", 24), anchor="mm")
    header = ("城市", "January", "February", "March", "合计")
    lines = (("北京", 1204, 998, 1377), ("上海", 1530, 1211, 1608), ("广州", 870, 764, 905), ("成都", 655, 702, 741),
             ("西安", 512, 488, 530))
    body = [(name, *values, sum(values)) for name, *values in lines]
    body.append(("总计", *(sum(line[column] for line in body) for column in range(1, 5))))
    left, top, cell_width, cell_height = 52, 66, 120, 54
    for row, cells in enumerate([header, *body]):
        for column, cell in enumerate(cells):
            x, y = left + column * cell_width, top + row * cell_height
            draw.rectangle((x, y, x + cell_width, y + cell_height), outline=INK,
                           fill=(226, 234, 244) if row == 0 else None)
            text = f"{cell:,}" if isinstance(cell, int) else cell
            draw.text((x + cell_width / 2, y + cell_height / 2), text, fill=INK,
                      font=font("chinese" if row == 0 or column == 0 else "latin", 20), anchor="mm")
    return picture


def flow_chart() -> Image.Image:
    picture = Image.new("RGB", (640, 640), (250, 251, 253))
    draw = ImageDraw.Draw(picture)

    def label(x: int, y: int, text: str) -> None:
        draw.text((x, y), text, fill=INK, font=font("chinese", 21), anchor="mm")

    def box(x: int, y: int, text: str, fill: tuple[int, int, int], radius: int) -> None:
        draw.rounded_rectangle((x - 92, y - 30, x + 92, y + 30), radius, fill=fill, outline=INK, width=2)
        label(x, y, text)

    def arrow(*points: tuple[int, int]) -> None:
        draw.line(points, fill=INK, width=2)
        (x0, y0), (x1, y1) = points[-2:]
        angle = math.atan2(y1 - y0, x1 - x0)
        sides = [(x1 - 12 * math.cos(angle + turn), y1 - 12 * math.sin(angle + turn)) for turn in (0.4, -0.4)]
        draw.polygon([(x1, y1), *sides], fill=INK)

    box(240, 60, "开始 Start", (214, 238, 214), 30)
    box(240, 180, "读取图片", (220, 230, 250), 4)
    draw.polygon([(240, 250), (350, 320), (240, 390), (130, 320)], fill=(252, 240, 208), outline=INK)
    label(240, 320, "清晰吗?")
    box(240, 470, "识别文字 OCR", (220, 230, 250), 4)
    box(240, 580, "结束 End", (246, 216, 214), 30)
    box(510, 320, "重新拍摄", (220, 230, 250), 4)
    arrow((240, 90), (240, 150))
    arrow((240, 210), (240, 250))
    arrow((240, 390), (240, 440))
    arrow((240, 500), (240, 550))
    arrow((350, 320), (418, 320))
    arrow((510, 290), (510, 180), (332, 180))
    label(262, 414, "是")
    label(382, 302, "否")
    return picture


def document_page(width: int = 768, height: int = 1024) -> Image.Image:
    """A title and paragraphs in both languages, wrapped to the page's width, for as long as the page has room."""
    picture = Image.new("RGB", (width, height), (253, 253, 251))
    draw = ImageDraw.Draw(picture)
    margin = max(10, width // 16)
    body, title = font("chinese", 20), font("chinese", 28)
    draw.text((margin, margin), "整页识别简介", fill=INK, font=title)
    y, paragraph = margin + 48, 0
    while y < height - margin - 20:
        line = "    "
        for character in DOCUMENT[paragraph % len(DOCUMENT)]:
            if draw.textlength(line + character, body) > width - 2 * margin:
                draw.text((margin, y), line, fill=INK, font=body)
                line, y = "", y + 30
                if y >= height - margin - 20:
                    break
            line += character
        else:
            draw.text((margin, y), line, fill=INK, font=body)
        y, paragraph = y + 42, paragraph + 1
    return picture


SIX = {"subtitle": subtitle, "receipt": receipt, "calligraphy": calligraphy, "table": table,
       "flow_chart": flow_chart, "document_page": document_page}


def draw_six(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in SIX.items():
        draw().save(folder / f"{name}.png")
    return [folder / f"{name}.png" for name in SIX]


def draw_grids(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in GRID_SIZES.items():
        document_page(*size).save(folder / f"{name}.png")
    return [folder / f"{name}.png" for name in GRID_SIZES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    folder = parser.parse_args().out
    for path in [*draw_six(folder), *draw_grids(folder)]:
        print(path)


if __name__ == "__main__":
    main()
