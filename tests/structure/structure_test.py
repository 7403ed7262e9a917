"""Checks the tree's own rules, and that the checks see a planted fault.

    python3 structure_test.py        (ctest runs it; object files are named by INKSTONE_KERNEL_OBJECTS)
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import unittest
from pathlib import Path

import files
import includes
import loops
import objects

ROOT = Path(__file__).resolve().parents[2]


class Tree:
    """A tree in a temporary folder with one file of each kind, all well; plant() adds a fault."""

    def __init__(self, folder: str):
        self.root = Path(folder)
        self.plant("include/hunyuan_ocr/runtime.h", "// Public.\n#include <string>\n")
        self.plant("src/base/result.h", "// Errors.\n#include <string>\n")
        self.plant("src/base/simd/lanes.h", "// Lanes.\n")
        self.plant("src/backend/api/backend.h", '// Interface.\n#include "base/result.h"\n')
        self.plant("src/ops/add/add.h", '// Sum.\n#include "backend/api/backend.h"\n')
        self.plant("src/ops/mul/cpu.cpp", '// Product.\n#include "base/simd/lanes.h"\n')
        self.plant("src/backend/cpu/kernel_table.h", '// Kernels.\n#include "ops/add/add.h"\n')
        self.plant("src/model/model.cpp", '// Model.\n#include "base/result.h"\n')
        self.plant("src/runtime/runtime.cpp", '// Runtime.\n#include "hunyuan_ocr/runtime.h"\n')
        self.plant("src/ops/add/add_test.cpp", '// Tests.\n#include "backend/cpu/kernel_table.h"\n')
        self.plant("app/main.cpp", "// Command.\n#include <hunyuan_ocr/runtime.h>\n")

    def plant(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Includes(unittest.TestCase):
    def test_the_tree_keeps_its_layers(self):
        self.assertEqual(includes.check(ROOT), [])

    def test_the_page_lists_the_same_layers(self):
        page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        listed = [line.split("`")[1].rstrip("/") for line in page.splitlines() if line.startswith("| `")]
        self.assertEqual(listed, includes.LAYERS)

    def test_a_planted_fault_is_seen(self):
        faults = [
            ("src/base/up.cpp", '// x\n#include "ops/add/add.h"\n', "stands above it"),
            ("src/backend/api/up.h", '// x\n#include "ops/add/add.h"\n', "stands above it"),
            ("src/ops/mul/mul.cpp", '// x\n#include "ops/add/add.h"\n', "operator mul includes operator add"),
            ("src/model/fast.cpp", '// x\n#include "backend/cpu/kernel_table.h"\n', "not for it"),
            ("src/model/fast.cpp", '// x\n#include "base/simd/lanes.h"\n', "not for it"),
            ("src/ops/add/add.cpp", '// x\n#include "base/simd/lanes.h"\n', "not for it"),
            ("src/model/public.cpp", '// x\n#include "hunyuan_ocr/runtime.h"\n', "not for it"),
            ("src/model/lost.cpp", '// x\n#include "model/nowhere.h"\n', "no file under src/"),
            ("src/strange/x.cpp", "// x\n", "in no layer"),
            ("app/tensor.cpp", '// x\n#include "ops/add/add.h"\n', "may know no tensor"),
            ("src/document/tensor.cpp", '// x\n#include "ops/add/add.h"\n', "may know no tensor"),
            ("include/hunyuan_ocr/bad.h", "// x\n#include <png.h>\n", "not the standard library"),
            ("include/hunyuan_ocr/bad.h", '// x\n#include "base/result.h"\n', "not the standard library"),
            ("include/hunyuan_ocr/bad.h", "// x\n#include <nlohmann/json.hpp>\n", "not the standard library"),
        ]
        for name, text, message in faults:
            with self.subTest(name=name, message=message), tempfile.TemporaryDirectory() as folder:
                tree = Tree(folder)
                self.assertEqual(includes.check(tree.root), [])
                tree.plant(name, text)
                found = includes.check(tree.root)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])


class Files(unittest.TestCase):
    def test_every_file_of_the_tree(self):
        self.assertEqual(files.check(ROOT), [])

    def test_a_planted_fault_is_seen(self):
        home = "/" + "home/somebody"  # in two parts: this file is searched too
        faults = [
            ("src/base/bare.cpp", "#include <string>\n", "begin with a comment"),
            ("app/long.cpp", "// x\n" * 601, "has 601 lines"),
            ("docs/page.md", f"see {home}/notes\n", "docs/page.md:1: holds a path of one machine"),
            ("scripts/run", f"cd {home}\n", "holds a path of one machine"),
            ("README.md", f"`{home}`\n", "holds a path of one machine"),
        ]
        for name, text, message in faults:
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                tree = Tree(folder)
                self.assertEqual(files.check(tree.root), [])
                tree.plant(name, text)
                found = files.check(tree.root)
                self.assertEqual(len(found), 1, found)
                self.assertIn(message, found[0])


def kernel_objects() -> dict[str, list[str]]:
    """The kernels' object files by instruction set."""
    sets = {}
    for line in Path(os.environ["INKSTONE_KERNEL_OBJECTS"]).read_text(encoding="utf-8").split("\n"):
        if line:
            instruction_set, names = line.split(" ", 1)
            sets[instruction_set] = names.split(";")
    return sets


def compile_object(folder: str, source: str, *flags: str) -> str:
    object_file = str(Path(folder) / "planted.o")
    compiler = os.environ.get("INKSTONE_COMPILER", "c++")
    subprocess.run([compiler, "-x", "c++", "-std=c++20", *flags, "-c", "-o", object_file, "-"], input=source, text=True,
                   check=True)
    return object_file


@unittest.skipUnless("INKSTONE_KERNEL_OBJECTS" in os.environ, "run by ctest, which names the object files")
class Objects(unittest.TestCase):
    nm = os.environ.get("INKSTONE_NM", "nm")

    def test_kernels_share_no_symbols(self):
        sets = kernel_objects()
        self.assertGreater(sum(map(len, sets.values())), 0)
        self.assertEqual(objects.check(self.nm, sets), [])

    def test_a_planted_fault_is_seen(self):
        source = """
            namespace shared { [[gnu::noinline]] inline int twice(int x) { return 2 * x; } }
            namespace avx2 { [[gnu::noinline]] inline int thrice(int x) { return 3 * x; }
            int run(int x) { return shared::twice(x) + thrice(x); } }
        """
        with tempfile.TemporaryDirectory() as folder:
            found = objects.check(self.nm, {"avx2": [compile_object(folder, source)]})
        self.assertEqual(len(found), 1, found)
        self.assertIn("shares shared::twice(int)", found[0])


@unittest.skipUnless("INKSTONE_KERNEL_OBJECTS" in os.environ and platform.machine() in ("x86_64", "AMD64"),
                     "run by ctest, which names the object files; reads x86 code")
class Loops(unittest.TestCase):
    objdump = os.environ.get("INKSTONE_OBJDUMP", "objdump")

    def test_register_tiles_stay_in_registers(self):
        # Of all operators. The portable set is left out: it has no fused multiply-add to look for, and its registers of
        # 4 floats cannot hold a tile of products.
        files = [name for set, names in kernel_objects().items() if set != "portable" for name in names]
        faults, tiles = loops.check(self.objdump, files)
        self.assertEqual(faults, [])
        self.assertGreater(tiles, 100)

    def test_a_planted_fault_is_seen(self):
        source = """
            #include <immintrin.h>
            void multiply(const float* x, const float* w, float* y, long count) {
                __m256 sums[ROWS][2] = {};
                for (long k = 0; k < count; ++k)
                    #pragma GCC unroll 16
                    for (int r = 0; r < ROWS; ++r)
                        for (int g = 0; g < 2; ++g)
                            sums[r][g] = _mm256_fmadd_ps(_mm256_set1_ps(x[r * count + k]),
                                                         _mm256_loadu_ps(w + 16 * k + 8 * g), sums[r][g]);
                for (int r = 0; r < ROWS; ++r)
                    for (int g = 0; g < 2; ++g) _mm256_storeu_ps(y + 16 * r + 8 * g, sums[r][g]);
            }
        """
        for rows, faults in ((6, 0), (12, 1)):
            with self.subTest(rows=rows), tempfile.TemporaryDirectory() as folder:
                planted = compile_object(folder, source, "-O3", "-mavx2", "-mfma", f"-DROWS={rows}")
                found, tiles = loops.check(self.objdump, [planted])
                self.assertEqual(tiles, 1)
                self.assertEqual(len(found), faults, found)


if __name__ == "__main__":
    unittest.main()
