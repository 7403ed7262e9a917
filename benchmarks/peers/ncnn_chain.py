"""ncnn, from its wheel: the matrix products of the decoder alone.

ncnn has no converter for this model in the registry, so that what is measured is a chain of its layers with the
decoder's shapes and made-up weights: Gemm for a prompt, InnerProduct for one token. Norms, rotation, attention and
sampling are left out: a bound that ncnn cannot pass, not what it reaches.
"""

from __future__ import annotations

import json
from pathlib import Path

from common import Figure, Settings, run

PACKAGE = "ncnn"
FORMATS = ("f32", "bf16")


def folder(settings: Settings) -> Path:
    return settings.work / "ncnn"


def prepare(settings: Settings) -> None:
    if not (folder(settings) / "ncnn").exists():
        run(settings, "ncnn-install", [settings.python, "-m", "pip", "install", "--no-deps", "--target",
                                       folder(settings), PACKAGE])
    run(settings, "ncnn-version", [settings.python, Path(__file__).with_name("ncnn_worker.py"), folder(settings),
                                   "--version"])


def measure(settings: Settings, name: str) -> dict[str, Figure]:
    stages = [stage for stage in settings.stages if stage != "vision"]
    if not stages:
        return {}
    output = run(settings, f"ncnn-{name}",
                 [settings.python, Path(__file__).with_name("ncnn_worker.py"), folder(settings), "--config",
                  settings.model / "config.json", "--format", name, "--threads", settings.threads, "--tokens",
                  settings.tokens, "--repeats", settings.repeats, "--stages", *stages], timeout=600)
    seconds = json.loads(output.splitlines()[-1])
    return {stage: Figure(stage, seconds[stage], "products alone") for stage in stages}
