"""Trains the model of a package further, for a given number of minutes, and writes packages as it goes.

    python train.py --package ../../models/nano --atlas CACHE/train --corpus CACHE/train.corpus --output RUN --minutes 15

RUN/package is the averaged model, renewed every two minutes and at the end; RUN/checkpoint.pt lets a stopped run go on
(the same command). The learning rate follows the clock: a short rise, a plateau, a fall to nothing at the end.
"""

import argparse
import math
import os
import pathlib
import pickle
import time

import torch
import torch.nn.functional as functional
from tokenizers import Tokenizer

from data import PATCH, PROMPTS, BatchStream
from export import write_package
from model import Config, HunyuanOcr, TextLayer, VisionLayer, initialize
from optimizer import MuonAdamW
from render import Renderer

WARM_UP_BATCHES = 4
WARM_UP_STEPS = 150
PLATEAU = 0.45           # share of the time after which the learning rate falls
GRADIENT_NORM = 1.0
INPUT_NOISE = 0.03       # share of answer tokens replaced by random ones at the input: the model must look again
PHOTOGRAPH_SHARE = 0.22
POINTING = 0.15          # weight of the pointing loss, see pointing_loss; it falls with the time that is over
LEAST_POINTING = 0.02
AVERAGE_EVERY = 4        # steps between updates of the averaged model
AVERAGE_WEIGHT = 0.01
SAVE_SECONDS = 120
REPORT_SECONDS = 15


def learning_rate(peak, step, progress):
    """`progress` is the share of the time that is over."""
    rise = min(1.0, (step + 1) / WARM_UP_STEPS)
    fall = 1.0
    if progress > PLATEAU:
        fall = max(0.01, 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - PLATEAU) / (1 - PLATEAU)))))
    return peak * rise * fall


def to_device(array, device):
    """A numpy array on the device; the copy overlaps with what the device is doing."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device == "cuda" else tensor


def page_pictures(renderer, batch, device, photograph):
    """The pictures of a data.Batch."""
    height, width = batch.grid_height * PATCH * batch.scale, batch.grid_width * PATCH * batch.scale
    masks = renderer.masks(to_device(batch.glyphs, device), to_device(batch.rectangles, device), batch.pixel_count,
                           len(batch), height, width)
    return renderer.pictures(masks, to_device(batch.dark, device), batch.scale, photograph)


def prompt_ids(tokenizer, device):
    """Every trained prompt's ids with the user token after them."""
    user = tokenizer.token_to_id("<｜hy_User｜>")
    return {prompt: torch.tensor(tokenizer.encode(prompt).ids + [user], device=device)
            for choices in PROMPTS.values() for prompt, _ in choices}


def pointing_loss(scores, places, height, width):
    """How far heads are from pointing at the image cell where the next token stands: mean cross-entropy.

    scores: list of [batch, tokens, height * width]; places: [batch, tokens, 2], x and y in cells of the picture, NaN
    where nothing is to be pointed at. A place between the middles of cells is shared among the four around it, so the
    heads also learn which of the lines within a cell is being read. Reading loses its place without this lesson: the
    text so far nearly always tells what to write next, and nothing but the change of line needs a position.
    """
    known = ~places.isnan().any(-1)
    across, down = (values.clamp(0, size - 1) for values, size in zip((places.nan_to_num() - 0.5).unbind(-1),
                                                                       (width, height)))
    column, line = across.floor(), down.floor()
    logarithms = [functional.log_softmax(part.float(), -1) for part in scores]
    total = 0.0
    for right in (0, 1):
        for below in (0, 1):
            weight = (1 - (across - column - right).abs()) * (1 - (down - line - below).abs())
            x, y = (column + right).clamp(max=width - 1), (line + below).clamp(max=height - 1)
            index = (y * width + x).long()[..., None]
            total = total + sum((weight * part.gather(-1, index)[..., 0] * known).sum() for part in logarithms)
    return -total / (known.sum().clamp(min=1) * len(scores))


class Trainer:
    """One training run: model, average, optimizer, renderer and the clock."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every shape, and every batch has another
        torch.manual_seed(arguments.seed)
        self.output = pathlib.Path(arguments.output)
        self.output.mkdir(parents=True, exist_ok=True)
        if arguments.fresh:
            self.model = HunyuanOcr(Config.load(arguments.package))
            initialize(self.model)
        else:
            self.model = HunyuanOcr.from_package(arguments.package)
        self.model.to(self.device)
        self.average = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
        self.optimizer = MuonAdamW(self.model, fused=self.device == "cuda")
        self.renderer = Renderer(arguments.atlas, self.device)
        tokenizer = Tokenizer.from_file(str(pathlib.Path(arguments.package) / "tokenizer.json"))
        self.prompts = prompt_ids(tokenizer, self.device)
        self.step, self.elapsed = 0, 0.0
        self.restore()

    # ---- state on disk

    def restore(self):
        path = self.output / "checkpoint.pt"
        if path.exists():
            state = torch.load(path, map_location=self.device, weights_only=True)
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.average, self.step, self.elapsed = state["average"], state["step"], state["elapsed"]
            print(f"going on from {path}: step {self.step}, {self.elapsed:.0f} s", flush=True)

    def save(self):
        partial = self.output / "checkpoint.pt.partial"
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "average": self.average, "step": self.step, "elapsed": self.elapsed}, partial)
        os.replace(partial, self.output / "checkpoint.pt")
        write_package(self.average, self.arguments.package, self.output / "package")

    # ---- one step

    def inputs(self, batch):
        """Pictures, input ids, target ids and the places of the targets in image cells of a batch."""
        photograph = batch.task == "text" and torch.rand(()).item() < PHOTOGRAPH_SHARE
        pictures = page_pictures(self.renderer, batch, self.device, photograph)
        targets = to_device(batch.tokens, self.device)
        answers = targets[:, :-1]
        config = self.model.config
        noise = (torch.rand(answers.shape, device=self.device) < INPUT_NOISE) & (answers != config.padding)
        random_ids = torch.randint(0, config.begin, answers.shape, device=self.device)
        prompt = self.prompts[batch.prompt]
        ids = torch.cat([prompt.expand(len(batch), -1), torch.where(noise, random_ids, answers)], 1)
        places = to_device(batch.places, self.device) / (PATCH * config.merge * batch.scale)
        if photograph:  # the warp has moved everything
            places = torch.full_like(places, math.nan)
        return pictures, ids, targets, places

    def losses(self, pictures, ids, targets, places):
        """The loss of the answer and that of pointing."""
        cell = PATCH * self.model.config.merge
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            hidden, pointers = self.model.forward_pointing(pictures, ids, targets.shape[1])
            scores = self.model.logits(hidden)
        answer = functional.cross_entropy(scores.float().flatten(0, 1), targets.flatten(),
                                          ignore_index=self.model.config.padding)
        return answer, pointing_loss(pointers, places, pictures.shape[2] // cell, pictures.shape[3] // cell)

    def train_step(self, batch, rate, pointing=POINTING):
        """One step; returns the losses of the answer and of pointing, whose weight is `pointing`."""
        answer, pointer = self.losses(*self.inputs(batch))
        loss = answer + pointing * pointer
        for parameter in self.model.parameters():
            parameter.grad = None
        loss.backward()
        # image_sep is in the package but takes no part; it gets a zero gradient.
        for parameter in self.model.parameters():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_NORM)
        self.optimizer.step(rate)
        self.step += 1
        if self.step % AVERAGE_EVERY == 0:
            weight = max(AVERAGE_WEIGHT, 1 / (1 + self.step / AVERAGE_EVERY))
            current = self.model.state_dict()
            torch._foreach_lerp_(list(self.average.values()), [current[name] for name in self.average], weight)
        return answer.detach(), pointer.detach()

    # ---- the run

    def run(self):
        arguments = self.arguments
        if arguments.compile:
            TextLayer.forward = torch.compile(TextLayer.forward, dynamic=True)
            VisionLayer.forward = torch.compile(VisionLayer.forward, dynamic=True)
        with open(arguments.corpus, "rb") as file:
            corpus = pickle.load(file)
        stream = BatchStream(arguments.package, arguments.atlas, corpus, arguments.seed + self.step,
                             arguments.patches, arguments.workers)
        for _ in range(WARM_UP_BATCHES if arguments.compile else 0):  # compiles before the clock starts
            sum(self.losses(*self.inputs(stream.next()))).backward()
        stream.next()
        started, before = time.monotonic(), self.elapsed
        reported, saved, since = started, started, self.step
        losses = {}
        seconds = arguments.minutes * 60
        while self.elapsed < seconds:
            batch = stream.next()
            progress = self.elapsed / seconds
            rate = learning_rate(arguments.learning_rate, self.step, progress)
            loss, pointer = self.train_step(batch, rate, max(LEAST_POINTING, POINTING * (1 - progress)))
            patches = batch.grid_height * batch.grid_width
            kind = batch.task if batch.task == "spotting" else "small" if patches < 512 else \
                "medium" if patches < 1300 else "large"
            losses.setdefault(kind, []).append(loss)
            losses.setdefault("pointing", []).append(pointer)
            now = time.monotonic()
            self.elapsed = before + now - started
            if now - reported > REPORT_SECONDS:
                means = {kind: round(torch.stack(values).mean().item(), 4) for kind, values in sorted(losses.items())}
                print(f"{self.elapsed:.0f} s step {self.step} steps/s {(self.step - since) / (now - reported):.1f} "
                      f"rate {rate:.1e} repeated {stream.repeated} loss {means}", flush=True)
                reported, since, losses = time.monotonic(), self.step, {}
            if now - saved > SAVE_SECONDS:
                self.save()
                saved = time.monotonic()
        stream.close()
        self.save()
        print(f"done: {self.step} steps in {self.elapsed:.0f} s, {stream.repeated} batches used again", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True, help="package to begin from; its tokenizer and config stay")
    parser.add_argument("--atlas", required=True, help="glyph atlas folder of prepare.py")
    parser.add_argument("--corpus", required=True, help="text material of prepare.py")
    parser.add_argument("--output", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--fresh", action="store_true", help="begin from random weights of the package's shape")
    parser.add_argument("--learning-rate", type=float, default=1.2e-3)
    parser.add_argument("--patches", type=int, default=96 * 1024, help="picture patches in one step")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    Trainer(parser.parse_args()).run()


if __name__ == "__main__":
    main()
