"""The list of planted faults cannot rot: every text still stands in its source, exactly once. And planting a fault
changes one file of the copy only, and gives it back."""
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "validation"))

from faults import FAULTS, Fault  # noqa: E402
from plant_faults import mismatch, planted, run  # noqa: E402


def has_program(name):
    """golden_test, or the unit tests FOLDER_test of a folder of src/."""
    folder = ROOT / "src" / name.removesuffix("_test")
    return name == "golden_test" or (name.endswith("_test") and any(folder.rglob("*_test.cpp")))


class Faults(unittest.TestCase):
    def test_every_text_stands_in_its_source_once(self):
        for fault in FAULTS:
            with self.subTest(fault.name):
                self.assertEqual(mismatch(fault, ROOT), "")

    def test_entries_are_whole(self):
        names = [fault.name for fault in FAULTS]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 16)
        for fault in FAULTS:
            with self.subTest(fault.name):
                self.assertNotEqual(fault.text, fault.replacement)
                self.assertTrue(fault.note)
                self.assertTrue(fault.tests)
                for program in fault.tests:
                    self.assertTrue(has_program(program), program)


class Planting(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.source = self.scratch / "add.cpp"
        self.source.write_text("return a + b;\n", encoding="utf-8")
        self.fault = Fault("subtracts", "add.cpp", "a + b", "a - b", "the other operation")

    def test_a_fault_stands_for_the_block_and_is_undone_when_it_is_interrupted(self):
        with self.assertRaises(KeyboardInterrupt), planted(self.fault, self.scratch):
            self.assertEqual(self.source.read_text(encoding="utf-8"), "return a - b;\n")
            raise KeyboardInterrupt
        self.assertEqual(self.source.read_text(encoding="utf-8"), "return a + b;\n")

    def test_a_text_that_is_missing_or_ambiguous_is_told(self):
        self.assertEqual(mismatch(self.fault, self.scratch), "")
        for content, said in (("return b + a;\n", "occurs 0 times"), ("a + b, a + b\n", "occurs 2 times")):
            self.source.write_text(content, encoding="utf-8")
            self.assertIn(said, mismatch(self.fault, self.scratch))
        self.source.unlink()
        self.assertIn("add.cpp", mismatch(self.fault, self.scratch))

    def test_an_interrupted_command_ends_with_all_that_it_started(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            run(["sh", "-c", "sleep 60 & echo $! > child; trap '' TERM; wait $!; wait"], self.scratch, 0.5)
        child = int((self.scratch / "child").read_text(encoding="utf-8"))
        for _ in range(100):  # until whoever adopted the child has collected it
            try:
                os.kill(child, 0)
                if Path(f"/proc/{child}/stat").read_text(encoding="utf-8").split()[2] == "Z":
                    return
            except (ProcessLookupError, FileNotFoundError):
                return
            time.sleep(0.05)
        self.fail("the child still runs")


if __name__ == "__main__":
    unittest.main()
