"""Kernels of one instruction set share no code with others.

A weak symbol (an inline function, a template) that two object files define is kept once by the linker: perhaps the copy
compiled for AVX-512, which an older processor cannot run. So every weak symbol of a kernel's object file must belong to
that set's namespace.
"""

from __future__ import annotations

import re
import subprocess

WEAK = re.compile(r"^[0-9a-fA-F]+ [WVu] (.+)$")


def weak_symbols(nm: str, file: str) -> list[str]:
    """Demangled names of the weak symbols that the object file defines."""
    output = subprocess.run([nm, "--demangle", "--defined-only", file], check=True, capture_output=True, text=True)
    return [match[1] for match in map(WEAK.match, output.stdout.splitlines()) if match]


def check(nm: str, files: dict[str, list[str]]) -> list[str]:
    """files: object files by instruction set."""
    faults = []
    for instruction_set, names in files.items():
        own = re.compile(rf"\b{instruction_set}::")
        for name in names:
            for symbol in weak_symbols(nm, name):
                if not own.search(symbol):
                    faults.append(f"{name}: shares {symbol}, which is not in namespace {instruction_set}")
    return faults
