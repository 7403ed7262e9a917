"""What the process tests share: running the built command, folders that go away, small pictures and changed models.

HUNYUAN_OCR_PROGRAM and INKSTONE_PROGRAM name the programs; without them the release build's are taken.
"""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import zlib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("HUNYUAN_OCR_PROGRAM", str(SOURCE / "build/release/bin/hunyuan-ocr"))
INKSTONE = os.environ.get("INKSTONE_PROGRAM", str(SOURCE / "build/release/bin/inkstone"))
NANO = SOURCE / "models/nano"
TINY = SOURCE / "tests/data/tiny"  # random weights, the older names, two shards
PICTURES = SOURCE / "tests/data/pictures"

# A picture and what the official implementation reads in it (tests/golden/hunyuan_vl/nano/wide.json).
PAGE = PICTURES / "text_wide.png"
PAGE_TEXT = json.loads((SOURCE / "tests/golden/hunyuan_vl/nano/wide.json").read_text())["generations"][0]["text"]

# No notes, and one thread: on a busy machine two threads of a small model wait for each other longer than they work.
QUIET = ("--quiet", "--threads", "1")


def environment(**changes):
    """The environment of a run: no model named from outside."""
    variables = {name: value for name, value in os.environ.items() if name != "HUNYUAN_OCR_MODEL"}
    variables.update(changes)
    return variables


def run(*arguments, stdin=b"", **options):
    """Runs the command to its end; the streams come back as bytes."""
    options.setdefault("env", environment())
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PROGRAM, *arguments], input=stdin, stderr=subprocess.PIPE, timeout=60, check=False,
                          **options)


def png_bytes(width, height, grey=255, alpha=None):
    """A picture of one grey, 8 bits a sample, and one transparency when given."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if alpha is None else 4, 0, 0, 0)
    rows = (b"\0" + bytes([grey] if alpha is None else [grey, alpha]) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class CommandTest(unittest.TestCase):
    """A test with a folder of its own and checks on a finished run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def model_with(self, **replaced):
        """The nano with some files replaced: name without .json = a dict of changed keys, or bytes; None: left out."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        for source in NANO.iterdir():
            change = replaced.get(source.stem, False)
            if change is False:
                (folder / source.name).symlink_to(source)
            elif isinstance(change, dict):
                (folder / source.name).write_text(json.dumps(json.loads(source.read_text()) | change))
            elif change is not None:
                (folder / source.name).write_bytes(change)
        return folder

    def assert_exit(self, result, code, *in_stderr):
        """The exit code, and words of one line of stderr."""
        stderr = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, code, stderr)
        if in_stderr:
            self.assertTrue(any(all(word in line for word in in_stderr) for line in stderr.splitlines()),
                            f"no line with all of {in_stderr} in:\n{stderr}")

    def assert_refused(self, result, *in_stderr):
        """A usage error: exit code 2, one line on stderr, nothing on stdout."""
        self.assert_exit(result, 2, *in_stderr)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
