"""Trains the DFlash draft of a package on the ids that the package's model itself produces.

    python train_draft.py --package RUN/package --draft ../../models/nano/dflash --atlas CACHE/train \\
        --corpus CACHE/train.corpus --output RUN/dflash --minutes 5

The model reads pages greedily; its features and ids are kept and used for several steps with other anchors. The draft
begins from the weights of the model's last layers, or, with --continue, from those in --draft. Prints the loss and how
many drafted tokens would be accepted, by position.
"""

import argparse
import math
import os
import pathlib
import pickle
import shutil
import time

import torch
import torch.nn.functional as functional
from safetensors.torch import save_file
from tokenizers import Tokenizer

from data import BatchStream
from draft import Draft, DraftConfig
from model import HunyuanOcr
from render import Renderer
from train import page_pictures, prompt_ids

STEPS_PER_BATCH = 24
ANCHORS = 8               # blocks of a page in one step
POSITION_DECAY = 6.0      # the loss of position i weighs exp(-i / this): early tokens decide what is accepted
GRADIENT_NORM = 1.0
REPORT_SECONDS = 15


def blocks_of(ids, lengths, size, count, mask):
    """Anchors [pages, count], block ids and the true ids [pages, count, size] of random blocks of `ids` [pages, tokens].

    A block begins at a token that the model produced; ids past `lengths` are marked -100 (no loss).
    """
    draws = torch.rand(len(ids), count, device=ids.device)
    anchors = (draws * (lengths[:, None] - 1).clamp(min=1)).long()
    places = anchors[:, :, None] + torch.arange(size, device=ids.device)
    truth = ids.gather(1, places.clamp(max=ids.shape[1] - 1).flatten(1)).view(places.shape)
    truth = torch.where(places < lengths[:, None, None], truth, -100)
    blocks = torch.full_like(truth, mask)
    blocks[:, :, 0] = truth[:, :, 0].clamp(min=0)
    return anchors, blocks, truth


def accepted(scores, truth):
    """For each block position after the first, the share of blocks that are right up to and with it."""
    right = (scores.argmax(-1) == truth).float().cumprod(-1)
    counted = (truth >= 0).float()
    return (right * counted).sum((0, 1)) / counted.sum((0, 1)).clamp(min=1)


class DraftTrainer:
    def __init__(self, arguments):
        self.arguments = arguments
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(arguments.seed)
        torch.backends.cuda.enable_cudnn_sdp(False)
        self.target = HunyuanOcr.from_package(arguments.package).to(self.device).eval().requires_grad_(False)
        if arguments.go_on:
            self.draft = Draft.from_package(arguments.draft).to(self.device)
        else:
            self.draft = Draft(DraftConfig(arguments.draft)).to(self.device)
            self.draft.begin_from(self.target)
        self.optimizer = torch.optim.AdamW(self.draft.parameters(), lr=0.0, weight_decay=0.02, betas=(0.9, 0.97))
        self.renderer = Renderer(arguments.atlas, self.device)
        self.prompts = prompt_ids(Tokenizer.from_file(str(pathlib.Path(arguments.package) / "tokenizer.json")),
                                  self.device)
        self.decay = torch.exp(-torch.arange(self.draft.config.block - 1, device=self.device) / POSITION_DECAY)

    @torch.no_grad()
    def read(self, batch):
        """The model's ids for a batch, their lengths, its features, and the position of the first id."""
        pictures = page_pictures(self.renderer, batch, self.device, photograph=False)
        prompt = self.prompts[batch.prompt]
        config = self.target.config
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            ids = self.target.generate(pictures, prompt.tolist(), batch.tokens.shape[1] + 16)
            sequence = torch.cat([prompt.expand(len(batch), -1), ids], 1)
            _, features, start = self.target(pictures, sequence, self.draft.config.target_layers)
        return ids, (ids != config.padding).sum(1), features, start + len(prompt)

    def step(self, ids, lengths, features, first, rate):
        """One step on blocks of the ids; returns the loss and the acceptance by position."""
        config = self.draft.config
        anchors, blocks, truth = blocks_of(ids, lengths, config.block, ANCHORS, config.mask)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):
            embedded = self.target.language_model.embed_tokens(blocks).to(features.dtype)
            scores = self.target.logits(self.draft(features, embedded, anchors + first)[:, :, 1:])
        truth = truth[:, :, 1:]
        losses = functional.cross_entropy(scores.float().flatten(0, 2), truth.flatten(), ignore_index=-100,
                                          reduction="none").view(truth.shape)
        weights = (truth >= 0) * self.decay
        loss = (losses * weights).sum() / weights.sum().clamp(min=1e-6)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.draft.parameters(), GRADIENT_NORM)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return loss.detach(), accepted(scores.detach(), truth)

    def save(self):
        output = pathlib.Path(self.arguments.output)
        output.mkdir(parents=True, exist_ok=True)
        config = pathlib.Path(self.arguments.draft) / "config.json"
        if config.resolve() != (output / "config.json").resolve():
            shutil.copyfile(config, output / "config.json")
        partial = output / "model.safetensors.partial"
        save_file({name: tensor.to("cpu", torch.bfloat16).contiguous() for name, tensor in
                   self.draft.state_dict().items()}, str(partial), metadata={"format": "pt"})
        os.replace(partial, output / "model.safetensors")

    def run(self):
        arguments = self.arguments
        with open(arguments.corpus, "rb") as file:
            corpus = pickle.load(file)
        stream = BatchStream(arguments.package, arguments.atlas, corpus, arguments.seed, arguments.patches,
                             arguments.workers)
        stream.next()
        started = reported = time.monotonic()
        seconds, number, shares = arguments.minutes * 60, 0, []
        while time.monotonic() - started < seconds:
            material = self.read(stream.next())
            for _ in range(STEPS_PER_BATCH):
                progress = min(1.0, (time.monotonic() - started) / seconds)
                rate = arguments.learning_rate * min(1, (number + 1) / 100) * max(
                    0.02, 0.5 * (1 + math.cos(math.pi * progress)))
                loss, share = self.step(*material, rate)
                shares.append(share)
                number += 1
            if time.monotonic() - reported > REPORT_SECONDS:
                mean = torch.stack(shares).mean(0)
                print(f"{time.monotonic() - started:.0f} s step {number} loss {loss.item():.3f} accepted "
                      f"{mean.sum().item():.2f} of {len(mean)}, by position "
                      f"{[round(value, 2) for value in mean.tolist()]}", flush=True)
                reported, shares = time.monotonic(), []
                self.save()
        stream.close()
        self.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", required=True, help="package whose model the draft serves")
    parser.add_argument("--draft", required=True, help="dflash folder: its config, and its weights with --continue")
    parser.add_argument("--continue", dest="go_on", action="store_true")
    parser.add_argument("--atlas", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--learning-rate", type=float, default=1.5e-3)
    parser.add_argument("--patches", type=int, default=192 * 1024, help="picture patches read at once")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--seed", type=int, default=1)
    DraftTrainer(parser.parse_args()).run()


if __name__ == "__main__":
    main()
