"""Every class of failure as a process: exit code, what stderr and JSON name, and what a batch does about a bad page."""
import json
import re
import struct
import unittest

from command import PAGE, PAGE_TEXT, QUIET, SOURCE, TINY, CommandTest, png_bytes, run
from models import nan_in, tiny_model, tiny_tensors, tokenizer_with

TEXT = PAGE_TEXT.encode() + b"\n"
SHARD = "model-00001-of-00002.safetensors"
HUGE = png_bytes(10, 10)[:16] + struct.pack(">II", 100000, 100000) + png_bytes(10, 10)[24:]


def page(name, content):
    """A case of a picture with this content, read with the tiny model."""
    return lambda test: ["--model", TINY, test.file(name, content)]


def package(**change):
    """A case of a good picture and a changed tiny model."""
    return lambda test: ["--model", tiny_model(test.folder, **change), PAGE]


def without(name):
    return {key: tensor for key, tensor in tiny_tensors().items() if key != name}


def renamed(tokenizer):
    for token in tokenizer["added_tokens"]:
        if token["id"] == 1003:
            token["content"] = "<|im_end|>"


def given(*arguments):
    return lambda test: arguments


def in_folder(*arguments):
    return lambda test: [test.folder / a[1:] if str(a).startswith("@") else a for a in arguments]


# What goes wrong; exit code; code in JSON when it is a page that fails; words of one line of stderr: the file, key or
# tensor, what was found and expected, the remedy.
FAILURES = (
    ("unknown option", 2, None, ("--max-pixel;", "--max-pixels?"), given("--max-pixel", "3", PAGE)),
    ("number out of range", 2, None, ("--min-pixels 0", "1 to"), given("--min-pixels", "0", PAGE)),
    ("task that the model has not", 2, None, ("formule", "formula"), given("--model", TINY, "--task", "formule", PAGE)),
    ("output over a file of the model", 2, None, ("config.json", "file of the model"),
     lambda test: (lambda folder: ["--model", folder, "--output", folder / "config.json", PAGE])(tiny_model(test.folder))),
    ("control characters in a name", 3, None, ("no\\x1b[31mx\\x0ay",), in_folder("--model", "@no\x1b[31mx\ny", PAGE)),
    ("missing picture", 3, "not_found", ("@missing.png",), in_folder("--model", TINY, "@missing.png")),
    ("folder as picture", 3, "io", ("@", "directory"), in_folder("--model", TINY, "@")),
    ("standard input as a path", 3, "io", ("/dev/stdin", "pipe", "give -"), given("--model", TINY, "/dev/stdin")),
    ("device as picture", 3, "io", ("/dev/null", "device", "give -"), given("--model", TINY, "/dev/null")),
    ("missing model", 3, None, ("@nothing", "config.json"), in_folder("--model", "@nothing", PAGE)),
    ("file as model", 3, None, (PAGE.name, "folder"), given("--model", PAGE, PAGE)),
    ("folder without a model", 3, None, ("@config.json",), in_folder("--model", "@", PAGE)),
    ("missing tokenizer", 3, None, ("tokenizer.json",), package(tokenizer=None)),
    ("missing shard", 3, None, (SHARD, "2 shards", "download"), package(**{SHARD: None})),
    ("missing tensor", 3, None, ("layers.2.mlp.up_proj.weight", "1 of 119", "download"),
     package(tensors=without("model.layers.2.mlp.up_proj.weight"))),
    ("missing key", 3, None, ("config.json", "hidden_size"), package(config={"hidden_size": None})),
    ("tokenizer of another family", 3, None, ("hy_User", "tokenizer.json"), package(tokenizer=tokenizer_with(renamed))),
    ("empty picture", 4, "malformed", ("@empty.png", "0 bytes"), page("empty.png", b"")),
    ("cut picture", 4, "malformed", ("@cut.png", "cut short"), page("cut.png", PAGE.read_bytes()[:1000])),
    ("picture of only a signature", 4, "malformed", ("@s.png",), page("s.png", PAGE.read_bytes()[:8])),
    ("wrong checksum", 4, "malformed", ("@huge.png", "CRC"), page("huge.png", HUGE)),
    ("config is no JSON", 4, None, ("config.json",), package(config=b"{")),
    ("byte order mark in config.json", 4, None, ("config.json", "byte order mark", "without one"),
     package(config=b"\xef\xbb\xbf" + (TINY / "config.json").read_bytes())),
    ("byte order mark in tokenizer.json", 4, None, ("tokenizer.json", "byte order mark", "without one"),
     package(tokenizer=b"\xef\xbb\xbf" + (TINY / "tokenizer.json").read_bytes())),
    ("cut weights", 4, None, (SHARD, "vit.perceive.proj.2.weight", "673536", "673436", "get the file again"),
     package(**{SHARD: (TINY / SHARD).read_bytes()[:-100]})),
    ("weights are no safetensors", 4, None, ("model.safetensors",), package(**{"model.safetensors": b"\1" * 99})),
    ("id outside the vocabulary", 4, None, ("image_token_id", "4096", "1023"), package(config={"image_token_id": 4096})),
    ("text as picture", 5, "unsupported", ("@a.png", "54 68 69 73", "PNG"), page("a.png", b"This is no picture.\n")),
    ("HEIC", 5, "unsupported", ("@a.jpg", "HEIC", "convert"), page("a.jpg", b"\0\0\0\x18ftypheic" + bytes(64))),
    ("AVIF", 5, "unsupported", ("@a.png", "AVIF", "convert"), page("a.png", b"\0\0\0\x18ftypavif" + bytes(64))),
    ("JPEG XL", 5, "unsupported", ("@a.png", "JPEG XL", "convert"), page("a.png", b"\xff\x0a" + bytes(64))),
    ("PDF", 5, "unsupported", ("@a.png", "PDF", "pdftoppm"), page("a.png", b"%PDF-1.7\n" + bytes(64))),
    ("too narrow", 5, "unsupported", ("@narrow.png", "201.00 : 1", "200 : 1", "cut"),
     page("narrow.png", png_bytes(2010, 10))),
    ("another kind of model", 5, None, ("model_type", "qwen2_vl", "hunyuan_vl"),
     package(config={"model_type": "qwen2_vl"})),
    ("moving pictures", 5, None, ("preprocessor_config.json", "temporal_patch_size", "2", "expected 1"),
     package(preprocessor_config={"temporal_patch_size": 2})),
    ("weights of integers", 5, None, (": model.norm.weight:", "I32", "BF16"),
     package(tensors=tiny_tensors() | {"model.norm.weight": ("I32", [80], bytes(320))})),
    ("shape and config disagree", 6, None, ("mlp.gate_proj.weight", "[136, 80]", "[144, 80]", "config.json"),
     package(config={"intermediate_size": 144})),
    ("heads that do not divide", 6, None, ("num_attention_heads", "5", "num_key_value_heads 2"),
     package(config={"num_attention_heads": 5})),
    ("preprocessing of another model", 6, None, ("preprocessor_config.json", "patch_size", "14", "16"),
     package(preprocessor_config={"patch_size": 14})),
    ("model over the memory limit", 7, None, ("2 MiB", "limit of 1 MiB", "raise"),
     given("--model", TINY, "--memory-limit", "1M", PAGE)),
    ("model over a limit of bytes", 7, None, ("limit of 1 byte", "--memory-limit"),
     given("--model", TINY, "--memory-limit", "1", PAGE)),
    ("picture whose pixels pass the memory limit", 7, "out_of_memory",
     ("@wide.png", "4000 x 3000 pixels 35 MiB", "limit of 8 MiB", "--memory-limit"),
     lambda test: ["--memory-limit", "8M", *page("wide.png", png_bytes(4000, 3000))(test)]),
    ("file that passes the memory limit", 7, "out_of_memory", ("@long.png", "its file 10 MiB)", "limit of 8 MiB"),
     lambda test: ["--memory-limit", "8M", *page("long.png", PAGE.read_bytes() + bytes(9 << 20))(test)]),
    ("page over the memory limit", 7, "out_of_memory", ("keys and values 5 MiB", "limit of 4 MiB", "max_pixels"),
     given("--model", TINY, "--memory-limit", "4M", PAGE)),
    ("page beyond the context", 8, "context_full", ("@big.png", "8345 tokens", "2048", "max_pixels"),
     lambda test: ["--max-pixels", "9000000", *page("big.png", png_bytes(2550, 3301))(test)]),
    ("prompt beyond the context", 8, "context_full", ("3028 tokens", "2048", "prompt"),
     given("--model", TINY, "--prompt", "7" * 3000, PAGE)),
    ("NaN in the embedding", 9, "numeric", ("logits", "NaN", "weights"),
     package(tensors=nan_in("model.embed_tokens.weight"))),
    ("NaN in the vision tower", 9, "numeric", ("logits", "NaN", "weights"),
     package(tensors=nan_in("vit.layers.1.mlp.dense_h_to_4h.weight"))),
    ("no folder for the output", 10, None, ("@no/a.txt",), in_folder("--output", "@no/a.txt", PAGE)),
    ("full disk", 10, None, ("/dev/full", "No space left"), given("--model", TINY, "--output", "/dev/full", PAGE)),
)


class Failures(CommandTest):
    def test_each(self):
        page_text = (SOURCE / "docs/errors.md").read_text(encoding="utf-8")
        documented = {int(code): json_codes
                      for code, json_codes in re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", page_text, re.M)}
        for name, code, json_code, words, arguments in FAILURES:
            with self.subTest(name):
                words = [str(self.folder / word[1:]) if word.startswith("@") else word for word in words]
                result = run(*QUIET, "--json", *arguments(self))
                self.assert_exit(result, code, *words)
                self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
                self.assertTrue(result.stderr.startswith(b"hunyuan-ocr: "))
                if json_code is None:
                    self.assertEqual(result.stdout, b"")
                else:
                    self.assertEqual(json.loads(result.stdout)["error"]["code"], json_code)
                    self.assertIn(f"`{json_code}`", documented[code])

    def test_every_class_is_here(self):
        # 11 cannot be caused; 12 is in check_test.py, 129, 130, 141 and 143 are in signals_test.py and output_test.py.
        self.assertEqual({code for _, code, *_ in FAILURES}, set(range(2, 11)))


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
        dangling = self.folder / "link.png"
        dangling.symlink_to("nowhere.png")
        result = run(*QUIET, str(self.bad), str(dangling))
        self.assert_exit(result, 1, str(dangling))
        self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    unittest.main()
