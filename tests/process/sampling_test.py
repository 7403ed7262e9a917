"""Drawn answers, penalties, stop strings and time limits: what the flags do, and what --json says of them."""
import json
import unittest

from command import PAGE, PAGE_TEXT, QUIET, TINY, CommandTest, run
from models import byte_ids, scripted_model

DRAWN = (*QUIET, "--json", "--temperature", "20")


def record_of(*arguments):
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class Sampling(CommandTest):
    def test_the_seed_is_told_and_is_enough(self):
        first, second = (record_of(*DRAWN, PAGE) for _ in range(2))
        seeds = [record["options"]["seed"] for record in (first, second)]
        self.assertNotEqual(*seeds)
        self.assertLess(max(seeds), 2**53)
        self.assertNotEqual(first["tokens"], second["tokens"])
        for record, seed in zip((first, second), seeds):
            for threads in ("1", "2"):
                again = record_of("--quiet", "--json", "--threads", threads, "--temperature", "20", "--seed", str(seed), PAGE)
                self.assertEqual((again["tokens"], again["text"]), (record["tokens"], record["text"]))

    def test_a_seed_of_each_size(self):
        for seed in (0, 2**53 + 1, 2**63 - 1):
            one, two = (record_of(*DRAWN, "--seed", str(seed), "--max-new-tokens", "8", PAGE) for _ in range(2))
            self.assertEqual(one["options"]["seed"], seed)
            self.assertEqual(one["tokens"], two["tokens"])

    def test_lookahead_draws_the_same(self):
        # Whether a block pays is a matter of time, so none may be verified here; generate_test verifies each.
        for arguments in (("--do-sample",), ("--temperature", "3", "--presence-penalty", "0.5"), ("--temperature", "20")):
            for seed in ("1", "2"):
                base = (*QUIET, "--json", *arguments, "--seed", seed, PAGE)
                plain = record_of(*base)
                for block in ("4", "16"):
                    found = record_of(*base, "--lookahead", "--block-size", block)
                    for key in ("tokens", "text", "finish_reason", "options"):
                        self.assertEqual(found[key], plain[key])
                    self.assertEqual(found["profile"]["strategy"], "lookahead")

    def test_stats_tell_the_seed(self):
        result = run("--stats", "--do-sample", "--seed", "4711", "--max-new-tokens", "2", PAGE)
        self.assert_exit(result, 0, "drawn with", "seed 4711")

    def test_what_was_used(self):
        record = record_of(*QUIET, "--json", "--temperature", "0.7", "--top-k", "5", "--top-p", "0.9", "--min-p", "0.01",
                           "--tfs", "0.95", "--typical", "0.98", "--repetition-penalty", "1.05", "--presence-penalty",
                           "0.1", "--frequency-penalty", "-0.2", "--no-repeat-ngram-size", "30", "--logit-bias",
                           "5=1.5,7=-2", "--banned-ids", "9,11", "--seed", "3", "--stop", "xyz", "--stop", "é",
                           "--time-limit", "50", "--max-new-tokens", "40", PAGE)
        self.assertEqual(record["options"], {
            "max_new_tokens": 40, "do_sample": True, "temperature": 0.7, "top_k": 5, "top_p": 0.9, "min_p": 0.01,
            "tfs": 0.95, "typical": 0.98, "seed": 3, "repetition_penalty": 1.05, "presence_penalty": 0.1,
            "frequency_penalty": -0.2, "no_repeat_ngram_size": 30, "logit_bias": {"5": 1.5, "7": -2.0},
            "banned_ids": [9, 11], "stop": ["xyz", "é"], "time_limit": 50.0, "repetition_guard": True})

    def test_greedy_unless_asked(self):
        for arguments in ((), ("--temperature", "0"), ("--do-sample", "--temperature", "0"), ("--seed", "5")):
            record = record_of(*QUIET, "--json", *arguments, PAGE)
            self.assertEqual(record["text"], PAGE_TEXT)
            self.assertFalse(record["options"]["do_sample"])
            self.assertNotIn("seed", record["options"])
        record = record_of(*QUIET, "--json", "--do-sample", "--top-k", "1", PAGE)
        self.assertEqual((record["text"], record["options"]["do_sample"]), (PAGE_TEXT, True))

    def test_the_packages_own_values(self):
        model = self.model_with(generation_config={"do_sample": True, "temperature": 0.5, "top_k": 3, "top_p": 0.75,
                                                   "repetition_penalty": 1.125})
        options = record_of(*QUIET, "--json", "--model", model, "--max-new-tokens", "4", PAGE)["options"]
        self.assertEqual([options[key] for key in ("do_sample", "temperature", "top_k", "top_p", "repetition_penalty")],
                         [True, 0.5, 3, 0.75, 1.125])
        options = record_of(*QUIET, "--json", "--model", model, "--top-k", "0", "--max-new-tokens", "4", PAGE)["options"]
        self.assertEqual((options["top_k"], options["temperature"]), (0, 0.5))
        record = record_of(*QUIET, "--json", "--model", model, "--temperature", "0", "--repetition-penalty", "1", PAGE)
        self.assertEqual(record["text"], PAGE_TEXT)

    def test_penalties_and_ids_change_the_answer(self):
        ids = byte_ids(b"abc")
        model = scripted_model(self.folder, ids, endless=True)
        base = (*QUIET, "--json", "--model", model, "--max-new-tokens", "20", PAGE)
        plain = record_of(*base)["tokens"]
        self.assertEqual(plain, ids + 17 * ids[-1:])
        for arguments in (("--no-repeat-ngram-size", "2"),
                          ("--logit-bias", f"{ids[1]}=100000"), ("--banned-ids", str(ids[2]))):
            with self.subTest(arguments):
                self.assertNotEqual(record_of(*base, *arguments)["tokens"], plain)
        random = (*QUIET, "--json", "--model", TINY, "--repetition-penalty", "1", "--max-new-tokens", "60", PAGE)
        repeating = record_of(*random)["tokens"]
        self.assertLess(len(set(repeating)), len(repeating))
        for penalty in ("--presence-penalty", "--frequency-penalty"):
            tokens = record_of(*random, penalty, "100")["tokens"]
            self.assertEqual(len(set(tokens)), len(tokens))
        self.assertNotIn(ids[2], record_of(*base, "--banned-ids", str(ids[2]))["tokens"])

    def test_values_that_do_not_fit(self):
        for option, values in (("--temperature", ("-1", "101", "nan", "hot")), ("--top-k", ("-1", "1.5")),
                               ("--top-p", ("0", "1.1", "-0.5")), ("--min-p", ("-0.1", "1.1")), ("--tfs", ("0", "2")),
                               ("--typical", ("0", "2")), ("--seed", ("-1", "x", str(2**63))),
                               ("--presence-penalty", ("101", "x")), ("--frequency-penalty", ("-101",)),
                               ("--no-repeat-ngram-size", ("-1",)), ("--logit-bias", ("5", "5=", "=1", "5=1,", "a=1")),
                               ("--banned-ids", ("a", "1,", "-1", "1.5")), ("--time-limit", ("0", "-1", "soon"))):
            for value in values:
                with self.subTest(f"{option}={value}"):
                    self.assert_refused(run(f"{option}={value}", PAGE), option, value)
        self.assert_exit(run(*QUIET, "--banned-ids", "999999", PAGE), 2, "banned_ids", "999999", "expected ids")
        self.assert_exit(run(*QUIET, "--logit-bias", "999999=1", PAGE), 2, "logit_bias", "999999")
        self.assert_exit(run(*QUIET, b"--stop", b"\xff", str(PAGE).encode()), 2, "stop", "UTF-8")


class StopRules(CommandTest):
    def answer(self, ids, *stops):
        """Text and finish reason, the same as streamed text and as JSON."""
        model = scripted_model(self.folder, ids)
        arguments = [*QUIET, "--model", model]
        for stop in stops:
            arguments += ["--stop", stop]
        arguments.append(PAGE)
        record = record_of(*arguments, "--json")
        text = run(*arguments)
        self.assertEqual(text.stdout.decode("utf-8"), record["text"].rstrip("\n") + "\n")
        return record["text"], record["finish_reason"], len(record["tokens"])

    def test_stop_strings_across_tokens(self):
        fox = byte_ids(b"brown fx")  # each byte a token
        self.assertEqual(self.answer(fox, "own f"), ("br", "stop", 7))
        self.assertEqual(self.answer(fox, "own fy"), ("brown fx", "stop", 8))
        self.assertEqual(self.answer(fox, "fx!"), ("brown fx", "stop", 8))  # never completed: nothing is lost
        self.assertEqual(self.answer(fox, "fx"), ("brown ", "stop", 8))  # where the answer ends too
        self.assertEqual(self.answer(byte_ids(b"xabc"), "ab", "b"), ("x", "stop", 3))
        self.assertEqual(self.answer(byte_ids(b"xabc"), "abc", "b"), ("xa", "stop", 3))

    def test_stop_strings_inside_characters(self):
        self.assertEqual(self.answer(byte_ids("a😀b".encode()), "😀"), ("a", "stop", 5))
        self.assertEqual(self.answer(byte_ids("a😀b".encode()), "😁"), ("a😀b", "stop", 6))

    def test_a_cut_answer_keeps_what_was_held_back(self):
        model = scripted_model(self.folder, byte_ids(b"brown"))
        record = record_of(*QUIET, "--json", "--model", model, "--stop", "owner", "--max-new-tokens", "4", PAGE)
        self.assertEqual((record["text"], record["finish_reason"]), ("brow", "length"))

    def test_lookahead_stops_where_plain_does(self):
        for start in range(4, len(PAGE_TEXT.strip()) - 6, 9):
            base = (*QUIET, "--json", "--stop", PAGE_TEXT[start:start + 5], PAGE)
            plain, found = record_of(*base), record_of(*base, "--lookahead")
            self.assertLess(len(plain["text"]), len(PAGE_TEXT.strip()))
            for key in ("tokens", "text", "finish_reason"):
                self.assertEqual(found[key], plain[key], start)

    def test_time_limit(self):
        endless = self.model_with(generation_config={"eos_token_id": [1003], "max_new_tokens": 7000})
        arguments = ("--threads", "1", "--model", endless, "--repetition-guard", "off", "--json")
        result = run(*arguments, "--time-limit", "0.3", PAGE)
        self.assert_exit(result, 0, "cut", "--time-limit", "tokens")
        record = json.loads(result.stdout)
        self.assertEqual(record["finish_reason"], "time_limit")
        self.assertLess(len(record["tokens"]), 7000)
        # Before the first token, and each page has its own.
        result = run(*arguments, "--time-limit", "0.000001", PAGE, PAGE)
        self.assert_exit(result, 0, "cut", "--time-limit", "0 tokens")
        self.assertEqual([(json.loads(line)["finish_reason"], json.loads(line)["text"])
                          for line in result.stdout.splitlines()], 2 * [("time_limit", "")])


if __name__ == "__main__":
    unittest.main()
