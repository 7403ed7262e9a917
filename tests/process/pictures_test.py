"""Pictures that have made other programs fail: a page of 300 dpi in little memory, one pixel, files of another kind
than their name, many pages in one run."""
import json
import os
import resource
import subprocess
import unittest

from command import PAGE, PICTURES, PROGRAM, QUIET, TINY, CommandTest, environment, png_bytes, run
from models import tiny_model


class Sizes(CommandTest):
    def read(self, picture, *arguments, model=TINY):
        result = run(*QUIET, "--json", "--model", model, "--max-new-tokens", "2", *arguments, picture)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_one_pixel(self):
        for width, height in ((1, 1), (1, 2), (2, 1), (1, 33), (33, 1), (1, 200), (200, 1), (31, 31)):
            with self.subTest(f"{width}x{height}"):
                image = self.read(self.file("page.png", png_bytes(width, height)))["image"]
                self.assertEqual((image["width"], image["height"]), (width, height))
                self.assertGreaterEqual(image["resized_width"] * image["resized_height"], 4096)
                rows, columns = image["grid"]
                self.assertEqual((rows * 16, columns * 16), (image["resized_height"], image["resized_width"]))
                self.assertEqual(image["visual_tokens"], rows // 2 * (columns // 2 + 1) + 2)

    def test_a_page_of_300_dpi(self):
        page = self.file("page.png", png_bytes(2550, 3301))
        model = tiny_model(self.folder, preprocessor_config={"max_pixels": 4194304})

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        result = run("--threads", "1", "--json", "--model", model, "--max-new-tokens", "2", page, preexec_fn=limit)
        self.assert_exit(result, 0, "2550x3301 was read at", "reduced to 1048576 pixels", "--max-pixels 8417550")
        image = json.loads(result.stdout)["image"]
        self.assertLessEqual(image["resized_width"] * image["resized_height"], 1048576)

    def test_a_page_as_large_as_asked_for(self):
        """Memory grows with the patches, not with their square: 4 times the pixels, at most 4 times the activations."""
        page = self.file("page.png", png_bytes(1275, 1650))
        model = tiny_model(self.folder, config={"max_position_embeddings": 16384})
        small, large = (self.read(page, "--max-pixels", pixels, model=model)["profile"]["activation_bytes"]
                        for pixels in ("500000", "2000000"))
        self.assertGreater(large, small)
        self.assertLess(large, 4.2 * small)


class Kinds(CommandTest):
    def test_the_bytes_decide_not_the_name(self):
        answers = {}
        for source, name in (("turned.jpg", "page.png"), ("turned.jpg", "page"), ("turned.jpg", "page.pdf"),
                             ("small.png", "page.jpg"), ("small.png", "page.webp"), ("small.png", "page.txt")):
            with self.subTest(f"{source} as {name}"):
                content = (PICTURES / source).read_bytes()
                result = run(*QUIET, "--model", TINY, self.file(name, content))
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                self.assertEqual(answers.setdefault(source, result.stdout), result.stdout)
                self.assertEqual(run(*QUIET, "--model", TINY, "-", stdin=content).stdout, result.stdout)

    def test_a_refused_kind_does_not_end_the_run(self):
        heic = self.file("a.jpg", b"\0\0\0\x18ftypheic" + bytes(64))
        result = run(*QUIET, "--json", "--model", TINY, heic, PAGE, heic, PAGE)
        self.assert_exit(result, 1, str(heic), "HEIC")
        records = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(["error" in record for record in records], [True, False, True, False])


class Transparency(CommandTest):
    def tokens(self, content, *arguments):
        result = run(*QUIET, "--json", "--model", TINY, "--max-new-tokens", "8", *arguments, "-", stdin=content)
        return json.loads(result.stdout)["tokens"]

    def test_background(self):
        clear = png_bytes(64, 64, grey=200, alpha=0)
        white, dark = self.tokens(png_bytes(64, 64)), self.tokens(png_bytes(64, 64, grey=40))
        self.assertNotEqual(white, dark)
        self.assertEqual(self.tokens(clear), white)
        self.assertEqual(self.tokens(clear, "--background", "40,40,40"), dark)
        self.assertEqual(self.tokens(png_bytes(64, 64, grey=40, alpha=255)), dark)
        colored = [self.tokens(clear, "--background", color) for color in ("255,0,0", "0,255,0", "0,0,255")]
        self.assertEqual(len(set(map(tuple, colored))), 3)


class ManyPages(CommandTest):
    def test_memory_stays_flat(self):
        sizes = ((64, 64), (900, 700), (33, 500), (640, 480), (1, 1), (300, 900), (1200, 40), (500, 500), (95, 97),
                 (1000, 600))
        pages = [self.file(f"page-{i}.png", png_bytes(*size, grey=25 * i)) for i, size in enumerate(sizes)] * 5
        resident_kib = []
        with subprocess.Popen([PROGRAM, *QUIET, "--json", "--model", TINY, "--max-pixels", "400000",
                               "--max-new-tokens", "4", *pages], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=environment()) as process:
            for _ in pages:
                self.assertIn("text", json.loads(process.stdout.readline()))
                with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                    resident_kib += [int(line.split()[1]) for line in status if line.startswith("VmRSS:")]
            self.assertEqual(process.wait(timeout=30), 0)
        # In its first round the allocator learns the sizes.
        rounds = [max(resident_kib[i:i + len(sizes)]) for i in range(0, len(pages), len(sizes))]
        print("resident in each round:", ", ".join(f"{kib} KiB" for kib in rounds))
        self.assertLess(rounds[-1], rounds[1] + 512)
        self.assertLess(rounds[-1], rounds[0] + 8192)


if __name__ == "__main__":
    unittest.main()
