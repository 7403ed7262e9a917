"""What every peer of the comparison needs: running programs with a log, figures, the state of the machine."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("vision", "prefill", "decode")


class Unavailable(Exception):
    """A peer that cannot be had or cannot do what is asked: a sentence for the table."""


@dataclass
class Settings:
    work: Path  # where peers are built and models converted; nothing is written elsewhere
    model: Path
    inkstone: Path
    python: Path  # with torch, transformers and numpy, see tools/validation/requirements.txt
    threads: int
    tokens: int  # of the prompt, and before a decoded token
    repeats: int
    stages: tuple[str, ...]
    jobs: int  # of a build

    def log(self, name: str) -> Path:
        folder = self.work / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.log"

    def image(self) -> Path:
        return ROOT / "examples" / "page_512.png"


@dataclass
class Figure:
    """One stage of one system: seconds of single runs; of a token for decode."""

    stage: str
    seconds: list[float]
    note: str = ""

    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass
class Run:
    """One system in one format, between two looks at the machine."""

    system: str
    format: str
    figures: dict[str, Figure] = field(default_factory=dict)
    before: float = 0.0  # GB/s
    after: float = 0.0
    problem: str = ""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def environment(threads: int) -> dict[str, str]:
    count = str(threads)
    return os.environ | {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "HF_HUB_OFFLINE": "1"}


def run(settings: Settings, log: str, command: list, *, threads: int | None = None, timeout: float = 3600,
        folder: Path | None = None) -> str:
    """Runs a program to its end and returns its standard output; all it says is in the log."""
    path = settings.log(log)
    words = [str(word) for word in command]
    with path.open("w", encoding="utf-8") as errors:
        errors.write(" ".join(words) + "\n")
        errors.flush()
        try:
            finished = subprocess.run(words, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace",
                                      check=False, timeout=timeout, cwd=folder,
                                      env=environment(threads or settings.threads))
        except FileNotFoundError as error:
            raise Unavailable(f"{words[0]} is not there") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"{Path(words[0]).name} took more than {timeout:.0f} s, see {path}") from error
        errors.write(finished.stdout)
    if finished.returncode != 0:
        raise Unavailable(f"{Path(words[0]).name} ended with status {finished.returncode}, see {path}")
    return finished.stdout


def bandwidth(settings: Settings) -> float:
    """GB/s that the machine reads just now, with the threads of the comparison."""
    output = run(settings, "machine", [settings.inkstone, "bench", "--machine", "--quick", "--json", "--threads",
                                       settings.threads])
    return json.loads(output)["machine"]["limits"][0]["bandwidth_gb_per_s"]["best"]


def once(path: Path, make) -> Path:
    """path, made by make(temporary) unless it is there: what was broken off is not taken for whole."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(path.name + ".part")
        make(temporary)
        temporary.rename(path)
    return path
