"""PyTorch with the official implementation in transformers."""

from __future__ import annotations

import json
from pathlib import Path

from common import Figure, Settings, run

FORMATS = ("f32", "bf16")


def prepare(settings: Settings) -> None:
    run(settings, "pytorch-version", [settings.python, "-c", "import torch, transformers; "
                                      "transformers.HunYuanVLForConditionalGeneration; print(torch.__version__)"])


def measure(settings: Settings, name: str) -> dict[str, Figure]:
    output = run(settings, f"pytorch-{name}",
                 [settings.python, Path(__file__).with_name("pytorch_worker.py"), settings.model, "--format", name,
                  "--threads", settings.threads, "--tokens", settings.tokens, "--repeats", settings.repeats,
                  "--stages", *settings.stages], timeout=900)
    seconds = json.loads(output.splitlines()[-1])
    return {stage: Figure(stage, seconds[stage]) for stage in settings.stages}
