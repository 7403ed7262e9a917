"""Collects the font files that training and evaluation use, reduced to the characters that are drawn.

Reads the names in fonts.txt (training) and held_out_fonts.txt (evaluation only), finds each file under the given
folder (where the Debian packages of README.md are installed or unpacked) and writes the reduced fonts to
OUTPUT/train and OUTPUT/held_out. Hinting and kerning tables stay. Needs fontTools.
"""

import argparse
import pathlib

from fontTools import subset

from characters import DRAWN_CHARACTERS

FOLDER = pathlib.Path(__file__).parent
LISTS = {"train": "fonts.txt", "held_out": "held_out_fonts.txt"}


def reduce_font(source, target):
    """Writes the font `source` with only the drawn characters to `target`."""
    options = subset.Options(hinting=True, legacy_kern=True, layout_features=["kern"], notdef_outline=True,
                             glyph_names=False, name_IDs=[1, 2])
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=DRAWN_CHARACTERS + " ")
    subsetter.subset(font)
    subset.save_font(font, str(target), options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default="/usr/share/fonts", help="folder that holds the packages' font files")
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    found = {}
    for path in pathlib.Path(arguments.root).rglob("*.?tf"):
        found.setdefault(path.name, path)
    for folder, name in LISTS.items():
        wanted = (FOLDER / name).read_text().splitlines()
        missing = [font for font in wanted if font not in found]
        if missing:
            raise SystemExit(f"{name}: {len(missing)} of {len(wanted)} fonts are not under {arguments.root}: "
                             f"{', '.join(missing)}. Install the packages that README.md lists.")
        target = pathlib.Path(arguments.output) / folder
        target.mkdir(parents=True, exist_ok=True)
        for font in wanted:
            reduce_font(found[font], target / font)
        print(f"{target}: {len(wanted)} fonts")


if __name__ == "__main__":
    main()
