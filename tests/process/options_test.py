"""The command line: what is accepted, what is refused and in which words. No test here loads a model for long."""
import json
import re
import unittest

from command import NANO, PAGE, QUIET, SOURCE, TINY, CommandTest, environment, run

PAGE = str(PAGE)


class Refusals(CommandTest):
    def test_options_of_later_versions_are_refused_by_name(self):
        for option in ("--device", "--memory", "--cache-dir", "--mmap", "--prefix-cache-dir", "--format"):
            with self.subTest(option):
                self.assert_refused(run(option, "1", PAGE), option, "not in this version")
                self.assert_refused(run(option + "=1", PAGE), option, "not in this version")
        for option in ("--dflash", "--prefix-cache"):
            with self.subTest(option):
                self.assert_refused(run(PAGE, option), option, "not in this version")

    def test_values_of_later_versions_are_refused_by_name(self):
        for option, now, values in (("--backend", "cpu", ("vulkan", "auto")),
                                    ("--precision", "f32, bf16", ("mixed", "auto", "vision=bf16,kv=q8", "vision=q4")),
                                    ("--strategy", "ar, lookahead", ("dflash", "mtp", "eagle"))):
            for value in values:
                with self.subTest(f"{option} {value}"):
                    self.assert_refused(run(option, value, PAGE), option, value, "not in this version", now)

    def test_subcommands_of_later_versions_are_refused_by_name(self):
        self.assert_refused(run("serve", "--port", "8080"), "serve", "not in this version")

    def test_what_check_does_not_take(self):
        for option in ("--task", "--prompt", "--system", "--max-new-tokens", "--repetition-penalty",
                       "--temperature", "--seed", "--stop", "--time-limit"):
            with self.subTest(option):
                self.assert_refused(run("check", option, "1", str(NANO)), option, "check takes")
        for option in ("--stats", "--verbose", "--list-tasks", "--do-sample"):
            with self.subTest(option):
                self.assert_refused(run("check", option, str(NANO)), option, "check takes")
        self.assert_refused(run("check", "--repetition-guard", "on", str(NANO)), "--repetition-guard", "check takes")
        self.assert_refused(run("check", "--background", "0,0,0", str(NANO)), "--background", "check takes")
        self.assert_refused(run("check", "a", "b"), "one model", "a and b")
        self.assert_refused(run("check", "a", "--model", "b"), "two models", "a", "b")
        self.assert_refused(run("check", "--threads", "many", "a"), "--threads", "many")

    def test_unknown_values_name_the_known_ones(self):
        self.assert_refused(run("--backend", "cuda", PAGE), "cuda", "cpu")
        self.assert_refused(run("--repetition-guard", "maybe", PAGE), "--repetition-guard maybe", "on, off")
        self.assert_refused(run("--instruction-set", "sse", PAGE), "sse", "auto, reference, portable, avx2, avx512, avx512_vnni, avx512_bf16")

    def test_precisions_of_parts_that_do_not_fit(self):
        for value, *said in (("f16", "f16 is not known", "f32, bf16"),
                             ("tower=bf16", "tower is not a part", "vision, decoder, head, kv"),
                             ("draft=bf16", "draft is not in this version", "vision, decoder, head, kv"),
                             ("vision=bf16,vision=f32", "vision is named twice"),
                             ("bf16,kv=bf16", "bf16 names no part", "part=precision"),
                             ("vision=", "vision has no value"), ("vision=,kv=bf16", "vision has no value"),
                             ("vision=bf16,", "names no part"), ("vision=bf17", "bf17 is not known", "f32, bf16")):
            with self.subTest(value):
                self.assert_refused(run(f"--precision={value}", PAGE), "--precision", *said)

    def test_unknown_options_name_the_nearest(self):
        for slip, meant in (("--thread", "--threads"), ("--max-pixles=3", "--max-pixels"), ("--josn", "--json"),
                            ("--ouput", "--output"), ("--max_new_tokens", "--max-new-tokens")):
            with self.subTest(slip):
                self.assert_refused(run(slip, PAGE), "unknown option", f"did you mean {meant}?")
        self.assert_refused(run("--entirely-unlike-any", PAGE), "unknown option --entirely-unlike-any")
        self.assert_refused(run("-x", PAGE), "unknown option -x")

    def test_numbers_out_of_range(self):
        for option, value in (("--threads", "0"), ("--threads", "-1"), ("--threads", "two"), ("--threads", "1025"),
                              ("--threads", "99999999999999999999"), ("--max-new-tokens", "0"),
                              ("--max-new-tokens", "2147483648"), ("--min-pixels", "1.5"), ("--max-pixels", "1e6"),
                              ("--memory-limit", "0"), ("--memory-limit", "1X"), ("--memory-limit", "M"),
                              ("--memory-limit", "-1"), ("--memory-limit", "99999999999T"),
                              ("--repetition-penalty", "0"), ("--repetition-penalty", "nan"),
                              ("--block-size", "0"), ("--block-size", "17"), ("--block-size", "2.5"),
                              ("--repetition-penalty", "-1"), ("--repetition-penalty", "1,1")):
            with self.subTest(f"{option}={value}"):
                self.assert_refused(run(f"{option}={value}", PAGE), option, value)
        for color in ("255", "1,2", "1,2,3,4", "256,0,0", "-1,0,0", "1,2,", ",,", "white", "1, 2, 3"):
            with self.subTest(color):
                self.assert_refused(run(f"--background={color}", PAGE), "--background", color, "0 to 255")
        self.assert_refused(run("--min-pixels", "9000", "--max-pixels", "8000", PAGE), "9000", "8000")

    def test_slips_of_the_command_line(self):
        self.assert_refused(run(), "no picture")
        self.assert_refused(run(PAGE, "--threads"), "--threads", "one value")
        self.assert_refused(run(PAGE, "--threads", "1", "--threads", "2"), "--threads", "once")
        self.assert_refused(run("--output=", PAGE), "--output", "no value")
        self.assert_refused(run("--output", "", PAGE), "--output", "empty")
        self.assert_refused(run(""), "empty")
        self.assert_refused(run("--model", "--json", PAGE), "--model is followed by --json")
        for flag in ("--json=maybe", "--json=5", "--json=true", "--quiet=0", "--version=1", "--list-tasks=false"):
            self.assert_refused(run(flag, PAGE), flag, "does not take")
        result = run("--max-pixels=1\n2\x1b[2J", PAGE)
        self.assert_refused(result, "--max-pixels 1\\x0a2\\x1b[2J is not a whole number")
        self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assert_refused(run("--task", "structured_parse", "--prompt", "Read.", PAGE), "--task", "--prompt")
        self.assert_refused(run("--lookahead", "--strategy", "ar", PAGE), "--lookahead", "--strategy ar", "choose one")
        self.assert_refused(run("--block-size", "8", PAGE), "--block-size 8", "--lookahead")
        self.assert_refused(run("--quiet", "--verbose", PAGE), "--quiet", "--verbose")
        self.assert_refused(run("--list-tasks", PAGE), "--list-tasks")
        self.assert_refused(run("-", "-"), "standard input")

    def test_a_task_that_the_model_has_not(self):
        result = run("--quiet", "--task", "formula", PAGE)
        self.assert_refused(result, "formula", "structured_parse", "spotting_hunyuan")


class Accepted(CommandTest):
    def test_every_option_of_this_version_together(self):
        result = run("--model", str(NANO), "--backend", "cpu", "--precision", "f32", "--threads", "1", "--strategy", "ar",
                     "--instruction-set", "auto", "--memory-limit", "4G", "--min-pixels", "1024", "--max-pixels", "65536",
                     "--background", "255,255,255",
                     "--task", "structured_parse", "--system", "Be exact.", "--max-new-tokens", "2",
                     "--repetition-penalty", "1.05", "--repetition-guard", "off", "--stats", "--verbose", "--json", PAGE)
        self.assert_exit(result, 0)
        self.assertTrue(result.stdout)

    def test_lookahead_changes_the_statistics_and_nothing_else(self):
        def read(*options):
            result = run("--threads", "1", "--stats", "--json", *options, PAGE)
            self.assert_exit(result, 0)
            return json.loads(result.stdout), result.stderr.decode()
        plain, report = read()
        self.assertEqual(plain["profile"]["strategy"], "ar")
        self.assertNotIn(" ms draft", report)
        for options in (("--lookahead",), ("--strategy", "lookahead", "--block-size", "4"),
                        ("--lookahead", "--strategy=lookahead", "--block-size=1")):
            with self.subTest(options):
                found, report = read(*options)
                self.assertEqual(found["tokens"], plain["tokens"])
                self.assertEqual(found["text"], plain["text"])
                self.assertEqual(found["finish_reason"], "stop")
                profile = found["profile"]
                self.assertEqual(profile["strategy"], "lookahead")
                self.assertEqual(profile["emitted"], len(plain["tokens"]))
                self.assertLessEqual(profile["accepted"], profile["proposed"])
                # The last step chose the stop token.
                self.assertEqual(profile["emitted"], profile["blocks"] + profile["accepted"])
                self.assertRegex(report, r"lookahead +\d+\.\d ms draft, .* proposed \d+, accepted \d+ \(\d+ %\)\n"
                                         r" +emitted \d+ tokens in \d+ blocks")
                if "--block-size=1" in options:
                    self.assertEqual(profile["proposed"] + profile["withheld"], 0)

    def test_the_end_of_options(self):
        self.assert_exit(run("--quiet", "--", "--json"), 3, "--json")
        self.assert_exit(run("--quiet", "--", "-x.png"), 3, "-x.png")
        self.assert_exit(run("--threads", "1", "--prompt=--what?", "--max-new-tokens", "1", PAGE), 0)

    def test_help_version_and_tasks(self):
        result = run("--help")
        self.assert_exit(result, 0)
        self.assertEqual(result.stderr, b"")
        self.assertIn(b"--max-new-tokens", result.stdout)
        self.assertEqual(run("-h").stdout, result.stdout)
        self.assertRegex(run("--version").stdout, rb"\Ahunyuan-ocr \d+\.\d+\.\d+\n\Z")
        self.assertEqual(run("--quiet", "--list-tasks").stdout, b"structured_parse\nspotting_hunyuan\n")

    def test_the_model_from_the_environment(self):
        self.assert_exit(run(PAGE, env=environment(HUNYUAN_OCR_MODEL="/no/such/model")), 3, "/no/such/model")
        result = run("--threads", "1", "--model", str(NANO), "--max-new-tokens", "1", PAGE,
                     env=environment(HUNYUAN_OCR_MODEL="/no/such/model"))
        self.assert_exit(result, 0)


class HubCache(CommandTest):
    """A model that another program has downloaded, by its name."""

    def test_name(self):
        snapshots = self.folder / "models--owner--name/snapshots"
        snapshots.mkdir(parents=True)
        (snapshots / "0123abcd").symlink_to(TINY)
        (self.folder / "models--owner--name/refs").mkdir()
        (self.folder / "models--owner--name/refs/main").write_text("0123abcd")
        variables = environment(HF_HUB_CACHE=str(self.folder))
        by_name, by_folder = (run(*QUIET, "--model", model, PAGE, env=variables) for model in ("owner/name", str(TINY)))
        self.assert_exit(by_name, 0)
        self.assertEqual(by_name.stdout, by_folder.stdout)
        self.assert_exit(run("check", "--threads", "1", "owner/name", env=variables), 0)
        tasks = run("--list-tasks", "--model", "owner/name", env=variables)
        self.assertEqual(tasks.stdout.splitlines()[0], b"doc_parse")
        self.assert_exit(run("--model", "owner/other", PAGE, env=variables), 3, "owner/other")


class Documentation(unittest.TestCase):
    """--help, the pages under docs/ and the program's one table agree."""

    def test_exit_codes(self):
        text = run("--help").stdout.decode()
        table = text[text.index("Exit codes:"):]
        listed = {int(code): name.strip() for code, name in re.findall(r"^  (\d+) +(.{13}) ", table, re.M)}
        self.assertIn(130, listed)
        page = (SOURCE / "docs/errors.md").read_text(encoding="utf-8")
        documented = {int(code): name for code, name in re.findall(r"^\| (\d+) \| ([a-z ]+?) \|", page, re.M)}
        self.assertEqual(documented, listed)

    def test_options(self):
        pattern = r"--[a-z][a-z-]+"
        listed = set(re.findall(rf"^  (?:-h, )?({pattern})", run("--help").stdout.decode(), re.M))
        page = (SOURCE / "docs/command.md").read_text(encoding="utf-8")
        documented = set(re.findall(rf"^\| `({pattern})", page, re.M))
        self.assertEqual(documented, listed)


if __name__ == "__main__":
    unittest.main()
