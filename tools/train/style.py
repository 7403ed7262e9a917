"""A font at a size: which characters it can draw, and where each of them stands in a line. Lengths are canvas pixels."""

import unicodedata

import numpy

from atlas import SIZES, SPACE
from characters import ASCII, INDEX, LIGATURES, REPLACEMENTS

SIZE_ARRAY = numpy.array(SIZES)
EXTENT_COLUMNS = [INDEX[character] for character in "bdfhkl()gpqyj"]


class Style:
    """A font at a size with its spacing; knows how wide a text is."""

    def __init__(self, metrics, font, size, spacing=0.0, kerning=False, ligatures=False, ink=255):
        self.metrics, self.font, self.spacing, self.kerning, self.ink = metrics, font, spacing, kerning, ink
        self.row = int(numpy.abs(SIZE_ARRAY - size).argmin())
        self.size = SIZES[self.row]
        self.advance = metrics.advance[font, self.row]
        self.steps = metrics.steps(font, self.row)
        top, height = metrics.top[font, self.row], metrics.height[font, self.row]
        self.ascent = float(-top[EXTENT_COLUMNS].min())
        self.descent = float((top + height)[EXTENT_COLUMNS].max())
        self.ligatures = {pair: glyph for pair, glyph in LIGATURES.items()
                          if ligatures and not spacing and metrics.present[font, INDEX[glyph]]}

    def drawable(self, text):
        """`text` with single spaces, and with replacements for characters that the font lacks."""
        text = " ".join(text.split())
        if text.isascii():
            return text
        present = self.metrics.present[self.font]

        def replace(character):
            if character == " " or character in INDEX and present[INDEX[character]]:
                return character
            plain = REPLACEMENTS.get(character)
            if plain is None:
                plain = unicodedata.normalize("NFD", character).encode("ascii", "ignore").decode()
            return plain
        return " ".join("".join(map(replace, text)).split())

    def place(self, text, word_spacing=0.0):
        """Character columns, pen positions from 0, and the width of `text`."""
        for pair, glyph in self.ligatures.items():
            text = text.replace(pair, glyph)
        columns = numpy.array([INDEX.get(character, SPACE) for character in text], numpy.int64)
        steps = self.advance[columns] + self.spacing
        if word_spacing:
            steps = steps + word_spacing * (columns == SPACE)
        if self.kerning and len(columns) > 1:
            first, second = columns[:-1], columns[1:]
            plain = (first < len(ASCII)) & (second < len(ASCII))
            pairs = self.metrics.kerning[self.font, numpy.where(plain, first, 0), numpy.where(plain, second, 0)]
            steps[:-1] += numpy.where(plain, pairs, 0) * self.size
        ends = numpy.cumsum(steps)
        return columns, ends - steps, float(ends[-1]) if len(ends) else 0.0

    def width(self, text):
        if self.kerning or self.ligatures:
            return self.place(text)[2]
        steps = self.steps
        return sum([steps[character] for character in text]) + self.spacing * len(text)
