"""Answers: text and JSON, standard output and files, names in every writing, full disks, closed pipes."""
import json
import os
import pty
import re
import resource
import subprocess
import unittest

from command import PAGE, PAGE_TEXT, PROGRAM, QUIET, CommandTest, environment, png_bytes, run

TEXT = PAGE_TEXT.encode() + b"\n"
PAGE_BYTES = PAGE.read_bytes()


class Text(CommandTest):
    def test_a_page(self):
        result = run(str(PAGE))
        self.assert_exit(result, 0, "demonstration model", "--model")
        self.assertEqual(result.stdout, TEXT)
        self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_quiet(self):
        result = run(*QUIET, str(PAGE))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, TEXT, b""))

    def test_standard_input(self):
        result = run(*QUIET, "-", stdin=PAGE_BYTES)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, TEXT, b""))
        result = run(*QUIET, "-", str(PAGE), stdin=b"")
        self.assert_exit(result, 1, "standard input: is empty")
        self.assertEqual(result.stderr.count(b"standard input"), 1)

    def test_the_text_comes_in_pieces(self):
        # A pipe of packets: what is written apart is read apart, however late the reader comes.
        read_end, write_end = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)
        with subprocess.Popen([PROGRAM, *QUIET, str(PAGE)], stdout=write_end, env=environment()):
            os.close(write_end)
            pieces = []
            while piece := os.read(read_end, 65536):
                pieces.append(piece)
        os.close(read_end)
        self.assertEqual(b"".join(pieces), TEXT)
        self.assertGreater(len(pieces), 1)

    def test_a_cut_answer_is_said(self):
        result = run(*QUIET, "--max-new-tokens", "2", str(PAGE))
        self.assert_exit(result, 0, str(PAGE), "cut", "--max-new-tokens")
        self.assertTrue(TEXT.startswith(result.stdout.rstrip(b"\n")))
        self.assertTrue(result.stdout.endswith(b"\n"))

    def test_a_reduced_page_is_said(self):
        model = self.model_with(preprocessor_config={"max_pixels": 4194304})
        page = self.file("large.png", png_bytes(1200, 900))
        arguments = ("--model", str(model), "--max-new-tokens", "1", str(page))
        self.assert_exit(run("--threads", "1", *arguments), 0, "1200x900", "--max-pixels 1080000")
        for silent in (QUIET, ("--threads", "1", "--max-pixels", "60000")):
            result = run(*silent, *arguments)
            self.assert_exit(result, 0)
            self.assertNotIn(b"--max-pixels", result.stderr)

    def test_statistics(self):
        result = run(*QUIET, "--stats", str(PAGE))
        self.assertEqual(result.stdout, TEXT)
        self.assert_exit(result, 0, "decode", "tokens/s")
        self.assert_exit(result, 0, "memory", "MiB")
        lines = result.stderr.decode().splitlines()
        needs = re.search(r": needs ([\d.]+) MiB: weights ([\d.]+), keys and values ([\d.]+), activations ([\d.]+), "
                          r"vision ([\d.]+)$", lines[0])
        total, *parts = map(float, needs.groups())
        self.assertGreater(total, max(parts))
        self.assertLess(total, sum(parts) + 0.3)
        self.assertRegex(lines[1], r"about [\d.]+ s until the first token .*, then [\d.]+ ms a token$")
        took = re.search(r"weights ([\d.]+) MiB, cache ([\d.]+) MiB, activations ([\d.]+) MiB, peak resident ([\d.]+)",
                         lines[-2])
        weights, cache, activations, peak = map(float, took.groups())
        self.assertEqual(weights, parts[0])
        self.assertLessEqual(cache, parts[1])
        self.assertLessEqual(activations, parts[2] + parts[3] + 0.1)  # of decoder and vision tower
        self.assertLess(peak, total + 40)  # the program itself

    def test_verbose(self):
        result = run("--threads", "1", "--verbose", str(PAGE))
        self.assertEqual(result.stdout, TEXT)
        self.assert_exit(result, 0, "loaded in")
        self.assert_exit(result, 0, "vision weights", "MiB")
        self.assert_exit(result, 0, "decoder and head weights", "MiB")
        self.assert_exit(result, 0, "memory", "weights", "cache", "activations", "peak resident")


class Json(CommandTest):
    def test_shape(self):
        result = run(*QUIET, "--json", str(PAGE))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(result.stdout.count(b"\n"), 1)
        record = json.loads(result.stdout)
        self.assertEqual(list(record), ["file", "text", "tokens", "finish_reason", "image", "options", "profile",
                                        "state"])
        self.assertEqual(record["file"], str(PAGE))
        self.assertEqual(record["text"], PAGE_TEXT)
        self.assertEqual(record["finish_reason"], "stop")
        self.assertEqual(record["image"], {"width": 440, "height": 90, "resized_width": 448, "resized_height": 96,
                                           "grid": [6, 28], "visual_tokens": 47})
        profile = record["profile"]
        self.assertEqual(profile["generated_tokens"], len(record["tokens"]))
        self.assertEqual(profile["visual_tokens"], 47)
        self.assertEqual(profile["backend"], "cpu")
        for stage in ("decode_image", "preprocess", "vision", "embed", "prefill", "lm_head", "decode", "draft", "verify",
                      "sample", "detokenize", "total"):
            self.assertGreaterEqual(profile[stage + "_ms"], 0)
        for field in ("weight_bytes", "cache_bytes", "activation_bytes", "threads", "prompt_tokens"):
            self.assertGreater(profile[field], 0, field)
        self.assertEqual(set(record["state"]), {"sequence_length", "position", "current_token", "target_cache_length",
                                                "draft_cache_length"})

    def test_precision_of_each_part(self):
        profile = json.loads(run(*QUIET, "--json", str(PAGE)).stdout)["profile"]
        self.assertEqual(profile["kv_precision"], "f32")
        self.assertEqual(profile["head_precision"], "f32 arithmetic, bf16 weights")
        result = run(*QUIET, "--json", "--precision", "vision=bf16,kv=bf16", str(PAGE))
        parts = json.loads(result.stdout)["profile"]
        self.assertEqual([parts[part + "_precision"] for part in ("vision", "decoder", "head", "kv")],
                         ["bf16 arithmetic, bf16 weights", "f32 arithmetic, bf16 weights", "f32 arithmetic, bf16 weights",
                          "bf16"])
        self.assertEqual(parts["cache_bytes"] * 2, profile["cache_bytes"])
        result = run("--precision", "bf16", "--stats", "--quiet", str(PAGE))
        self.assertIn(b"head bf16 arithmetic, bf16 weights, keys and values bf16", result.stderr)
        self.assertEqual(result.stdout.decode().strip(), PAGE_TEXT.strip())
        profile = json.loads(run(*QUIET, "--json", "--precision", "q8", str(PAGE)).stdout)["profile"]
        self.assertEqual([profile[part + "_precision"] for part in ("vision", "decoder", "head", "kv")],
                         ["bf16 arithmetic, bf16 weights", "int8 arithmetic, q8 weights", "int8 arithmetic, q8 weights",
                          "bf16"])
        result = run("--precision", "decoder=q4,head=q8", "--stats", "--quiet", str(PAGE))
        self.assertIn(b"decoder int8 arithmetic, q4 weights, head int8 arithmetic, q8 weights", result.stderr)

    def test_several_pages_are_one_line_each(self):
        result = run(*QUIET, "--json", str(PAGE), "-", stdin=PAGE_BYTES)
        records = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([record["file"] for record in records], [str(PAGE), "-"])
        self.assertEqual({record["text"] for record in records}, {PAGE_TEXT})

    def test_finish_reason(self):
        record = json.loads(run(*QUIET, "--json", "--max-new-tokens", "3", str(PAGE)).stdout)
        self.assertEqual((record["finish_reason"], len(record["tokens"])), ("length", 3))


class Names(CommandTest):
    def test_names_in_every_writing(self):
        folder = os.fsencode(self.folder)
        for name in ("发票 扫描.png".encode(), "🧾.png".encode(), "é à.png".encode(), b"two  spaces.png", b"dot.",
                     b"[a,b]", b"caf\xe9.png", b"quote\"back\\slash.png", b"%s%n.png"):
            with self.subTest(name):
                path = os.path.join(folder, name)
                with open(path, "wb") as file:
                    file.write(PAGE_BYTES)
                result = run(*QUIET, b"--json", path)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                record = json.loads(result.stdout.decode("utf-8"))
                self.assertEqual(record["file"], path.decode("utf-8", errors="replace"))
                self.assertEqual(record["text"], PAGE_TEXT)
                # In a folder of such a name; as output file, in a header and in an error, byte for byte.
                os.mkdir(path + b"d")
                inside = os.path.join(path + b"d", name)
                os.link(path, inside)
                record = json.loads(run(*QUIET, b"--json", inside).stdout.decode("utf-8"))
                self.assertEqual(record["file"], inside.decode("utf-8", errors="replace"))
                self.assertEqual(run(*QUIET, PAGE, b"--output", path + b".txt").returncode, 0)
                with open(path + b".txt", "rb") as file:
                    self.assertEqual(file.read(), TEXT)
                result = run(*QUIET, path, path + b".missing")
                self.assertTrue(result.stdout.startswith(b"==> " + path + b" <==\n"))
                self.assertIn(path + b".missing", result.stderr)


class OutputFile(CommandTest):
    def test_it_replaces_what_was_there(self):
        path = self.file("answer.txt", b"before")
        path.chmod(0o640)
        result = run(*QUIET, "--output", str(path), str(PAGE))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        self.assertEqual(path.read_bytes(), TEXT)
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertEqual(os.listdir(self.folder), ["answer.txt"])

    def test_a_link_stays_a_link(self):
        target = self.file("target.txt", b"before")
        link = self.folder / "link.txt"
        link.symlink_to(target.name)
        self.assertEqual(run(*QUIET, "--output", str(link), str(PAGE)).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(target.read_bytes(), TEXT)

    def test_a_link_to_nothing_makes_what_it_leads_to(self):
        (self.folder / "there").mkdir()
        (self.folder / "second").symlink_to("there/answer.txt")
        for name, link in (("relative", "second"), ("absolute", self.folder / "second")):
            with self.subTest(name):
                (self.folder / name).symlink_to(link)
                self.assertEqual(run(*QUIET, "--output", str(self.folder / name), str(PAGE)).returncode, 0)
                self.assertTrue((self.folder / name).is_symlink() and (self.folder / "second").is_symlink())
                self.assertEqual((self.folder / "there/answer.txt").read_bytes(), TEXT)
                (self.folder / "there/answer.txt").unlink()
        for name, link, words in (("circle", "circle", "levels of symbolic links"), ("lost", "no/a.txt", "No such")):
            with self.subTest(name):
                (self.folder / name).symlink_to(link)
                self.assert_exit(run(*QUIET, "--output", str(self.folder / name), str(PAGE)), 10, name, words)
                self.assertTrue((self.folder / name).is_symlink())

    def test_several_pages_as_lines_of_json(self):
        path = self.folder / "answer.jsonl"
        self.assertEqual(run(*QUIET, "--json", "--output", str(path), str(PAGE), str(PAGE)).returncode, 0)
        self.assertEqual([json.loads(line)["text"] for line in path.read_bytes().splitlines()], [PAGE_TEXT] * 2)

    def test_a_failed_page_leaves_what_was_there(self):
        path = self.file("answer.txt", b"before")
        self.assert_exit(run(*QUIET, "--output", str(path), str(self.folder / "missing.png")), 3)
        self.assertEqual(path.read_bytes(), b"before")
        self.assertEqual(os.listdir(self.folder), ["answer.txt"])

    def test_of_several_pages_the_good_ones_are_kept(self):
        path = self.folder / "answer.txt"
        self.assert_exit(run(*QUIET, "--output", str(path), str(PAGE), str(self.folder / "missing.png")), 1)
        self.assertTrue(path.read_bytes().endswith(TEXT))

    def test_places_that_cannot_be_written(self):
        for path in (self.folder / "no/folder.txt", self.folder):
            with self.subTest(path):
                self.assert_exit(run(*QUIET, "--output", str(path), str(PAGE)), 10, str(path))

    def test_never_the_picture(self):
        page = self.file("page.png", PAGE_BYTES)
        self.assert_refused(run("--output", str(page), str(page)), str(page), "overwritten")
        self.assertEqual(page.read_bytes(), PAGE_BYTES)


class BrokenOutput(CommandTest):
    def test_full_disk(self):
        for arguments in ((), ("--json",)):
            with open("/dev/full", "wb") as full:
                result = run(*QUIET, *arguments, str(PAGE), stdout=full)
            self.assert_exit(result, 10, "standard output", "No space left")
        self.assert_exit(run(*QUIET, "--output", "/dev/full", str(PAGE)), 10, "/dev/full", "No space left")
        self.assertTrue(os.path.exists("/dev/full"))
        with open("/dev/full", "wb") as full:
            self.assert_exit(run("--help", stdout=full), 10, "No space left")

    def test_file_size_limit(self):
        path = self.folder / "answer.txt"
        result = run(*QUIET, "--output", path, str(PAGE),
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assert_exit(result, 10, str(path), "File too large")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_closed_pipe(self):
        for arguments in ((), ("--json",)):
            reader, writer = os.pipe()
            os.close(reader)
            try:
                result = run(*QUIET, *arguments, str(PAGE), stdout=writer)
            finally:
                os.close(writer)
            self.assertEqual((result.returncode, result.stderr), (141, b""))

    def test_closed_standard_output(self):
        process = subprocess.run(["sh", "-c", '"$0" --quiet "$1" >&-', PROGRAM, str(PAGE)], stderr=subprocess.PIPE,
                                 timeout=60, check=False, env=environment())
        self.assert_exit(process, 10, "standard output")


class Progress(CommandTest):
    """Only a terminal sees it."""

    def terminal_text(self, *arguments):
        controller, terminal = pty.openpty()
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=terminal,
                                   env=environment())
        os.close(terminal)
        text = b""
        try:
            while piece := os.read(controller, 65536):
                text += piece
        except OSError:  # how Linux says that the other side is closed
            pass
        os.close(controller)
        self.assertEqual(process.wait(timeout=30), 0)
        return text

    def test_it_is_shown_and_removed(self):
        text = self.terminal_text(str(PAGE))
        self.assertIn(b"\r\x1b[K" + PAGE.name.encode() + b": ", text)
        self.assertTrue(text.endswith(b"\r\x1b[K"))

    def test_quiet(self):
        self.assertEqual(self.terminal_text(*QUIET, str(PAGE)), b"")


if __name__ == "__main__":
    unittest.main()
