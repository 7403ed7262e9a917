"""Failures one by one: which exit code, what stderr names, and what a batch does about a bad page."""
import json
import struct
import unittest

from command import PAGE, PAGE_TEXT, QUIET, CommandTest, png_bytes, run

TEXT = PAGE_TEXT.encode() + b"\n"


class BadPictures(CommandTest):
    def check(self, path, code, *words):
        result = run(*QUIET, str(path))
        self.assert_exit(result, code, str(path), *words)
        self.assertEqual(result.stdout, b"")
        return result

    def test_missing(self):
        self.check(self.folder / "missing.png", 3)

    def test_dangling_link(self):
        path = self.folder / "link.png"
        path.symlink_to("nowhere.png")
        self.check(path, 3)

    def test_folder(self):
        path = self.folder / "folder.png"
        path.mkdir()
        self.check(path, 3)

    def test_empty_file(self):
        self.check(self.file("empty.png", b""), 4)

    def test_text_file(self):
        self.check(self.file("text.png", b"This is no picture.\n"), 5)

    def test_other_picture_format_is_named(self):
        avif = struct.pack(">I", 28) + b"ftypavif" + bytes(16)
        result = self.check(self.file("really_avif.jpg", avif), 5)
        self.assertIn(b"avif", result.stderr.lower())

    def test_cut_picture(self):
        self.check(self.file("cut.png", PAGE.read_bytes()[:1000]), 4)
        self.check(self.file("signature.png", PAGE.read_bytes()[:8]), 4)

    def test_too_narrow(self):
        self.check(self.file("narrow.png", png_bytes(2010, 10)), 5)


class BadModels(CommandTest):
    def check(self, folder, code, *words):
        result = run("--threads", "1", "--model", str(folder), str(PAGE))
        self.assert_exit(result, code, *words)
        self.assertEqual(result.stdout, b"")

    def test_missing_folder(self):
        self.check(self.folder / "nothing", 3, "nothing")

    def test_a_file_as_folder(self):
        self.check(PAGE, 3, PAGE.name, "folder")

    def test_empty_folder(self):
        self.check(self.folder, 3, "config.json")

    def test_missing_weights(self):
        self.check(self.model_with(model=None), 3, "safetensors")

    def test_malformed_config(self):
        self.check(self.model_with(config=b"{"), 4, "config.json")

    def test_other_model_type(self):
        self.check(self.model_with(config={"model_type": "bert"}), 5, "model_type", "bert")

    def test_config_and_weights_disagree(self):
        config = json.loads((self.model_with() / "config.json").read_text())
        text = config["text_config"] | {"intermediate_size": config["text_config"]["intermediate_size"] + 64}
        self.check(self.model_with(config={"text_config": text}), 6)

    def test_cut_weights(self):
        self.check(self.model_with(model=b"\x10\0\0\0\0\0\0\0{"), 4, "safetensors")


class Limits(CommandTest):
    def test_memory(self):
        result = run(*QUIET, "--memory-limit", "1M", str(PAGE))
        self.assert_exit(result, 7)
        self.assertEqual(result.stdout, b"")

    def test_context(self):
        # The nano's tokenizer takes digits one by one.
        result = run(*QUIET, "--prompt", "7" * 100000, str(PAGE))
        self.assert_exit(result, 8)


class Batch(CommandTest):
    def setUp(self):
        super().setUp()
        self.bad = self.file("bad.png", b"")

    def test_a_bad_page_does_not_end_the_rest(self):
        result = run(*QUIET, str(PAGE), str(self.bad), str(PAGE))
        self.assert_exit(result, 1, str(self.bad))
        header = b"==> " + str(PAGE).encode() + b" <==\n"
        self.assertEqual(result.stdout, header + TEXT + b"\n" + header + TEXT)
        self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_a_bad_first_page(self):
        result = run(*QUIET, str(self.bad), str(PAGE))
        self.assert_exit(result, 1, str(self.bad))
        self.assertEqual(result.stdout, b"==> " + str(PAGE).encode() + b" <==\n" + TEXT)

    def test_json_says_what_failed(self):
        result = run(*QUIET, "--json", str(self.bad), str(PAGE))
        self.assert_exit(result, 1)
        bad, good = map(json.loads, result.stdout.splitlines())
        self.assertEqual(bad["file"], str(self.bad))
        self.assertEqual(bad["error"]["code"], "malformed")
        self.assertEqual(set(bad["error"]), {"code", "stage", "subject", "message"})
        self.assertEqual(good["text"], PAGE_TEXT)

    def test_only_bad_pages(self):
        result = run(*QUIET, str(self.bad), str(self.bad))
        self.assert_exit(result, 1)
        self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    unittest.main()
