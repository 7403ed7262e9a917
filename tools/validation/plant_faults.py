#!/usr/bin/env python3
"""Proves that the tests can fail: plants each fault of faults.py alone, and expects the named tests to turn red.

Works on a copy of the tracked files in build/faults and never touches the checkout. Prints a row per fault; exit
status 1 when a fault stays green, does not compile, or no longer matches its source.
"""
from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / "build" / "faults"
BUILD = SCRATCH / "build" / "release"
TEST_TIMEOUT_SECONDS = 900
STOP_TIMEOUT_SECONDS = 10


class Failure(Exception):
    """What ends a fault or the whole command with a message."""


def mismatch(fault: Fault, root: Path) -> str:
    """Why the fault cannot be planted in the sources under root; empty when it can."""
    try:
        count = (root / fault.file).read_text(encoding="utf-8").count(fault.text)
    except OSError as error:
        return f"{fault.file}: {error.strerror}"
    return "" if count == 1 else f"{fault.file}: the text occurs {count} times, expected once: {fault.text!r}"


def stop(process: subprocess.Popen) -> None:
    """Ends a command and what it started: a build tool alone would leave its compilers writing into the copy."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_SECONDS)
            return


def run(command: list[str], folder: Path, timeout_seconds: float | None = None) -> tuple[int, str]:
    """The exit status and the output of a command. It does not outlive an exception (Ctrl-C) in this process."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=timeout_seconds)
        except BaseException:
            stop(process)
            raise
    return process.returncode, output


def copy_tree(root: Path, scratch: Path) -> None:
    """Makes scratch hold the tracked files of root as they are now. Files that are the same keep their time, so that
    nothing is built twice; a fault that a killed run left behind is undone."""
    status, listing = run(["git", "ls-files", "-z"], root)
    if status != 0:
        raise Failure(f"git ls-files failed in {root}: the tracked files are not known\n{listing}")
    tracked = {name for name in listing.split("\0") if name and (root / name).is_file()}
    for name in tracked:
        content, target = (root / name).read_bytes(), scratch / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    for folder, folders, files in os.walk(scratch):
        here = Path(folder)
        if here == scratch and "build" in folders:
            folders.remove("build")
        for name in files:
            if (here / name).relative_to(scratch).as_posix() not in tracked:
                (here / name).unlink()


def build(targets: Iterable[str], jobs: int) -> None:
    if not (BUILD / "CMakeCache.txt").is_file():
        status, output = run(["cmake", "--preset", "release", "-DINKSTONE_TESTS=ON"], SCRATCH)
        if status != 0:
            raise Failure(f"cmake does not configure\n{output[-3000:]}")
    command = ["cmake", "--build", str(BUILD), "-j", str(jobs), "--target", *targets]
    status, output = run(command, SCRATCH)
    if status != 0:
        raise Failure(f"does not compile\n{output[-3000:]}")


def first_failure(program: str) -> str:
    """The first test of a program that fails; empty when all pass. A test that crashes or hangs has failed too."""
    try:
        status, output = run([str(BUILD / "bin" / program), "--gtest_fail_fast", "--gtest_color=no"], SCRATCH,
                             TEST_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{program} (ran over {TEST_TIMEOUT_SECONDS} s)"
    if status == 0:
        return ""
    failed = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.MULTILINE)
    if failed:
        return failed[1]
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return f"{begun[-1] if begun else program} (ended with status {status})"


@contextlib.contextmanager
def planted(fault: Fault, scratch: Path) -> Iterator[None]:
    """The fault stands in scratch for the length of the block."""
    path = scratch / fault.file
    content = path.read_bytes()
    try:
        path.write_bytes(content.replace(fault.text.encode(), fault.replacement.encode()))
        yield
    finally:
        path.write_bytes(content)


def try_fault(fault: Fault, jobs: int) -> tuple[bool, str]:
    """Whether every test that should notice the fault did, and what to say about it."""
    if why := mismatch(fault, SCRATCH):
        return False, why
    with planted(fault, SCRATCH):
        try:
            build(fault.tests, jobs)
        except Failure as failure:
            return False, str(failure)
        failures = {program: first_failure(program) for program in fault.tests}
    green = [program for program, failure in failures.items() if not failure]
    if green:
        return False, "stays green in " + ", ".join(green)
    return True, ", ".join(failures.values())


def chosen(names: list[str] | None) -> list[Fault]:
    known = {fault.name: fault for fault in FAULTS}
    if unknown := [name for name in names or () if name not in known]:
        raise Failure(f"no fault is named {', '.join(unknown)}; --list prints them")
    return [known[name] for name in names] if names else list(FAULTS)


def expect_green(faults: list[Fault], jobs: int) -> None:
    """The sources as they are pass: before, or red would prove nothing; after, or a fault was left for the next."""
    programs = sorted({program for fault in faults for program in fault.tests})
    print(f"Without a fault: {', '.join(programs)}", flush=True)
    build(programs, jobs)
    for program in programs:
        if failure := first_failure(program):
            raise Failure(f"{failure} fails without a fault")


def plant_all(faults: list[Fault], jobs: int) -> int:
    """Plants one fault after the other; returns how many were not noticed."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with open(SCRATCH.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Failure(f"another run works in {SCRATCH}: wait for its end") from error
        copy_tree(ROOT, SCRATCH)
        expect_green(faults, jobs)
        width = max(len(fault.name) for fault in faults)
        print(f"{'fault':{width}}  result  seconds  first failing test", flush=True)
        missed = 0
        for fault in faults:
            start = time.monotonic()
            noticed, text = try_fault(fault, jobs)
            missed += not noticed
            seconds = time.monotonic() - start
            print(f"{fault.name:{width}}  {'red' if noticed else 'MISSED':6}  {seconds:7.0f}  {text}", flush=True)
        expect_green(faults, jobs)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", metavar="NAME", action="append", help="plant this fault alone; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the faults and end")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="compilers at once")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        faults = chosen(arguments.only)
        if arguments.list:
            for fault in faults:
                print(f"{fault.name}: {fault.note} ({fault.file}; {', '.join(fault.tests)})")
            return 0
        if reasons := [f"{fault.name}: {why}" for fault in faults if (why := mismatch(fault, ROOT))]:
            raise Failure("\n".join(reasons))
        missed = plant_all(faults, arguments.jobs)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the sources of the copy are restored", file=sys.stderr)
        return 130
    print(f"{len(faults) - missed} of {len(faults)} faults were noticed.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
