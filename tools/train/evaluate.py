"""Reads pages in fonts that training never saw with one or more packages and prints one table.

    python evaluate.py --atlas CACHE/held_out --corpus CACHE/held_out.corpus --fonts FONTS/held_out \\
        --package ../../models/nano --package RUN/package --pages 100

Every package sees the same pictures. Greedy, float32. Per kind of page and package: character error (edits over
characters), pages without any error, pages whose lines are wrong (one lost, or too many or too few), pages that did
not stop. The kinds are those of layout.py, plus: photograph (skewed, shadowed, noisy, JPEG), coloured (random colours,
light blur and noise), large (704 x 704), pillow (text set by Pillow alone, no code of ours but the words), spotting.
"""

import argparse
import dataclasses
import json
import pathlib
import pickle
import random as random_module

import numpy
import torch
from PIL import Image, ImageDraw, ImageFont
from tokenizers import Tokenizer

import layout
from atlas import Metrics
from data import CHARACTER_LIMIT, PROMPTS, SPOTTING_CHARACTER_LIMIT, TOKEN_LIMIT, collate, transcript
from model import HunyuanOcr
from render import IMAGE_MEAN, IMAGE_STANDARD_DEVIATION, Renderer
from scoring import score_page
from text import TextSource


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the table: pages of `kind` on pictures of height x width pixels."""

    name: str
    kind: str
    height: int = 512
    width: int = 512
    appearance: str = "clean"  # clean, coloured, photograph
    task: str = "text"


ROWS = (
    Row("lines", "lines", 256, 512), Row("paragraphs", "paragraphs"), Row("small print", "small_print"),
    Row("columns", "columns"), Row("form", "form"), Row("receipt", "receipt"), Row("table", "table"),
    Row("document", "document"), Row("list", "list"), Row("code", "code"), Row("terminal", "terminal"),
    Row("spaced", "spaced"), Row("margins", "margins", 640, 512), Row("label", "label", 256, 256),
    Row("coloured", "paragraphs", 512, 512, "coloured"), Row("photograph", "document", 512, 512, "photograph"),
    Row("large", "document", 704, 704), Row("pillow", "pillow"), Row("spotting", "lines", 384, 512, task="spotting"),
)


@dataclasses.dataclass
class Case:
    """The pages of a row, ready to be read."""

    row: Row
    pictures: torch.Tensor
    truths: list
    limit: int  # tokens of an answer


def pillow_page(random, text, fonts, height, width):
    """A page of wrapped text drawn by Pillow: its picture (uint8) and transcript."""
    font = ImageFont.truetype(str(random.choice(fonts)), random.randint(13, 28), layout_engine=ImageFont.Layout.BASIC)
    image = Image.new("RGB", (width, height), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    left, leading, lines, room = random.randint(4, 40), font.size * random.uniform(1.2, 1.6), [], CHARACTER_LIMIT
    y, words = random.uniform(2, 40), [word for word in text.words(CHARACTER_LIMIT) if word.isascii()]
    while words and y + font.size * 1.3 < height and room > 100:
        line = words.pop(0)
        while words and font.getlength(f"{line} {words[0]}") <= width - left - 4:
            line += " " + words.pop(0)
        while font.getlength(line) > width - left - 4:
            line = line[:-1]
        draw.text((left, y), line, fill=(0, 0, 0), font=font)
        lines.append(line)
        room -= len(line) + 1
        y += leading
    return numpy.asarray(image), "\n".join(lines)


class Pages:
    """Makes the rows' pages from a seed."""

    def __init__(self, arguments, device):
        with open(arguments.corpus, "rb") as file:
            self.corpus = pickle.load(file)
        self.metrics = Metrics.load(arguments.atlas)
        self.renderer = Renderer(arguments.atlas, device)
        self.fonts = sorted(pathlib.Path(arguments.fonts).iterdir())
        self.tokenizer = Tokenizer.from_file(str(pathlib.Path(arguments.package[0]) / "tokenizer.json"))
        self.device, self.count, self.seed = device, arguments.pages, arguments.seed

    def case(self, row):
        random = random_module.Random(f"{self.seed} {row.name}")
        torch.manual_seed(self.seed)
        text = TextSource(self.corpus, random)
        parts = [self.drawn(row, random, text, scale, self.count // 2) for scale in (1, 2)] \
            if row.kind != "pillow" else [self.pillow(row, random, text)]
        truths = [truth for _, part in parts for truth in part]
        longest = max(len(encoding.ids) for encoding in self.tokenizer.encode_batch(truths))
        return Case(row, torch.cat([pictures for pictures, _ in parts]), truths, longest + 64)

    def pillow(self, row, random, text):
        pages = [pillow_page(random, text, self.fonts, row.height, row.width) for _ in range(self.count)]
        images = torch.from_numpy(numpy.stack([image for image, _ in pages])).permute(0, 3, 1, 2).to(self.device)
        mean, deviation = (torch.tensor(values, device=self.device).view(1, 3, 1, 1)
                           for values in (IMAGE_MEAN, IMAGE_STANDARD_DEVIATION))
        return (images / 255 - mean) / deviation, [truth for _, truth in pages]

    def drawn(self, row, random, text, scale, count):
        limit = CHARACTER_LIMIT if row.task == "text" else SPOTTING_CHARACTER_LIMIT
        pages, truths = [], []
        while len(pages) < count:
            page = layout.make_page(random, text, self.metrics, row.width, row.height, scale, limit, row.kind)
            truth = transcript(page, row.task, row.width * scale, row.height * scale)
            if len(self.tokenizer.encode(truth).ids) <= TOKEN_LIMIT:
                pages.append(page)
                truths.append(truth)
        batch = collate(pages, [[0]] * count, self.metrics, 0, 0, prompt="", task=row.task,
                        grid_height=row.height // 16, grid_width=row.width // 16, scale=scale)
        glyphs, rectangles, dark = (torch.from_numpy(array).to(self.device)
                                    for array in (batch.glyphs, batch.rectangles, batch.dark))
        masks = self.renderer.masks(glyphs, rectangles, batch.pixel_count, count, row.height * scale,
                                    row.width * scale)
        pictures = self.renderer.pictures(masks, dark, scale, photograph=row.appearance == "photograph",
                                          clean=row.appearance == "clean")
        return pictures, truths


def read(model, tokenizer, case, pages_at_once):
    """The answers to a case's pictures, and for each whether it failed to stop."""
    prompt = tokenizer.encode(PROMPTS[case.row.task][0][0]).ids + [tokenizer.token_to_id("<｜hy_User｜>")]
    answers = []
    for start in range(0, len(case.truths), pages_at_once):
        tokens = model.generate(case.pictures[start:start + pages_at_once], prompt, case.limit).tolist()
        for ids in tokens:
            stopped = model.config.stop in ids
            kept = ids[:ids.index(model.config.stop)] if stopped else ids
            answers.append((tokenizer.decode(kept, skip_special_tokens=True), not stopped))
    return answers


def summarize(scores):
    """One row's numbers for one package, as shares."""
    pages = len(scores)
    return {"pages": pages, "character_error": sum(s.errors for s in scores) / max(1, sum(s.characters for s in scores)),
            "exact": sum(s.errors == 0 for s in scores) / pages, "lines_wrong": sum(s.lines_wrong for s in scores) / pages,
            "looped": sum(s.looped for s in scores) / pages, "overlap": sum(s.overlap for s in scores) / pages}


def print_head(packages):
    titles = [f"{title} {index}" for index in range(1, len(packages) + 1)
              for title in ("error", "exact", "lines", "loops")]
    for index, package in enumerate(packages, 1):
        print(f"{index}: {package}")
    print("\n| kind of page | pages | " + " | ".join(titles) + " |")
    print("| --- | " + "---: | " * (len(titles) + 1), flush=True)


def print_row(name, results):
    """Markdown, in percent, per package: character error, exact pages, pages with wrong lines, pages without a stop."""
    cells = [f"{100 * result[key]:.2f}" if key == "character_error" else f"{100 * result[key]:.1f}"
             for result in results for key in ("character_error", "exact", "lines_wrong", "looped")]
    note = f" (overlap {', '.join(format(result['overlap'], '.2f') for result in results)})" if name == "spotting" else ""
    print(f"| {name}{note} | {results[0]['pages']} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", action="append", required=True, help="may be given several times")
    parser.add_argument("--atlas", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--fonts", required=True)
    parser.add_argument("--pages", type=int, default=100, help="pages of each kind")
    parser.add_argument("--pages-at-once", type=int, default=256)
    parser.add_argument("--rows", nargs="*", choices=[row.name for row in ROWS], help="default: all")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--json", help="file for all numbers and the worst pages")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    pages = Pages(arguments, device)
    models = [HunyuanOcr.from_package(package).to(device).eval() for package in arguments.package]
    results, worst = {}, {}
    print_head(arguments.package)
    for row in ROWS:
        if arguments.rows and row.name not in arguments.rows:
            continue
        case, results[row.name] = pages.case(row), []
        for model in models:
            answers = read(model, pages.tokenizer, case, arguments.pages_at_once)
            scores = [score_page(truth, answer, looped, row.task)
                      for truth, (answer, looped) in zip(case.truths, answers)]
            results[row.name].append(summarize(scores))
        order = sorted(range(len(scores)), key=lambda index: -scores[index].errors)[:3]
        worst[row.name] = [(case.truths[index], *answers[index]) for index in order]
        print_row(row.name, results[row.name])
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"results": results, "worst": worst}, indent=1,
                                                           ensure_ascii=False))


if __name__ == "__main__":
    main()
