"""Batches of laid-out pages, made by worker processes while the device trains.

A batch holds pages of one picture size with transcripts of similar length (a worker lays out several batches' worth of
pages and sorts them), so little of it is padding. Workers know nothing of torch.
"""

import dataclasses
import json
import math
import multiprocessing
import pathlib
import queue
import random as random_module
import threading

import numpy

import layout
from atlas import Metrics
from text import TextSource

PATCH = 16
TOKEN_LIMIT = 1000       # transcripts longer than this are left out; the package generates at most 1024
CHARACTER_LIMIT = 1800
SPOTTING_CHARACTER_LIMIT = 600
SPOTTING_SHARE = 0.15
REAL_SENTENCES = 0.25
SHUFFLED_SENTENCES = 0.15
MOST_PAGES = 768
BATCHES_PER_GROUP = 3

# The prompts that are trained: per task, (prompt, share). The Chinese forms are the official ones.
PROMPTS = {
    "text": (("Extract the text in the image.", 0.9), ("提取图中的文字。", 0.1)),
    "spotting": (("Detect and recognize text in the image, and output the text coordinates in a formatted manner.",
                  0.85), ("检测并识别图片中的文字，将文本坐标格式化输出。", 0.15)),
}

# Picture sizes: (least patches, most patches, share). A thin strip is one or a few lines.
STRIPS_SHARE = 0.10
AREAS = ((96, 512, 0.24), (512, 1024, 0.30), (1024, 1600, 0.24), (1600, 2304, 0.16), (2304, 3072, 0.06))


@dataclasses.dataclass
class Batch:
    """Plain arrays of one training step; see layout.Page for glyphs and rectangles (a page column comes first)."""

    glyphs: numpy.ndarray      # int32 [n, 5]
    rectangles: numpy.ndarray  # float32 [m, 7]
    pixel_count: int
    dark: numpy.ndarray        # bool [pages]
    tokens: numpy.ndarray      # int64 [pages, length], ended by the stop token, then padding
    places: numpy.ndarray      # float32 [pages, length, 2]: where each token stands (x, y of the canvas); NaN unknown
    prompt: str
    task: str
    grid_height: int           # in patches, even
    grid_width: int
    scale: int

    def __len__(self):
        return len(self.tokens)


def transcript(page, task, width, height):
    """What the model shall answer: lines, or lines with their boxes in thousandths of the picture."""
    if task == "text":
        return "\n".join(page.lines)

    def thousandths(value, whole):
        return max(0, min(1000, round(value * 1000 / whole)))
    return "\n".join(
        f"{line}({thousandths(x0, width)},{thousandths(y0, height)}),({thousandths(x1, width)},{thousandths(y1, height)})"
        for line, (x0, y0, x1, y1) in zip(page.lines, page.boxes))


def token_places(page, text, offsets):
    """Where each token of `text` (a transcript of `page`) stands: float32 [tokens + 1, 2], canvas pixels.

    offsets: the tokens' (begin, end) in characters. A token stands where its first drawn character does, a white one
    and the stop token where the character before them does; the coordinates of spotting stand nowhere (NaN).
    """
    places = numpy.full((len(text) + 1, 2), numpy.nan, numpy.float32)
    before = numpy.full(2, numpy.nan, numpy.float32)
    begin = 0
    for line, drawn, whole in zip(page.lines, page.places, text.split("\n")):
        visible = numpy.array([character != " " for character in line])
        if visible.sum() == len(drawn):
            part = places[begin:begin + len(line)]
            # A space takes the place of the character after it: " word" stands where "word" does.
            part[:] = drawn[numpy.minimum(numpy.cumsum(visible) - visible, len(drawn) - 1)]
            before = drawn[-1]
        if len(whole) == len(line):
            places[begin + len(line)] = before
        begin += len(whole) + 1
    starts = numpy.array([first for first, _ in offsets] + [len(text)], numpy.int64)
    return places[numpy.minimum(starts, len(text))]


def collate(pages, tokens, metrics, stop, padding, places=None, **fields):
    """A Batch of pages whose transcripts are `tokens`; `places` per page as token_places gives them."""
    glyphs = [numpy.column_stack([numpy.full(len(page.glyphs), index, numpy.int32), page.glyphs])
              for index, page in enumerate(pages)]
    rectangles = [numpy.column_stack([numpy.full(len(page.rectangles), index, numpy.float32), page.rectangles])
                  for index, page in enumerate(pages)]
    glyphs, rectangles = numpy.concatenate(glyphs), numpy.concatenate(rectangles)
    numbers = glyphs[:, 1]
    sizes = metrics.width.reshape(-1)[numbers].astype(numpy.int64) * metrics.height.reshape(-1)[numbers]
    length = math.ceil((max(map(len, tokens)) + 1) / 16) * 16
    padded = numpy.full((len(tokens), length), padding, numpy.int64)
    for row, ids in zip(padded, tokens):
        row[:len(ids)] = ids
        row[len(ids)] = stop
    padded_places = numpy.full((len(tokens), length, 2), numpy.nan, numpy.float32)
    for row, known in zip(padded_places, places or ()):
        row[:len(known)] = known
    return Batch(glyphs, rectangles, int(sizes.sum()), numpy.array([page.dark for page in pages]), padded,
                 padded_places, **fields)


def pick_grid(random):
    """A picture size in patches: both sides even, at most 64."""
    if random.random() < STRIPS_SHARE:
        return random.choice((2, 2, 4, 4, 6)), random.randrange(8, 49, 2)
    low, high, _ = random.choices(AREAS, [share for _, _, share in AREAS])[0]
    area, aspect = random.uniform(low, high), math.exp(random.uniform(-0.7, 0.7))
    sides = (max(4, min(64, 2 * round(math.sqrt(value) / 2))) for value in (area / aspect, area * aspect))
    return tuple(sides)


def draw_weighted(random, choices):
    return random.choices([choice for choice, _ in choices], [share for _, share in choices])[0]


class BatchMaker:
    """Lays out and tokenizes batches with one random generator."""

    def __init__(self, package, atlas_folder, corpus, seed, patches_per_batch):
        from tokenizers import Tokenizer
        package = pathlib.Path(package)
        self.random = random_module.Random(seed)
        self.metrics = Metrics.load(atlas_folder)
        self.text = TextSource(corpus, self.random, REAL_SENTENCES, SHUFFLED_SENTENCES)
        self.tokenizer = Tokenizer.from_file(str(package / "tokenizer.json"))
        config = json.loads((package / "config.json").read_text())
        self.stop, self.padding = config["eos_token_id"], config["pad_token_id"]
        self.patches_per_batch = patches_per_batch

    def group(self):
        """Batches of one picture size, task and prompt, sorted by length."""
        random = self.random
        task = "spotting" if random.random() < SPOTTING_SHARE else "text"
        grid_height, grid_width = pick_grid(random)
        scale = random.choice((1, 2))
        pages_per_batch = max(1, min(MOST_PAGES, self.patches_per_batch // (grid_height * grid_width)))
        height, width = grid_height * PATCH, grid_width * PATCH
        limit = CHARACTER_LIMIT if task == "text" else SPOTTING_CHARACTER_LIMIT
        pages = [layout.make_page(random, self.text, self.metrics, width, height, scale, limit)
                 for _ in range(pages_per_batch * BATCHES_PER_GROUP)]
        texts = [transcript(page, task, width * scale, height * scale) for page in pages]
        encodings = self.tokenizer.encode_batch(texts)
        tokens = [encoding.ids for encoding in encodings]
        places = [token_places(page, text, encoding.offsets)
                  for page, text, encoding in zip(pages, texts, encodings)]
        kept = sorted((index for index, ids in enumerate(tokens) if len(ids) <= TOKEN_LIMIT),
                      key=lambda index: len(tokens[index]))
        groups = [kept[start:start + pages_per_batch] for start in range(0, len(kept), pages_per_batch)]
        return [collate([pages[index] for index in members], [tokens[index] for index in members], self.metrics,
                        self.stop, self.padding, [places[index] for index in members], prompt=draw_weighted(random, PROMPTS[task]), task=task,
                        grid_height=grid_height, grid_width=grid_width, scale=scale) for members in groups]


def work(output, stopping, arguments):
    """The life of a worker process."""
    maker = BatchMaker(*arguments)
    while not stopping.is_set():
        batches = maker.group()
        maker.random.shuffle(batches)
        for batch in batches:
            while not stopping.is_set():
                try:
                    output.put(batch, timeout=1)
                    break
                except queue.Full:
                    continue


class BatchStream:
    """An endless stream of batches. When the workers fall behind, the last batches are used again (the renderer gives
    them new colours, noise and skew) rather than letting the device wait; `repeated` counts these."""

    MOST_REPEATS = 3

    def __init__(self, package, atlas_folder, corpus, seed, patches_per_batch, workers):
        context = multiprocessing.get_context("spawn")
        self.stopping = context.Event()
        self.queue = context.Queue(maxsize=workers * 3)
        self.ready = queue.Queue(maxsize=16)
        self.repeated = 0
        self.last, self.uses = None, 0
        self.processes = [context.Process(target=work, daemon=True, args=(
            self.queue, self.stopping, (package, atlas_folder, corpus, seed * 1000 + index, patches_per_batch)))
            for index in range(workers)]
        for process in self.processes:
            process.start()
        threading.Thread(target=self.receive, daemon=True).start()

    def receive(self):
        while not self.stopping.is_set():
            try:
                self.ready.put(self.queue.get(timeout=1))
            except queue.Empty:
                continue

    def next(self):
        if self.last is not None and self.uses < self.MOST_REPEATS:
            try:
                self.last, self.uses = self.ready.get_nowait(), 0
            except queue.Empty:
                self.repeated += 1
        else:
            self.last, self.uses = self.ready.get(timeout=300), 0
        self.uses += 1
        return self.last

    def close(self):
        self.stopping.set()
        for process in self.processes:
            process.terminate()
