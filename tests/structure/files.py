"""What every file of ours must be: begun by a comment that says what it is, short, and free of one machine's paths."""

from __future__ import annotations

import re
from pathlib import Path

LINES_AT_MOST = 600
CODE = (".h", ".cpp")
COMMENTED_FOLDERS = ("src", "app", "include")
# Everything a person writes; data and generated files are not searched for paths.
SEARCHED_FOLDERS = ("src", "app", "include", "tests", "tools", "scripts", "cmake", "docs", "benchmarks", "bindings", ".ci")
SEARCHED_SUFFIXES = ("", ".h", ".cpp", ".py", ".cmake", ".in", ".txt", ".md", ".sh")
DATA_FOLDERS = ("tests/golden", "tests/data")
# Homes and work folders of one machine: an absolute path whose first part is one of these.
MACHINE_PATH = re.compile(r"(?<![\w.~}/-])/(?:root|work|home|Users)/\w")


def ours(root: Path, folders):
    for folder in folders:
        for file in sorted((root / folder).rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and "__pycache__" not in name and not name.startswith(DATA_FOLDERS):
                yield file, name


def check_code(root: Path) -> list[str]:
    faults = []
    for file, name in ours(root, COMMENTED_FOLDERS):
        if file.suffix not in CODE:
            continue
        text = file.read_text(encoding="utf-8")
        if not text.startswith(("//", "/*")):
            faults.append(f"{name}: does not begin with a comment that says what the file is")
        lines = text.count("\n")
        if lines > LINES_AT_MOST:
            faults.append(f"{name}: has {lines} lines, at most {LINES_AT_MOST} are allowed; split it")
    return faults


def check_paths(root: Path) -> list[str]:
    faults = []
    top = [(file, file.name) for file in sorted(root.iterdir()) if file.is_file() and file.name != ".git"]
    for file, name in top + list(ours(root, SEARCHED_FOLDERS)):
        if file.suffix not in SEARCHED_SUFFIXES:
            continue
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # no text
        for number, line in enumerate(lines, start=1):
            match = MACHINE_PATH.search(line)
            if match:
                faults.append(f"{name}:{number}: holds a path of one machine: {match[0]}…")
    return faults


def check(root: Path) -> list[str]:
    return check_code(root) + check_paths(root)
