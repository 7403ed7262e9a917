"""Makes what training and evaluation read: glyph atlases and text material, one pair for each.

    python prepare.py --fonts FONTS --dictionary /usr/share/dict/words --output CACHE

FONTS is the folder that collect_fonts.py wrote. CACHE gets train/ and held_out/ (atlases), train.corpus and
held_out.corpus. The text is the standard library of the Python that runs this.
"""

import argparse
import concurrent.futures
import os
import pathlib
import pickle

import atlas
from text import Corpus


def write_corpus(part, dictionary, output):
    """Writes the text material of 'train' or 'held_out'; returns a line about it."""
    corpus = Corpus.load(part == "held_out", dictionary)
    with open(output / f"{part}.corpus", "wb") as file:
        pickle.dump(corpus, file)
    return (f"{part}: {len(corpus.sentences)} sentences, {len(corpus.programs)} program blocks, "
            f"{len(corpus.dictionary)} words")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fonts", required=True)
    parser.add_argument("--dictionary")
    parser.add_argument("--output", required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    arguments = parser.parse_args()
    output = pathlib.Path(arguments.output)
    output.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:  # beside the atlases
        corpora = [pool.submit(write_corpus, part, arguments.dictionary, output) for part in ("train", "held_out")]
        for part in ("train", "held_out"):
            atlas.build(pathlib.Path(arguments.fonts) / part, output / part, arguments.workers)
        for corpus in corpora:
            print(corpus.result(), flush=True)


if __name__ == "__main__":
    main()
