"""How far an answer is from the transcript: characters, lines, loops, boxes. Plain Python."""

import dataclasses
import re

BOXED_LINE = re.compile(r"^(.*)\((\d+),(\d+)\),\((\d+),(\d+)\)$")
LOST_LINE_SHARE = 0.5   # a line is lost when no answered line is nearer than this share of its characters
LOST_LINE_LENGTH = 4    # shorter lines are not looked for


@dataclasses.dataclass
class PageScore:
    characters: int
    errors: int            # insertions, deletions and substitutions
    looped: bool           # the answer did not stop within its limit
    lines_wrong: bool      # a line was lost, or the number of lines differs
    overlap: float = 0.0   # mean intersection over union of the boxes (spotting)


def edit_distance(first, second):
    """Levenshtein distance by bit vectors in Python's long integers (Myers 1999, Hyyrö 2003)."""
    if not first or not second:
        return max(len(first), len(second))
    places = {}
    for index, character in enumerate(first):
        places[character] = places.get(character, 0) | 1 << index
    full, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    positive, negative, distance = full, 0, len(first)
    for character in second:
        match = places.get(character, 0)
        diagonal = (((match & positive) + positive) ^ positive) | match | negative
        up = negative | ~(diagonal | positive) & full
        down = positive & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up, down = (up << 1 | 1) & full, down << 1 & full
        positive = down | ~(diagonal | up) & full
        negative = up & diagonal
    return distance


def lost_lines(truth, answer):
    """Lines of `truth` that no line of `answer` resembles."""
    lines, exact = answer.split("\n"), set(answer.split("\n"))
    return [line for line in truth.split("\n") if line not in exact and len(line) >= LOST_LINE_LENGTH
            and min(edit_distance(line, other) for other in lines) > LOST_LINE_SHARE * len(line)]


def overlap(first, second):
    """Intersection over union of two boxes (x0, y0, x1, y1)."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return common / (areas - common)


def split_boxes(text):
    """Texts and boxes of a spotting answer; lines without a box are left out."""
    found = [match for match in map(BOXED_LINE.match, text.split("\n")) if match]
    return [match[1] for match in found], [tuple(map(int, match.groups()[1:])) for match in found]


def score_page(truth, answer, looped, task):
    """How well `answer` gives `truth`; `looped`: it did not stop; `task`: text or spotting."""
    mean_overlap = 0.0
    if task == "spotting":
        texts, boxes = split_boxes(truth)
        answered_texts, answered_boxes = split_boxes(answer)
        pairs = list(zip(boxes, answered_boxes))
        mean_overlap = sum(overlap(*pair) for pair in pairs) / max(1, len(boxes))
        truth, answer = "\n".join(texts), "\n".join(answered_texts)
    wrong = truth.count("\n") != answer.count("\n") or bool(lost_lines(truth, answer))
    return PageScore(len(truth), edit_distance(truth, answer), looped, wrong, mean_overlap)
