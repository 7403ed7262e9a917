"""Pages: where each character of which font stands, and the transcript in reading order.

A page is laid out on a canvas `scale` times the size of the picture that the model sees (2 when the renderer will
reduce it, which gives fractional positions and sizes), so all lengths in styles are canvas pixels. The transcript has
one line per line of print, white space single and none at the ends; two columns are read left column first; the parts
of a table row or of a label and its value are joined by one space. Nothing here draws.
"""

import dataclasses
import typing

import numpy

from atlas import COLUMNS, SIZES, SPACE
from characters import INDEX, LIGATURES
from style import Style

LIGATURE_COLUMNS = [INDEX[glyph] for glyph in LIGATURES.values()]
MIDDLE_HEIGHT = 0.3  # of a character above the baseline, in em


class Run(typing.NamedTuple):
    """What one call of PageBuilder.draw put on the page: the ink's box, and where each character stands."""

    x0: float
    y0: float
    x1: float
    y1: float
    places: numpy.ndarray  # [characters that are no spaces, 2] float32: x and y of the middle, canvas pixels


@dataclasses.dataclass
class Page:
    """Glyphs to copy, rectangles to fill, and what they say."""

    glyphs: numpy.ndarray      # [n, 4] int32: glyph number, x and y of the bitmap's corner, ink 0..255
    rectangles: numpy.ndarray  # [m, 6] float32: x0, y0, x1, y1, value added to the ink, 1 where the ink is inverted
    lines: list                # transcript lines
    boxes: list                # for each, (x0, y0, x1, y1) of its ink in canvas pixels
    places: list               # for each, [characters that are no spaces, 2] float32: where they stand, canvas pixels
    dark: bool                 # light print on a dark ground is wanted


class PageBuilder:
    """Collects one page. The block functions below fill it from top to bottom."""

    def __init__(self, random, text, metrics, width, height, scale, character_limit, small_print=False):
        self.random, self.text, self.metrics = random, text, metrics
        self.width, self.height, self.scale = width, height, scale
        self.room = character_limit
        self.small_print = small_print
        self.dark = random.random() < 0.12
        self.glyphs, self.rectangles, self.lines, self.boxes, self.places = [], [], [], [], []
        self.font = self.pick_font()

    # ---- choices

    def pick_font(self, fixed_pitch=None):
        count = len(self.metrics.names)
        if fixed_pitch is None:
            return self.random.randrange(count)
        choices = numpy.flatnonzero(self.metrics.fixed_pitch == fixed_pitch)
        return int(choices[self.random.randrange(len(choices))]) if len(choices) else self.random.randrange(count)

    def body_size(self):
        """A size of running text in pixels of the final picture."""
        random, draw = self.random, self.random.random()
        if self.small_print:
            return random.uniform(11, 13.4)
        largest = min(48.0, self.height / self.scale / 1.5, self.width / self.scale / 7)
        if draw < 0.25:
            size = random.uniform(10.5, 14)
        elif draw < 0.65:
            size = random.uniform(14, 20)
        elif draw < 0.88:
            size = random.uniform(20, 30)
        else:
            size = random.uniform(28, 48)
        return max(10.5, min(size, largest))

    def style(self, size=None, font=None, **options):
        """A style of the page's font (or `font`) at `size` final pixels."""
        size = size or self.body_size()
        options.setdefault("kerning", self.random.random() < 0.3)
        options.setdefault("ligatures", self.random.random() < 0.15)
        options.setdefault("ink", 255 if self.random.random() < 0.8 else self.random.randint(150, 255))
        return Style(self.metrics, self.font if font is None else font, size * self.scale, **options)

    def region(self, wide_margins=False):
        """The text area (x0, y0, x1, y1)."""
        share = self.random.uniform(0.1, 0.3) if wide_margins else self.random.choice([0.01, 0.03, 0.06, 0.12])
        left, right, top = (self.width * share * self.random.uniform(0.4, 1.2) + 2 * self.scale for _ in range(3))
        top = min(top, self.height * share) + self.scale
        return left, top, self.width - right, self.height - 2 * self.scale

    def leading(self, style):
        """The distance between baselines: tight, usual or wide."""
        tight = (style.ascent + style.descent) * 0.98
        return max(tight, style.size * self.random.choice([1.1, 1.2, 1.2, 1.3, 1.4, 1.6, 1.9]))

    # ---- drawing

    def draw(self, style, x, baseline, text, word_spacing=0.0):
        """Puts `text` with the pen at (x, baseline); returns the Run, or None when nothing is drawn."""
        columns, pens, _ = style.place(text, word_spacing)
        drawn = columns != SPACE
        columns = columns[drawn]
        if not len(columns):
            return None
        metrics, font, row = self.metrics, style.font, style.row
        left = numpy.rint(x + pens[drawn]).astype(numpy.int32) + metrics.left[font, row, columns]
        top = int(round(baseline)) + metrics.top[font, row, columns].astype(numpy.int32)
        numbers = (font * len(SIZES) + row) * COLUMNS + columns
        self.glyphs.append(numpy.stack(
            [numbers, left, top, numpy.full_like(numbers, style.ink)], 1).astype(numpy.int32))
        right = left + metrics.width[font, row, columns]
        bottom = top + metrics.height[font, row, columns]
        places = numpy.empty((len(columns), 2), numpy.float32)
        places[:, 0] = (left + right) * 0.5
        places[:, 1] = baseline - MIDDLE_HEIGHT * style.size
        if style.ligatures:  # one glyph, two characters of the transcript
            places = numpy.repeat(places, 1 + numpy.isin(columns, LIGATURE_COLUMNS), 0)
        return Run(float(left.min()), float(top.min()), float(right.max()), float(bottom.max()), places)

    def add_line(self, text, runs):
        """Adds a transcript line that was drawn as `runs`."""
        runs = [run for run in runs if run]
        if not text or not runs:
            return
        self.lines.append(text)
        self.boxes.append((min(run.x0 for run in runs), min(run.y0 for run in runs),
                           max(run.x1 for run in runs), max(run.y1 for run in runs)))
        self.places.append(runs[0].places if len(runs) == 1 else numpy.concatenate([run.places for run in runs]))
        self.room -= len(text) + 1

    def fill(self, x0, y0, x1, y1, value=1.0):
        self.rectangles.append((x0, y0, x1, y1, value, 0))

    def invert(self, x0, y0, x1, y1):
        self.rectangles.append((x0, y0, x1, y1, 0, 1))

    def fits(self, style, baseline, bottom):
        return baseline + style.descent <= bottom and self.room > 8

    def fit(self, style, text, width):
        """The longest beginning of `text` that is not wider than `width` and within the page's room."""
        text = style.drawable(text)[:max(1, self.room - 1)].rstrip()
        while len(text) > 1 and style.width(text) > width:
            text = text[:max(1, int(len(text) * min(0.97, width / style.width(text))))].rstrip()
        return text

    def page(self):
        glyphs = numpy.concatenate(self.glyphs) if self.glyphs else numpy.zeros((0, 4), numpy.int32)
        rectangles = numpy.array(self.rectangles, numpy.float32).reshape(-1, 6)
        return Page(glyphs, rectangles, self.lines, self.boxes, self.places, self.dark)

    # ---- blocks: each fills (x0, y, x1, bottom) from the top and returns the y where the next block may begin

    def paragraph(self, style, leading, x0, y, x1, bottom, words, align="left", indent=0.0, hanging=0.0):
        """Running text; `indent` moves the first line, `hanging` all others."""
        space = style.width(" ")
        baseline, position = y + style.ascent, 0
        words = [word for word in (style.drawable(word) for word in words) if word]
        # A drawable word may hold a space (a spelled-out symbol); it stays one unit.
        first = True
        while position < len(words) and self.fits(style, baseline, bottom):
            begin = x0 + (indent if first else hanging)
            available = x1 - begin
            taken, width = [], 0.0
            while position < len(words):
                step = style.width(words[position]) + (space if taken else 0.0)
                if width + step > available or sum(map(len, taken)) + len(words[position]) > self.room:
                    break
                taken.append(words[position])
                width += step
                position += 1
            last = position >= len(words)
            if not taken:
                taken = [self.fit(style, words[position], available)]
                width = style.width(taken[0])
                position += 1
            text = " ".join(taken)
            word_spacing, x = 0.0, begin
            if align == "justify" and not last and len(taken) > 2 and width > 0.6 * available:
                word_spacing = (available - width) / (len(taken) - 1)
            elif align == "right":
                x = x1 - width
            elif align == "center":
                x = begin + (available - width) / 2
            self.add_line(text, [self.draw(style, x, baseline, text, word_spacing)])
            baseline += leading
            first = False
        return baseline - style.ascent

    def single(self, style, x0, y, x1, bottom, text, align="left", leading=None):
        """One line, cut to the width."""
        baseline = y + style.ascent
        if not self.fits(style, baseline, bottom):
            return bottom
        text = self.fit(style, text, x1 - x0)
        width = style.width(text)
        x = {"left": x0, "center": x0 + (x1 - x0 - width) / 2, "right": x1 - width}[align]
        self.add_line(text, [self.draw(style, x, baseline, text)])
        return y + (leading or self.leading(style))

    def pair(self, label_style, value_style, x0, y, x1, bottom, label, value, value_x=None):
        """A label at the left and a value at `value_x` or right-aligned; one transcript line."""
        baseline = y + max(label_style.ascent, value_style.ascent)
        if not self.fits(value_style, baseline, bottom):
            return False
        gap = label_style.size * 0.6
        limit = (value_x or x0 + (x1 - x0) * 0.7) - x0 - gap
        label = self.fit(label_style, label, limit)
        label_end = x0 + label_style.width(label)
        begin = value_x if value_x is not None else label_end + gap
        value = self.fit(value_style, value, x1 - begin)
        width = value_style.width(value)
        if begin + width > x1 + 1:
            return True  # no room for any value; leave the row out
        x = value_x if value_x is not None else x1 - width
        self.add_line(f"{label} {value}", [self.draw(label_style, x0, baseline, label),
                                           self.draw(value_style, x, baseline, value)])
        return True

    def rule(self, x0, x1, y):
        thickness = self.scale * self.random.choice([1, 1, 1, 2])
        self.fill(x0, y, x1, y + thickness, self.random.choice([1.0, 0.6, 0.35]))


def paragraphs(builder, area, style=None):
    """Running text in one or more paragraphs."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style()
    leading = builder.leading(style)
    align = random.choice(["left", "left", "left", "justify", "justify", "center", "right"])
    indent = style.size * random.choice([0, 0, 0, 1.5, 2.5])
    gap = leading * random.choice([0, 0.4, 0.7, 1.0])
    while builder.fits(style, y + style.ascent, bottom):
        words = builder.text.words(random.choice([60, 150, 300, 600]))
        y = builder.paragraph(style, leading, x0, y, x1, bottom, words, align, indent if align != "center" else 0) + gap
    return y


def loose_lines(builder, area, style=None):
    """Lines that have nothing to do with each other, as labels, titles and fields of any page have."""
    random = builder.random
    x0, y, x1, bottom = area
    base = style or builder.style()
    leading = builder.leading(base)
    align = random.choice(["left"] * 4 + ["center", "right"])
    mixed = style is None and random.random() < 0.25
    while True:
        current = base
        if mixed and random.random() < 0.5:
            current = builder.style(max(10.5, base.size / builder.scale * random.uniform(0.7, 1.3)),
                                    builder.pick_font() if random.random() < 0.5 else None)
        step = max(leading, (current.ascent + current.descent))
        if not builder.fits(current, y + current.ascent, bottom):
            return y
        characters = (x1 - x0) / current.size * 2 * (random.random() if random.random() < 0.3 else 0.9)
        text = builder.text.phrase(1, max(1, int(characters / 6)))
        begin = x0 + (x1 - x0) * random.uniform(0, 0.2) if align == "left" and random.random() < 0.08 else x0
        builder.single(current, begin, y, x1, bottom, text, align)
        y += step * (1 if random.random() < 0.85 else random.uniform(1.3, 2.3))


def heading(builder, area, body):
    """One heading larger than the body, sometimes of another font, sometimes with a rule below."""
    random = builder.random
    x0, y, x1, bottom = area
    size = body.size / builder.scale * random.choice([1.0, 1.15, 1.3, 1.6, 2.0, 2.6])
    style = builder.style(min(size, 52), builder.pick_font() if random.random() < 0.4 else None, ink=255)
    text = builder.text.title()
    if random.random() < 0.25:
        text = f"{random.randint(1, 12)}{random.choice(['.', '', f'.{random.randint(1, 9)}'])} {text}"
    align = random.choice(["left", "left", "left", "center"])
    if random.random() < 0.2:
        y = builder.paragraph(style, builder.leading(style), x0, y, x1, bottom, text.split() + builder.text.title().split(),
                              align)
    else:
        y = builder.single(style, x0, y, x1, bottom, text, align)
    if random.random() < 0.2 and y < bottom:
        builder.rule(x0, x1, y - 0.1 * style.size)
        y += style.size * 0.3
    return y + style.size * random.uniform(0, 0.4)


def bullets(builder, area, style=None):
    """A list: marks or numbers, items that wrap with a hanging indentation."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style()
    leading = builder.leading(style)
    mark = random.choice(["•", "•", "-", "*", "–", "1.", "1)", "a)", "(1)", "»"])
    hanging = style.size * random.uniform(0.8, 2)
    gap = leading * random.choice([0, 0, 0.3, 0.6])
    for number in range(1, random.randint(3, 12)):
        if not builder.fits(style, y + style.ascent, bottom):
            break
        text = style.drawable(mark.replace("1", str(number)).replace("a", chr(96 + number)))
        words = builder.text.words(random.choice([10, 25, 40, 90]))[:random.randint(2, 24)]
        if random.random() < 0.5 and style.width(text + " ") < hanging:
            # The mark stands at the left edge, the item at the hanging indentation.
            baseline, lines = y + style.ascent, len(builder.lines)
            y = builder.paragraph(style, leading, x0 + hanging, y, x1, bottom, words)
            if len(builder.lines) > lines:
                run = builder.draw(style, x0, baseline, text)
                builder.lines[lines] = f"{text} {builder.lines[lines]}"
                old = builder.boxes[lines]
                builder.boxes[lines] = (min(run.x0, old[0]), min(run.y0, old[1]), old[2], max(run.y1, old[3]))
                builder.places[lines] = numpy.concatenate([run.places, builder.places[lines]])
                builder.room -= len(text) + 1
        else:
            y = builder.paragraph(style, leading, x0, y, x1, bottom, [text] + words, hanging=hanging)
        y += gap
    return y


def form(builder, area, style=None):
    """Label and value rows."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style()
    label_style = builder.style(style.size / builder.scale, builder.pick_font() if random.random() < 0.3 else None)
    leading = max(builder.leading(style), (label_style.ascent + label_style.descent)) * random.choice([1, 1.2, 1.5])
    kind = random.choice(["column", "column", "right", "close", "boxed"])
    value_x = x0 + (x1 - x0) * random.uniform(0.3, 0.55) if kind in ("column", "boxed") else None
    colon = random.choice([":", ":", ""])
    while True:
        label, value = builder.text.field()
        if kind == "close":
            if not builder.fits(style, y + style.ascent, bottom):
                return y
            builder.single(style, x0, y, x1, bottom, f"{label}{colon or ':'} {value}")
        elif not builder.pair(label_style, style, x0, y, x1, bottom, label + colon, value, value_x):
            return y
        if kind == "boxed":
            baseline = y + style.ascent
            top, low = baseline - style.ascent - 2 * builder.scale, baseline + style.descent + builder.scale
            left = value_x - 3 * builder.scale
            for edge in ((left, top, x1, top + builder.scale), (left, low, x1, low + builder.scale),
                         (left, top, left + builder.scale, low), (x1 - builder.scale, top, x1, low)):
                builder.fill(*edge, 0.5)
            y += 4 * builder.scale
        elif random.random() < 0.08:
            builder.rule(x0, x1, y + style.ascent + style.descent + builder.scale)
            y += 3 * builder.scale
        y += leading


def receipt(builder, area, style=None):
    """A shop's receipt: a centred head, goods with prices, totals."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style(font=builder.pick_font(fixed_pitch=True) if random.random() < 0.6 else None)
    if x1 - x0 > style.size * 26:
        middle, half = random.uniform(0.4, 0.6) * (x0 + x1), style.size * random.uniform(9, 13)
        x0, x1 = max(x0, middle - half), min(x1, middle + half)
    leading = builder.leading(style)
    for text in [builder.text.title(), f"{random.randint(1, 300)} {builder.text.person().split()[1]} Street",
                 f"Tel. {builder.text.phone()}", builder.text.date()][:random.randint(1, 4)]:
        y = builder.single(style, x0, y, x1, bottom, text, "center", leading)
    rows = [builder.text.purchase() for _ in range(random.randint(2, 14))]
    rows += random.sample([("TOTAL", builder.text.price()), ("Subtotal", f"{random.random() * 100:.2f}"),
                           ("VAT 19%", f"{random.random() * 20:.2f}"), ("Cash", f"{random.random() * 100:.2f}"),
                           ("Change", f"{random.random() * 9:.2f}"), ("Card", f"**** {random.randint(1000, 9999)}")],
                          random.randint(1, 4))
    for name, price in rows:
        if random.random() < 0.12 and y < bottom:
            builder.rule(x0, x1, y + 2 * builder.scale)
            y += 5 * builder.scale
        if not builder.pair(style, style, x0, y, x1, bottom, name, price):
            return y
        y += leading
    return builder.single(style, x0, y, x1, bottom, random.choice(["Thank you!", "THANK YOU FOR SHOPPING WITH US",
                                                                   "Have a nice day", builder.text.code()]), "center")


def table(builder, area, style=None):
    """Columns of cells with a head row; rules between rows, around cells, or none; shaded or inverted head."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style(min(builder.body_size(), 24))
    count = max(2, min(random.randint(2, 6), int((x1 - x0) / (style.size * 4.5))))
    kinds = [random.choice(["number", "number", "words", "code", "date", "name"]) for _ in range(count)]
    shares = numpy.array([random.uniform(1, 2) if kind in ("words", "date", "name") else 0.9 for kind in kinds])
    edges = x0 + numpy.concatenate([[0], numpy.cumsum(shares / shares.sum())]) * (x1 - x0)
    padding = style.size * random.uniform(0.25, 0.5)
    leading = builder.leading(style) + random.choice([0, 0.2, 0.5]) * style.size
    rules = random.choice(["none", "rows", "grid", "head"])
    head_style = builder.style(style.size / builder.scale, builder.pick_font() if random.random() < 0.3 else None)
    top, head_fill = y, random.choice(["none", "none", "shade", "invert"])
    right_aligned = [kind == "number" and random.random() < 0.7 for kind in kinds]
    for row in range(random.randint(3, 24)):
        current = head_style if row == 0 else style
        baseline = y + max(style.ascent, current.ascent) + padding * 0.4
        if baseline + max(style.descent, current.descent) + padding * 0.4 > bottom or builder.room < 60:
            break
        texts, runs = [], []
        for kind, left, right, at_right in zip(kinds, edges[:-1], edges[1:], right_aligned):
            text = builder.text.title() if row == 0 else builder.text.cell(kind)
            text = builder.fit(current, text, right - left - 2 * padding)
            width = current.width(text)
            if width > right - left - 2 * padding:
                continue
            x = right - padding - width if at_right else left + padding
            texts.append(text)
            runs.append(builder.draw(current, x, baseline, text))
        builder.add_line(" ".join(texts), runs)
        below = y + leading
        if row == 0 and head_fill == "shade":
            builder.fill(x0, y, x1, below, 0.15)
        elif row == 0 and head_fill == "invert":
            builder.invert(x0, y, x1, below)
        if rules in ("rows", "grid") or rules == "head" and row == 0:
            builder.fill(x0, below, x1, below + builder.scale, 0.7)
        y = below + builder.scale
    if rules == "grid" and y > top:
        builder.fill(x0, top, x1, top + builder.scale, 0.7)
        for edge in edges:
            builder.fill(edge, top, edge + builder.scale, y, 0.7)
    return y + leading * 0.5


def program(builder, area, style=None):
    """Source lines in a fixed-pitch font; indentation is drawn, not transcribed."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style(min(builder.body_size(), 26), builder.pick_font(fixed_pitch=True), kerning=False,
                                   ligatures=False)
    leading = builder.leading(style)
    lines = builder.text.program()
    start = random.randrange(max(1, len(lines) - 3))
    lines = lines[start:start + random.randint(3, 40)]
    least = min(len(line) - len(line.lstrip()) for line in lines)
    numbered = random.random() < 0.12
    space = style.width(" ")
    for number, line in enumerate(lines, random.randint(1, 300)):
        indent = (len(line) - len(line.lstrip()) - least) * space
        text = line.strip()
        if numbered:
            text, indent = f"{number} {text}", 0.0
        if indent > (x1 - x0) * 0.6 or not builder.fits(style, y + style.ascent, bottom):
            break
        y = builder.single(style, x0 + indent, y, x1, bottom, text, leading=leading)
    return y


def terminal(builder, area, style=None):
    """Lines of a log, a shell or a menu, mostly light on dark."""
    random = builder.random
    builder.dark = random.random() < 0.85
    x0, y, x1, bottom = area
    style = style or builder.style(font=builder.pick_font(fixed_pitch=True) if random.random() < 0.6 else None)
    leading = builder.leading(style)
    while builder.fits(style, y + style.ascent, bottom):
        y = builder.single(style, x0, y, x1, bottom, builder.text.terminal_line(), leading=leading)
        if random.random() < 0.05:
            y += leading
    return y


def spaced(builder, area, style=None):
    """Letter-spaced or tightly set lines."""
    random = builder.random
    size = builder.body_size()
    spacing = size * builder.scale * (random.uniform(0.05, 0.4) if random.random() < 0.7 else random.uniform(-0.05, 0))
    style = builder.style(size, spacing=spacing)
    if random.random() < 0.5:
        return paragraphs(builder, area, style)
    return loose_lines(builder, area, style)


def label(builder, area, style=None):
    """A few large words."""
    random = builder.random
    x0, y, x1, bottom = area
    largest = min(96.0, (bottom - y) / builder.scale / 1.4)
    for _ in range(random.randint(1, 4)):
        style = builder.style(random.uniform(min(18, largest), largest))
        if not builder.fits(style, y + style.ascent, bottom):
            break
        y = builder.single(style, x0, y, x1, bottom, builder.text.phrase(1, 3),
                           random.choice(["left", "center"]))
    return y


def columns(builder, area, style=None):
    """Two columns of text below an optional heading; the left one is read first."""
    random = builder.random
    x0, y, x1, bottom = area
    style = style or builder.style(max(10.5, min(builder.body_size(), (x1 - x0) / builder.scale / 18)))
    if random.random() < 0.4:
        y = heading(builder, area, style)
    gap = style.size * random.uniform(1.3, 3)
    middle = x0 + (x1 - x0) * random.choice([0.5, 0.5, 0.5, random.uniform(0.35, 0.65)])
    # The text is cut to what the page's room leaves for each column, so that the right one is never starved.
    room, bottom = builder.room, min(bottom, y + style.size * random.uniform(6, 60))
    builder.room = room // 2
    blocks = [paragraphs, paragraphs, paragraphs, bullets, form]
    stack(builder, (x0, y, middle - gap / 2, bottom), style, blocks)
    builder.room = builder.room + room - room // 2
    if random.random() < 0.2:
        builder.fill(middle, y, middle + builder.scale, bottom, 0.6)
    stack(builder, (middle + gap / 2, y, x1, bottom), style, blocks)
    return bottom


def stack(builder, area, style, blocks):
    """Blocks one below the other until the area is full."""
    random = builder.random
    x0, y, x1, bottom = area
    while builder.fits(style, y + style.ascent, bottom):
        if random.random() < 0.3:
            y = heading(builder, (x0, y, x1, bottom), style)
        limit = min(bottom, y + style.size * random.choice([4, 8, 12, 20]))
        y = random.choice(blocks)(builder, (x0, y, x1, limit), style) + style.size * random.uniform(0.2, 1)
    return y


def document(builder, area, style=None):
    """A page of several kinds of block with headings of several sizes."""
    style = style or builder.style()
    blocks = [paragraphs, paragraphs, bullets, form, table, loose_lines]
    x0, y, x1, bottom = area
    y = heading(builder, area, style)
    return stack(builder, (x0, y, x1, bottom), style, blocks)


# Kind of page → (block, share in training). `small_print` and `wide_margins` set the page up, see make_page.
KINDS = {
    "lines": (loose_lines, 3.0), "paragraphs": (paragraphs, 4.0), "small_print": (paragraphs, 3.0),
    "columns": (columns, 2.0), "form": (form, 1.5), "table": (table, 2.0), "document": (document, 3.0),
    "list": (bullets, 1.2), "receipt": (receipt, 1.2), "code": (program, 1.5), "terminal": (terminal, 1.2),
    "spaced": (spaced, 1.0), "margins": (paragraphs, 0.8), "label": (label, 0.5),
}
SINGLE_LINE_KINDS = {"lines": 4.0, "spaced": 1.0, "label": 1.0, "terminal": 0.7, "form": 0.7, "small_print": 1.0}


def make_page(random, text, metrics, width, height, scale, character_limit, kind=None):
    """Lays out one page of `kind` (by default drawn by the shares above) on a picture of width x height pixels."""
    if kind is None:
        if min(width, height) < 128:
            kind = random.choices(list(SINGLE_LINE_KINDS), list(SINGLE_LINE_KINDS.values()))[0]
        else:
            kind = random.choices(list(KINDS), [share for _, share in KINDS.values()])[0]
    small_print = kind == "small_print" or kind in ("columns", "document") and random.random() < 0.3
    builder = PageBuilder(random, text, metrics, width * scale, height * scale, scale, character_limit, small_print)
    x0, y0, x1, y1 = builder.region(wide_margins=kind == "margins")
    if kind == "margins":
        y1 = min(y1, builder.height * random.uniform(0.5, 0.95))
    elif kind == "small_print" and random.random() < 0.4:
        return build_with(builder, document, (x0, y0, x1, y1))
    return build_with(builder, KINDS[kind][0], (x0, y0, x1, y1))


def build_with(builder, block, area):
    """Runs `block`; falls back to a short text when the area was too small for it."""
    block(builder, area)
    if not builder.lines:
        style = builder.style(max(10.5, min(20, builder.height / builder.scale / 1.6)))
        builder.single(style, 2 * builder.scale, 1, builder.width - builder.scale, builder.height + style.size,
                       builder.text.word())
    return builder.page()
