"""Inkstone itself, through `inkstone bench`."""

from __future__ import annotations

import json

from common import Figure, Settings, run

FORMATS = ("f32", "bf16", "q8", "q4")


def formats(settings: Settings) -> list[str]:
    """Those that the built version has, found by asking for one that no version has."""
    known = run_refused(settings)
    return [name for name in FORMATS if name in known]


def run_refused(settings: Settings) -> list[str]:
    import subprocess

    refused = subprocess.run([str(settings.inkstone), "bench", "--precision", "none"], capture_output=True, text=True,
                             check=False)
    return refused.stderr.rpartition("which has:")[2].replace(",", " ").split()


def prepare(settings: Settings) -> None:
    run(settings, "inkstone-version", [settings.inkstone, "--version"])


def measure(settings: Settings, name: str) -> dict[str, Figure]:
    command = [settings.inkstone, "bench", settings.model, "--json", "--precision", name, "--threads",
               settings.threads, "--context", settings.tokens, "--picture", "512x512"]
    if settings.repeats < 5:
        command.append("--quick")
    result = json.loads(run(settings, f"inkstone-{name}", command))["formats"][name]
    figures = {}
    for stage in settings.stages:
        work = result[stage][0]
        share = work.get("bandwidth_share", work.get("peak_share"))
        figures[stage] = Figure(stage, [work["median_ms"] / 1000], f"{100 * share:.0f} % of the limit")
    return figures
