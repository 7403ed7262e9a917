"""The subcommand check: models that pass, and damaged copies, each with the item that must find the damage."""
import json
import os
import unittest

from command import NANO, TINY, CommandTest, environment, run
from models import nan_in, tiny_model, tiny_tensors, tokenizer_with

SHARD = "model-00002-of-00002.safetensors"
ITEMS = ["files", "config.json", "version", "generation_config.json", "preprocessor_config.json", "tasks",
         "tokenizer.json", "tensors", "finite weights", "fingerprint", "load", "memory", "probe picture"]


def without_a_token(tokenizer):
    """Another vocabulary: the token that stands for the picture has another name, and is a word."""
    for token in tokenizer["added_tokens"]:
        if token["id"] == 1009:
            token |= {"content": "<|image_pad|>", "special": False}


class WholeModels(CommandTest):
    def test_lines(self):
        result = run("check", "--threads", "1", NANO)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        lines = result.stdout.decode().splitlines()
        self.assertEqual([line[:8] for line in lines], ["ok      "] * len(ITEMS))
        self.assertEqual([line[8:].split(": ")[0] for line in lines], ITEMS)
        self.assertIn("8192", lines[2])
        self.assertRegex(lines[9], r": [0-9a-f]{32}$")
        self.assertRegex(lines[11], r": \d+ MiB for a page of \d+ pixels")
        self.assertIn("grid 32x32, 274 visual tokens", lines[12])

    def test_json(self):
        result = run("check", "--threads", "1", "--json", TINY)
        self.assertEqual((result.returncode, result.stderr, result.stdout.count(b"\n")), (0, b"", 1))
        report = json.loads(result.stdout)
        self.assertEqual(list(report), ["model", "passed", "items", "version", "fingerprint", "memory_bytes"])
        self.assertEqual((report["model"], report["passed"], report["version"]), (str(TINY), True, "unknown"))
        self.assertEqual([item["name"] for item in report["items"]], ITEMS)
        self.assertTrue(all(item["passed"] and item["detail"] for item in report["items"]))
        self.assertRegex(report["fingerprint"], r"\A[0-9a-f]{32}\Z")
        self.assertGreater(report["memory_bytes"], 1 << 20)

    def test_the_fingerprint_is_that_of_the_weights(self):
        def fingerprint(folder):
            return json.loads(run("check", "--json", "--threads", "1", folder).stdout)["fingerprint"]

        tensors = tiny_tensors()
        whole = fingerprint(TINY)
        self.assertEqual(fingerprint(tiny_model(self.folder, dict(reversed(tensors.items())))), whole)
        kind, shape, content = tensors["model.norm.weight"]
        changed = {"model.norm.weight": (kind, shape, bytes([content[0] ^ 1]) + content[1:])}
        self.assertNotEqual(fingerprint(tiny_model(self.folder, tensors | changed)), whole)

    def test_released_versions_are_told_apart(self):
        for positions, version in ((32768, "1.0"), (131072, "1.5"), (40000, "unknown")):
            folder = tiny_model(self.folder, config={"max_position_embeddings": positions})
            report = json.loads(run("check", "--json", "--threads", "1", folder).stdout)
            self.assertEqual((report["passed"], report["version"]), (True, version))

    def test_where_the_model_is_named(self):
        for arguments, variables in ((("--model", TINY), {}), ((), {"HUNYUAN_OCR_MODEL": str(TINY)})):
            result = run("check", "--json", "--threads", "1", *arguments, env=environment(**variables))
            self.assertEqual(json.loads(result.stdout)["model"], str(TINY))
        self.assert_exit(run("check", "--threads", "1"), 0, "demonstration model")

    def test_output(self):
        path = self.folder / "report.txt"
        self.assertEqual(run("check", "--quiet", "--threads", "1", "--output", path, TINY).returncode, 0)
        self.assertEqual(path.read_bytes(), b"")
        self.assertEqual(run("check", "--quiet", "--output", path, self.folder).returncode, 12)
        self.assertTrue(path.read_bytes().startswith(b"FAILED  files: "))
        with open("/dev/full", "wb") as full:
            self.assert_exit(run("check", "--threads", "1", TINY, stdout=full), 10, "No space left")


class DamagedModels(CommandTest):
    def check(self, folder, item, *words):
        """The last item is the one that failed; all of `words` are in it and on one line of stderr."""
        with self.subTest(item + str(words)):
            result = run("check", "--json", "--threads", "1", folder)
            self.assert_exit(result, 12, str(folder), item, *words)
            report = json.loads(result.stdout)
            self.assertFalse(report["passed"])
            self.assertEqual([entry["name"] for entry in report["items"] if not entry["passed"]], [item])
            self.assertEqual(report["items"][-1]["name"], item)

    def test_each(self):
        self.check(self.folder / "nothing", "files")
        self.check(self.folder, "files", "config.json", "tokenizer.json", "download")
        self.check(tiny_model(self.folder, config=b"{}"), "config.json", "model_type")
        self.check(tiny_model(self.folder, generation_config=b"["), "generation_config.json")
        self.check(tiny_model(self.folder, generation_config={"eos_token_id": 9999}), "generation_config.json",
                   "eos_token_id", "9999", "1023")
        self.check(tiny_model(self.folder, preprocessor_config={"merge_size": 4}), "preprocessor_config.json",
                   "merge_size", "4", "2")
        self.check(tiny_model(self.folder, config={"image_token_id": 5}), "tokenizer.json", "image_token_id", "5")
        self.check(tiny_model(self.folder, tokenizer=tokenizer_with(without_a_token)), "tokenizer.json",
                   "image_token_id", "1009")
        tensors = tiny_tensors()
        del tensors["vit.layers.2.self_attn.q_proj.bias"]
        self.check(tiny_model(self.folder, tensors), "tensors", "layers.2.self_attn.q_proj.bias", "1 of 119")
        self.check(tiny_model(self.folder, config={"intermediate_size": 144}), "tensors", "mlp.gate_proj.weight",
                   "[136, 80]", "[144, 80]")
        self.check(tiny_model(self.folder, **{SHARD: (TINY / SHARD).read_bytes()[:-1]}), "tensors", SHARD)
        self.check(tiny_model(self.folder, **{SHARD: None}), "tensors", SHARD, "download")
        self.check(tiny_model(self.folder, nan_in("model.embed_tokens.weight")), "finite weights",
                   "embed_tokens.weight", "element 7 of 81920")
        self.check(tiny_model(self.folder, nan_in("vit.layers.0.input_layernorm.weight")), "finite weights",
                   "layer_norm1.weight", "element 7 of 72")

    def test_numbers_that_overflow(self):
        """Finite weights that no network has: only the probe picture can tell."""
        tensors = tiny_tensors()
        for layer in (1, 2):
            name = f"vit.layers.{layer}.mlp.dense_4h_to_h.bias"
            _, shape, _ = tensors[name]
            tensors[name] = ("F32", shape, b"\xff\xff\x7f\x7f" * shape[0])  # the largest; their sum is infinite
        self.check(tiny_model(self.folder, tensors), "probe picture", "vision_layer_last")


class Names(CommandTest):
    def test_names_in_every_writing(self):
        for name in ("模型 📁 é.".encode(), b"caf\xe9"):
            path = os.path.join(os.fsencode(self.folder), name)
            os.symlink(TINY, path)
            result = run("check", b"--json", b"--threads", b"1", path)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(json.loads(result.stdout)["model"], path.decode("utf-8", errors="replace"))


if __name__ == "__main__":
    unittest.main()
