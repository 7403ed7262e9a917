"""The command inkstone and its subcommand bench: what is printed, what is refused. No time is asserted."""
import json
import signal
import subprocess
import time
import unittest

from command import INKSTONE, NANO, TINY, CommandTest, environment

HEADLINE = ["decode_tokens_per_s", "decode_bandwidth_share", "prefill_tokens_per_s", "gemm_peak_share"]


def run(*arguments, **options):
    options.setdefault("env", environment())
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([INKSTONE, *arguments], stderr=subprocess.PIPE, timeout=120, check=False, **options)


class Bench(CommandTest):
    def test_json(self):
        result = run("bench", TINY, "--quick", "--json", "--threads", "1,2", "--context=40,9", "--picture", "64x64,96x64")
        self.assertEqual((result.returncode, result.stderr, result.stdout.count(b"\n")), (0, b"", 1))
        report = json.loads(result.stdout)
        self.assertEqual(list(report), ["machine", "formats", "model"])
        self.assertEqual(report["model"], str(TINY))
        self.assertEqual([limit["threads"] for limit in report["machine"]["limits"]], [1, 2])
        for limit in report["machine"]["limits"]:
            bandwidth = limit["bandwidth_gb_per_s"]
            self.assertGreater(bandwidth["median"], 0)
            self.assertGreaterEqual(bandwidth["best"], bandwidth["median"])
            self.assertIn("pages", bandwidth["pattern"])
            self.assertGreater(limit["arithmetic_gop_per_s"]["f32"]["median"], 0)
        self.assertEqual(list(report["formats"])[0], "f32")
        for name, figures in report["formats"].items():
            with self.subTest(name):
                self.assertEqual(list(figures)[:4], HEADLINE)
                for key in HEADLINE:
                    self.assertGreater(figures[key], 0)
                self.check_parts(figures)

    def check_parts(self, figures):
        order = [(1, 40), (1, 9), (2, 40), (2, 9)]
        self.assertEqual([(work["threads"], work["tokens"]) for work in figures["prefill"]], order)
        self.assertEqual([(work["threads"], work["context"]) for work in figures["decode"]], order)
        self.assertEqual([work["threads"] for work in figures["products"]], [1, 2])
        self.assertEqual([work["threads"] for work in figures["vision"]], [1, 1, 2, 2])
        for work in figures["decode"]:
            self.assertEqual(work["bytes"],
                             figures["token_weight_bytes"] + (work["context"] + 1) * figures["position_bytes"])
            self.assertAlmostEqual(work["gb_per_s"], work["bytes"] / work["median_ms"] / 1e6)
            self.assertAlmostEqual(work["bandwidth_share"], work["gb_per_s"] / work["bandwidth_gb_per_s"]["median"])
            self.assertEqual(list(work["stages_ms"]), ["embed", "decoder", "lm_head", "between_stages"])
        for part in ("products", "vision", "prefill"):
            for work in figures[part]:
                self.assertAlmostEqual(work["gflop_per_s"], work["operations"] / work["median_ms"] / 1e6)
                self.assertAlmostEqual(work["peak_share"], work["gflop_per_s"] / work["peak_gflop_per_s"]["median"])
        first = figures["decode"][0]
        self.assertEqual(figures["decode_tokens_per_s"], first["tokens_per_s"])
        self.assertEqual(figures["decode_bandwidth_share"], first["bandwidth_share"])
        self.assertEqual(figures["prefill_tokens_per_s"], figures["prefill"][0]["rows_per_s"])
        self.assertEqual(figures["gemm_peak_share"], figures["products"][0]["peak_share"])

    def test_text_and_where_the_model_is_named(self):
        for arguments, variables, model in (((), {}, NANO), ((), {"HUNYUAN_OCR_MODEL": str(TINY)}, TINY),
                                            ((TINY,), {"HUNYUAN_OCR_MODEL": str(NANO)}, TINY)):
            with self.subTest(model=model):
                result = run("bench", "--quick", "--threads", "1", "--context", "8", "--picture", "64x64", *arguments,
                             env=environment(**variables))
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                text = result.stdout.decode()
                self.assertTrue(text.startswith(f"{model}\n"), text)
                for words in ("machine, 1 threads", "products 512 rows", "vision ", "prefill  8 tokens",
                              "decode   after 8", "lm_head"):
                    self.assertIn(words, text)

    def test_machine_alone(self):
        result = run("bench", "--machine", "--quick", "--json", "--threads=2")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        report = json.loads(result.stdout)
        self.assertEqual((list(report), report["formats"]), (["machine", "formats"], {}))
        self.assertEqual([limit["threads"] for limit in report["machine"]["limits"]], [2])
        self.assertGreater(report["machine"]["limits"][0]["bandwidth_gb_per_s"]["median"], 0)

    def test_stopped(self):
        with subprocess.Popen([INKSTONE, "bench", NANO], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stdout, stderr), (130, b"", b""))


class Refusals(CommandTest):
    def test_each(self):
        for arguments, *words in (
                ((), "no subcommand"),
                (("chat",), "chat", "bench"),
                (("--json",), "--json", "bench"),
                (("bench", "--jsn"), "--jsn", "--json"),
                (("bench", "--json=1"), "--json", "no value"),
                (("bench", "--json", "--json"), "--json", "more than once"),
                (("bench", "a", "b"), "one model", "a", "b"),
                (("bench", ""), "empty"),
                (("bench", "--threads"), "--threads", "no value"),
                (("bench", "--threads", "--json"), "--threads", "no value"),
                (("bench", "--threads", "0"), "--threads", "1024"),
                (("bench", "--threads", "1,"), "--threads", "1024"),
                (("bench", "--context=x"), "--context", "x"),
                (("bench", "--picture", "512"), "--picture", "512"),
                (("bench", "--picture", "512x0"), "--picture", "512x0"),
                (("bench", "--machine", "a"), "--machine", "no model"),
                (("bench", "--machine", "--context", "3"), "--machine", "--context"),
                (("bench", "--precision", "f32,q3"), "--precision", "q3", "f32")):
            with self.subTest(arguments):
                self.assert_refused(run(*arguments), "inkstone: ", *words)

    def test_model(self):
        self.assert_exit(run("bench", self.folder), 3, "inkstone: ", "config.json")
        self.assert_exit(run("bench", TINY, "--context", "2048"), 8, "2048")

    def test_help_and_version(self):
        self.assertIn(b"bench", run("--help").stdout)
        self.assertRegex(run("--version").stdout, rb"\Ainkstone \d+\.\d+\.\d+\n\Z")
        result = run("bench", "--help")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        for option in (b"--quick", b"--json", b"--threads", b"--context", b"--precision", b"--picture"):
            self.assertIn(option, result.stdout)


if __name__ == "__main__":
    unittest.main()
