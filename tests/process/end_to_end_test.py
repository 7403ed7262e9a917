"""The fixed end-to-end case: a 512 x 512 page; grid, tokens, text and public state as the official class has them."""
import json
import unittest

from command import NANO, QUIET, SOURCE, CommandTest, run

CASE = json.loads((SOURCE / "tests/golden/end_to_end/nano.json").read_text(encoding="utf-8"))


class EndToEnd(CommandTest):
    def read(self, max_new_tokens):
        result = run(*QUIET, "--json", "--model", str(NANO), "--prompt", CASE["prompt"],
                     "--repetition-penalty", str(CASE["repetition_penalty"]), "--max-new-tokens", str(max_new_tokens),
                     str(SOURCE / CASE["image_file"]))
        self.assert_exit(result, 0)
        return json.loads(result.stdout)

    def test_whole_answer(self):
        page = self.read(CASE["max_new_tokens"])
        self.assertEqual(page["image"]["grid"], [32, 32])
        self.assertEqual(page["image"]["visual_tokens"], 274)
        self.assertEqual(page["tokens"][0], CASE["first_id"])
        for key in ("tokens", "text", "finish_reason", "state"):
            self.assertEqual(page[key], CASE[key], key)

    def test_cut_answer(self):
        # The last token is chosen but not fed to the model: the cache is one shorter than the sequence.
        page = self.read(max_new_tokens=3)
        self.assertEqual(page["tokens"], CASE["tokens"][:3])
        self.assertEqual(page["finish_reason"], "length")
        length = CASE["state"]["sequence_length"] - len(CASE["tokens"]) + 3
        self.assertEqual(page["state"], {"sequence_length": length, "position": length,
                                         "current_token": CASE["tokens"][2], "target_cache_length": length - 1,
                                         "draft_cache_length": 0})


if __name__ == "__main__":
    unittest.main()
