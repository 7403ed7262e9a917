"""Every file of a model cut at many points: an error that names the file, never a crash and never an answer."""
import shutil
import unittest

from command import NANO, PAGE, QUIET, TINY, CommandTest, run

CUTS = 12


class DamagedFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        shutil.copytree(TINY, self.model)
        shutil.copy(NANO / "tasks.json", self.model)

    def check_cuts(self, name, cuts):
        path = self.model / name
        content = path.read_bytes()
        whole = len(content.rstrip())
        for i in range(cuts):
            kept = i * (whole - 1) // (cuts - 1)
            with self.subTest(f"{name} cut at {kept} of {len(content)}"):
                path.write_bytes(content[:kept])
                result = run(*QUIET, "--model", self.model, PAGE)
                self.assert_exit(result, 4, "hunyuan-ocr: ", name)
                self.assertEqual(result.stdout, b"")
        path.write_bytes(content)

    def test_cut_json(self):
        for name in ("config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json",
                     "tasks.json", "model.safetensors.index.json"):
            self.check_cuts(name, CUTS)
        self.assertEqual(run(*QUIET, "--model", self.model, PAGE).returncode, 0)

    def test_cut_weights(self):
        self.check_cuts("model-00001-of-00002.safetensors", 2 * CUTS)
        self.check_cuts("model-00002-of-00002.safetensors", 2 * CUTS)

    def test_longer_weights(self):
        with open(self.model / "model-00002-of-00002.safetensors", "ab") as file:
            file.write(bytes(1000))
        self.assert_exit(run(*QUIET, "--model", self.model, PAGE), 4, "model-00002-of-00002.safetensors")

    def test_other_lengths_of_the_header(self):
        path = self.model / "model-00001-of-00002.safetensors"
        content = path.read_bytes()
        for length in (0, 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 8, 2**64 - 1):
            with self.subTest(length):
                path.write_bytes(length.to_bytes(8, "little") + content[8:])
                self.assert_exit(run(*QUIET, "--model", self.model, PAGE), 4, path.name)


if __name__ == "__main__":
    unittest.main()
