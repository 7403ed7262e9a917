"""The comparison with peers, as far as it needs none of them: the table, and the chain that stands for the decoder."""

import json
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))

import compare  # noqa: E402
import ncnn_worker  # noqa: E402
from common import Figure, Run, Settings  # noqa: E402


def settings(*stages: str) -> Settings:
    nowhere = Path("nowhere")
    return Settings(work=nowhere, model=nowhere, inkstone=nowhere, python=nowhere, threads=2, tokens=304, repeats=3,
                    stages=stages, jobs=1)


def run(system: str, seconds: list[float], before: float, after: float, stage: str = "decode") -> Run:
    return Run(system, "f32", {stage: Figure(stage, seconds)}, before, after)


class Table(unittest.TestCase):
    def cells(self, text: str, system: str) -> list[str]:
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {system} ")]
        return [cell.strip() for cell in line.strip("|").split("|")]

    def test_ratios_are_of_medians(self):
        text = compare.table(settings("decode"), [run("inkstone", [0.1, 0.3, 0.05], 40, 41),
                                                  run("slow", [0.2, 0.25, 0.9], 39, 42)])
        self.assertEqual(self.cells(text, "inkstone")[2:5], ["10.0 tokens/s", "", "40 → 41"])
        self.assertEqual(self.cells(text, "slow")[2:5], ["4.0 tokens/s", "2.50", "39 → 42"])

    def test_another_state_of_the_machine_is_bracketed(self):
        for before, after in ((30, 40), (40, 30), (30, 30)):
            text = compare.table(settings("decode"), [run("inkstone", [0.1], 40, 40), run("peer", [0.2], before, after)])
            self.assertEqual(self.cells(text, "peer")[3], "(2.00)")

    def test_what_could_not_be_measured_is_said(self):
        broken = Run("broken", "bf16", problem="its program is not there")
        text = compare.table(settings("vision"), [run("inkstone", [2.0], 40, 40, "vision"), broken])
        self.assertIn("broken bf16: its program is not there", text)
        self.assertEqual(sum(line.startswith("| broken") for line in text.splitlines()), 0)


class NcnnChain(unittest.TestCase):
    def test_has_the_decoder_s_weights(self):
        config = json.loads((ROOT / "models" / "nano" / "config.json").read_text(encoding="utf-8"))
        config = config.get("text_config", config)
        hidden, layers = config["hidden_size"], config["num_hidden_layers"]
        heads, key_heads, size = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
        layer = hidden * size * (2 * heads + 2 * key_heads) + 3 * hidden * config["intermediate_size"]
        for rows, head in ((1, True), (304, False)):
            lines, sides = ncnn_worker.network(config, rows, head)
            expected = layers * layer + (hidden * config["vocab_size"] if head else 0)
            self.assertEqual(sum(inputs * outputs for inputs, outputs in sides), expected)
            # Every blob that a line reads was written by an earlier one.
            written = set()
            for line in lines:
                words = line.split()
                inputs, outputs = int(words[2]), int(words[3])
                self.assertLessEqual(set(words[4 : 4 + inputs]), written, line)
                written |= set(words[4 + inputs : 4 + inputs + outputs])


if __name__ == "__main__":
    unittest.main()
