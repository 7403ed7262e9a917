"""Inner loops of kernels keep their sums in registers.

The compiler spills an array of accumulators to the stack without a word when a loop over it is not unrolled or one
register too many is wanted; such a kernel runs at half its speed and passes every other test. So the innermost loops of
a kernel's object file that multiply and add may write next to no vectors to the stack.
"""

from __future__ import annotations

import re
import subprocess
from typing import NamedTuple

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
JUMP = re.compile(r"^(?:bnd )?j\w+\s+([0-9a-f]+)\b")
MULTIPLY_ADD = re.compile(r"^vf(?:n?m(?:add|sub))\d+[ps][sd]\b|^vdpbf16ps\b|^vpdp\w+\b")
# Loops with fewer are no register tile: they may hold many constants beside one result.
MINIMUM_MULTIPLY_ADDS = 8
# One vector written for so many multiply-adds is let pass: a weight that found no register, which costs little. Spilled
# sums are written as often as they are added to.
MULTIPLY_ADDS_PER_WRITE = 5


class Loop(NamedTuple):
    function: str
    instructions: list[str]
    stack_registers: str  # a pattern


def functions(objdump: str, file: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """(demangled name, [(address, instruction)]) of each function of an object file."""
    output = subprocess.run([objdump, "--disassemble", "--demangle", "--no-show-raw-insn", file], check=True,
                            capture_output=True, text=True)
    found: list[tuple[str, list[tuple[int, str]]]] = []
    for line in output.stdout.splitlines():
        if match := FUNCTION.match(line):
            found.append((match[1], []))
        elif found and (match := INSTRUCTION.match(line)):
            found[-1][1].append((int(match[1], 16), match[2]))
    return found


def innermost_loops(name: str, code: list[tuple[int, str]]) -> list[Loop]:
    """A loop is what lies between a jump backwards and its target; innermost is one that holds no other."""
    index = {address: i for i, (address, _) in enumerate(code)}
    spans = set()
    for i, (_, text) in enumerate(code):
        if match := JUMP.match(text):
            target = index.get(int(match[1], 16))
            if target is not None and target <= i:
                spans.add((target, i))
    innermost = [a for a in spans if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in spans)]
    # rbp is a frame pointer only where the function makes it one.
    framed = any(re.match(r"mov\s+%rsp,%rbp\b", text) for _, text in code)
    stack = r"\(%(?:rsp|rbp)" if framed else r"\(%rsp"
    return [Loop(name, [text for _, text in code[first : last + 1]], stack) for first, last in sorted(innermost)]


def multiply_adds(loop: Loop) -> int:
    return sum(bool(MULTIPLY_ADD.match(text)) for text in loop.instructions)


def spills(loop: Loop) -> list[str]:
    """Vectors written to the stack. Only reading there is well: a constant that has no register."""
    target = re.compile(r"%[xyz]mm\d+(?:\{%k\d\})?,-?(?:0x)?[0-9a-f]*" + loop.stack_registers)
    return [text for text in loop.instructions if target.search(text)]


def check(objdump: str, files: list[str]) -> tuple[list[str], int]:
    """Faults of these object files, and how many register tiles were looked at."""
    faults, tiles = [], 0
    for file in files:
        for name, code in functions(objdump, file):
            for loop in innermost_loops(name, code):
                count = multiply_adds(loop)
                if count < MINIMUM_MULTIPLY_ADDS:
                    continue
                tiles += 1
                found = spills(loop)
                if len(found) * MULTIPLY_ADDS_PER_WRITE > count:
                    faults.append(f"{file}: {name}: an inner loop of {count} multiply-adds writes {len(found)} vectors "
                                  f"to the stack, such as {found[0]}")
    return faults, tiles
