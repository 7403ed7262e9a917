"""Heavy replays against the official implementation in FP32: too long for the test suite, one command each.

    HUNYUAN_OCR_RUN_REPLAY=1 python -m tools.validation.replay
    HUNYUAN_OCR_RUN_IMAGE_REPLAY=1 python -m tools.validation.replay --model HunyuanOCR --threads 8

A replay runs when its switch is set and is skipped otherwise, with the switch's name:
    HUNYUAN_OCR_RUN_REPLAY          five grids, every stage, greedy ids
    HUNYUAN_OCR_RUN_IMAGE_REPLAY    six kinds of picture through the vision tower
    HUNYUAN_OCR_RUN_LM_HEAD_REPLAY  random and real hidden rows through the LM head
    HUNYUAN_OCR_RUN_E2E             one 512 x 512 page from picture to public state
Without --model a random model of the full size is written to WORK/random_full_size once (2 GB); the official class
takes 5 GB of memory with it. Needs requirements.txt, the fonts that draw_replay_pictures.py names, and the built
programs hunyuan-ocr and inkstone-replay.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file
from transformers.utils import logging

from tools.validation import draw_replay_pictures
from tools.validation.end_to_end import GRID, IMAGE, PROMPT, VISUAL_TOKENS, official_end_to_end
from tools.validation.reference import Inputs, Reference, Request

ROOT = Path(__file__).resolve().parents[2]
VISION_STAGES = ("pixels", "patch_embedding", "vision_layer_first", "vision_layer_last", "merger")
SEQUENCE_STAGES = ("embedded", "decoder_layer_first", "decoder_layer_last", "logits")
# What the stages of a whole page must reach: FP32 in another order of additions stays well inside.
STAGE_COSINE, STAGE_RELATIVE_L2 = 0.99999, 1e-4
PICTURE_COSINE, PICTURE_RELATIVE_L2 = 0.999, 0.02
LM_HEAD_RELATIVE_L2 = 1e-6


@dataclass
class Settings:
    model: Path | None = None
    work: Path = Path(tempfile.gettempdir()) / "inkstone_replay"
    programs: Path = ROOT / "build" / "release" / "bin"
    threads: int = 2
    max_new_tokens: int = 16


SETTINGS = Settings()


def run(program: str, *arguments: object) -> str:
    command = [str(SETTINGS.programs / program), *(str(argument) for argument in arguments)]
    finished = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"{program} failed with status {finished.returncode}:\n{finished.stderr}")
    return finished.stdout


def cosine(ours: np.ndarray, theirs: np.ndarray) -> float:
    ours, theirs = ours.astype(np.float64).ravel(), theirs.astype(np.float64).ravel()
    return float(ours @ theirs / (np.linalg.norm(ours) * np.linalg.norm(theirs)))


def relative_l2(ours: np.ndarray, theirs: np.ndarray) -> float:
    theirs = theirs.astype(np.float64)
    return float(np.linalg.norm(ours.astype(np.float64) - theirs) / np.linalg.norm(theirs))


def switched(name: str):
    return unittest.skipUnless(os.environ.get(name, "") not in ("", "0"), f"set {name}=1 to run it")


class Replay(unittest.TestCase):
    """The model and the official class, made ready once for all replays that run."""

    model: Path
    reference: Reference | None = None

    def setUp(self) -> None:
        if Replay.reference is None:
            torch.set_num_threads(SETTINGS.threads)
            SETTINGS.work.mkdir(parents=True, exist_ok=True)
            Replay.model = (SETTINGS.model or self.random_model()).resolve()
            Replay.reference = Reference(ROOT, str(Replay.model))
            print(f"\n{Replay.model.name}, {SETTINGS.threads} threads", flush=True)
        generation = json.loads((self.model / "generation_config.json").read_text(encoding="utf-8"))
        self.penalty = float(generation.get("repetition_penalty", 1.0))

    @staticmethod
    def random_model() -> Path:
        folder = SETTINGS.work / "random_full_size"
        if not (folder / "model.safetensors.index.json").exists():  # Written last.
            subprocess.run([sys.executable, str(ROOT / "tools/validation/make_random_full_size.py"), str(folder)],
                           check=True)
        return folder

    def prepare(self, picture: Path) -> Inputs:
        return self.reference.prepare(Request([str(picture.resolve())], PROMPT))

    @switched("HUNYUAN_OCR_RUN_REPLAY")
    def test_grids(self) -> None:
        """Five shapes of page through every stage; the larger one is several chunks of prefill."""
        pictures = draw_replay_pictures.draw_grids(SETTINGS.work / "grids")
        run("inkstone-replay", "stages", "--model", self.model, "--output", SETTINGS.work / "grids", "--prompt", PROMPT,
            "--threads", SETTINGS.threads, "--max-new-tokens", SETTINGS.max_new_tokens, "--repetition-penalty",
            self.penalty, *pictures)
        for picture in pictures:
            ours = load_file(picture.with_suffix(".safetensors"))
            inputs = self.prepare(picture)
            stages = self.reference.forward(inputs)
            answer = self.reference.generate(inputs, self.penalty, SETTINGS.max_new_tokens)
            print(f"\n{picture.stem}: grid {'x'.join(map(str, inputs.grids[0]))}, "
                  f"{inputs.visual_tokens[0]} visual tokens, {len(inputs.input_ids)} prompt tokens\n"
                  f"  {'stage':<20} {'cosine':>12} {'relative L2':>12}")
            theirs = {name: stages.image[name][0].numpy() for name in VISION_STAGES}
            theirs |= {name: stages.sequence[name].numpy() for name in SEQUENCE_STAGES}
            for name, expected in theirs.items():
                found = ours[name].reshape(expected.shape)
                print(f"  {name:<20} {cosine(found, expected):12.9f} {relative_l2(found, expected):12.3e}", flush=True)
                with self.subTest(picture=picture.stem, stage=name):
                    self.assertGreater(cosine(found, expected), STAGE_COSINE)
                    self.assertLess(relative_l2(found, expected), STAGE_RELATIVE_L2)
            with self.subTest(picture=picture.stem, stage="positions and ids"):
                self.assertEqual(ours["grid"].ravel().tolist(), list(inputs.grids[0]))
                self.assertEqual(ours["input_ids"].ravel().tolist(), inputs.input_ids)
                self.assertEqual(ours["positions"].T.tolist(), stages.sequence["positions"].tolist())
                found = ours["ids"].ravel().tolist()
                print(f"  {len(found)} greedy ids {'equal' if found == answer['ids'] else 'DIFFER'}, smallest margin "
                      f"{answer['smallest_margin']}", flush=True)
                self.assertEqual(found, answer["ids"], f"smallest margin {answer['smallest_margin']}")

    @switched("HUNYUAN_OCR_RUN_IMAGE_REPLAY")
    def test_pictures(self) -> None:
        """Six kinds of picture: visual tokens as they go into the decoder."""
        pictures = draw_replay_pictures.draw_six(SETTINGS.work / "pictures")
        run("inkstone-replay", "stages", "--vision-only", "--model", self.model, "--output",
            SETTINGS.work / "pictures", "--threads", SETTINGS.threads, *pictures)
        print(f"\n{'picture':<16} {'grid':>8} {'cosine':>14} {'relative L2':>14}")
        for picture in pictures:
            inputs = self.prepare(picture)
            theirs = self.reference.visual_tokens(inputs).numpy()
            ours = load_file(picture.with_suffix(".safetensors"))["merger"]
            grid = "x".join(map(str, inputs.grids[0]))
            print(f"{picture.stem:<16} {grid:>8} {cosine(ours, theirs):14.12f} {relative_l2(ours, theirs):14.3e}",
                  flush=True)
            with self.subTest(picture=picture.stem):
                self.assertEqual(ours.shape, theirs.shape)
                self.assertGreater(cosine(ours, theirs), PICTURE_COSINE)
                self.assertLess(relative_l2(ours, theirs), PICTURE_RELATIVE_L2)

    @switched("HUNYUAN_OCR_RUN_LM_HEAD_REPLAY")
    def test_lm_head(self) -> None:
        """Hidden rows, random and of a real page, through the LM head; FP64 says which side is nearer the truth."""
        head = self.reference.model.lm_head.weight.detach()
        page = self.prepare(ROOT / IMAGE)
        real = self.reference.hidden_rows(page)
        rows = {
            "random": torch.randn((16, head.shape[1]), generator=torch.Generator().manual_seed(1)),
            "real": real[torch.linspace(0, len(real) - 1, 16).long()].contiguous(),
        }
        folder = SETTINGS.work / "lm_head"
        folder.mkdir(exist_ok=True)
        print(f"\n{'rows':<8} {'against':<14} {'max error':>12} {'mean error':>12} {'relative L2':>12}  argmax")
        for name, hidden in rows.items():
            save_file({"hidden": hidden}, folder / f"{name}_hidden.safetensors")
            run("inkstone-replay", "lm-head", "--model", self.model, "--threads", SETTINGS.threads, "--hidden",
                folder / f"{name}_hidden.safetensors", "--output", folder / f"{name}_logits.safetensors")
            ours = load_file(folder / f"{name}_logits.safetensors")["logits"]
            theirs = torch.nn.functional.linear(hidden, head).numpy()
            exact = torch.cat([hidden.double() @ part.double().T for part in head.split(8192)], dim=1).numpy()
            for label, found, expected in (("PyTorch FP32", ours, theirs), ("FP64", ours, exact),
                                           ("PyTorch - FP64", theirs, exact)):
                error = np.abs(found.astype(np.float64) - expected)
                equal = bool((found.argmax(axis=1) == expected.argmax(axis=1)).all())
                print(f"{name:<8} {label:<14} {error.max():12.3e} {error.mean():12.3e} "
                      f"{relative_l2(found, expected):12.3e}  {'equal' if equal else 'DIFFERS'}", flush=True)
            with self.subTest(rows=name):
                self.assertLess(relative_l2(ours, theirs), LM_HEAD_RELATIVE_L2)
                self.assertEqual(ours.argmax(axis=1).tolist(), theirs.argmax(axis=1).tolist())

    @switched("HUNYUAN_OCR_RUN_E2E")
    def test_end_to_end(self) -> None:
        """A 512 x 512 page through the command: grid, visual tokens, first id, text and public state."""
        expected = official_end_to_end(self.reference, self.penalty, SETTINGS.max_new_tokens)
        found = json.loads(run("hunyuan-ocr", "--json", "--quiet", "--model", self.model, "--threads", SETTINGS.threads,
                               "--prompt", PROMPT, "--repetition-penalty", self.penalty, "--max-new-tokens",
                               SETTINGS.max_new_tokens, ROOT / IMAGE))
        print(f"\ngrid {found['image']['grid']}, {found['image']['visual_tokens']} visual tokens, first id "
              f"{found['tokens'][0]}, {len(found['tokens'])} tokens, {found['finish_reason']}\n"
              f"text {found['text']!r}\nstate {found['state']}\nsmallest margin {expected['smallest_margin']}",
              flush=True)
        if self.reference.image_processor.size["longest_edge"] >= 512 * 512:
            self.assertEqual((expected["grid"], expected["visual_tokens"]), (GRID, VISUAL_TOKENS))
        self.assertEqual(found["image"]["grid"], expected["grid"])
        self.assertEqual(found["image"]["visual_tokens"], expected["visual_tokens"])
        self.assertEqual(found["tokens"][0], expected["first_id"])
        for key in ("tokens", "text", "finish_reason", "state"):
            self.assertEqual(found[key], expected[key], key)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="checkpoint folder (default: a random one of the full size)")
    parser.add_argument("--work", type=Path, default=SETTINGS.work, help="folder for what is written")
    parser.add_argument("--programs", type=Path, default=SETTINGS.programs, help="folder of the built programs")
    parser.add_argument("--threads", type=int, default=SETTINGS.threads)
    parser.add_argument("--max-new-tokens", type=int, default=SETTINGS.max_new_tokens)
    for name, value in vars(parser.parse_args()).items():
        setattr(SETTINGS, name, value)
    logging.disable_progress_bar()
    unittest.main(module=sys.modules[__name__], argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
