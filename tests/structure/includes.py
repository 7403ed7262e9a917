"""Which folder may include which: the layers of docs/architecture.md, checked on every include line.

Each function gives a list of sentences, one per breach, and an empty list when all is well.
"""

from __future__ import annotations

import re
from pathlib import Path

# From the top to the bottom: a folder may include from itself and from those that stand after it.
LAYERS = [
    "app",
    "server",
    "runtime",
    "document",
    "generate",
    "model",
    "text",
    "image",
    "format",
    "module",
    "graph",
    "backend",
    "ops",
    "backend/api",
    "tensor",
    "base",
]

# Headers that only some may include, because everyone else gets at them through an interface.
RESTRICTED = {
    # The table of kernels: others run operators through backend/api.
    r"backend/cpu/kernel_table\.h": r"src/backend/(cpu|reference)/",
    # Code compiled once per instruction set.
    r"base/simd/.*": r"src/(base/simd/|ops/\w+/cpu\.cpp$)",
    # The public header: its implementation, and what stands above.
    r"hunyuan_ocr/.*": r"(src/(runtime|document|server)/|app/|include/)",
}

# The commands, the server and what reads answers know no tensor, whatever stands below them.
NO_TENSORS = re.compile(r"(tensor|ops|backend|graph|module|model)/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path: str) -> str | None:
    """The layer of a path relative to src/, or None for what is no layer (the test helpers)."""
    if path.startswith("backend/api/"):
        return "backend/api"
    first = path.split("/")[0]
    return first if first in LAYERS else None


def is_test(path: str) -> bool:
    return path.endswith(("_test.cpp", "_benchmark.cpp")) or path.startswith("src/testing/")


def includes_of(file: Path):
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def sources(root: Path, *folders: str):
    for folder in folders:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cpp"):
                yield file, file.relative_to(root).as_posix()


def check_layers(root: Path) -> list[str]:
    faults = []
    for file, name in sources(root, "src", "app"):
        if is_test(name):
            continue  # a test may look at everything
        inside = name.removeprefix("src/")
        layer = layer_of(inside)
        if layer is None:
            faults.append(f"{name}: stands in no layer; the layers are {', '.join(LAYERS)}")
            continue
        for number, quoted, target in includes_of(file):
            place = f"{name}:{number}"
            if not quoted or target.startswith("hunyuan_ocr/"):
                continue
            if not (root / "src" / target).is_file():
                if (file.parent / target).is_file() or (root / "app" / target).is_file():
                    if layer != "app":
                        faults.append(f"{place}: includes \"{target}\" without the path from src/")
                    continue
                faults.append(f"{place}: includes \"{target}\", which is no file under src/")
                continue
            target_layer = layer_of(target)
            if target_layer is None:
                faults.append(f"{place}: includes {target}, which is for tests only")
            elif LAYERS.index(target_layer) < LAYERS.index(layer):
                faults.append(f"{place}: {layer}/ includes {target}, which stands above it")
            elif layer in ("app", "server", "document") and NO_TENSORS.match(target):
                faults.append(f"{place}: {layer}/ includes {target}, and may know no tensor")
            elif layer == "ops" and target_layer == "ops":
                own, other = inside.split("/"), target.split("/")
                if len(other) > 2 and own[1] != other[1]:
                    faults.append(f"{place}: operator {own[1]} includes operator {other[1]}")
    return faults


def check_restricted(root: Path) -> list[str]:
    faults = []
    for file, name in sources(root, "src", "app", "include"):
        if is_test(name):
            continue
        for number, _, target in includes_of(file):
            for header, allowed in RESTRICTED.items():
                if re.fullmatch(header, target) and not re.match(allowed, name):
                    faults.append(f"{name}:{number}: includes {target}, which is not for it")
    return faults


def check_public_headers(root: Path) -> list[str]:
    """include/ uses the standard library and itself: no slash and no .h but our own."""
    faults = []
    for file, name in sources(root, "include"):
        for number, _, target in includes_of(file):
            if (root / "include" / target).is_file():
                continue
            if not re.fullmatch(r"[a-z_]+", target):
                faults.append(f"{name}:{number}: includes {target}, which is not the standard library")
    return faults


def check(root: Path) -> list[str]:
    return check_layers(root) + check_restricted(root) + check_public_headers(root)
