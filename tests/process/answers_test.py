"""Answers with given tokens: newlines, characters of several bytes, answers cut in the middle of one."""
import json
import os
import subprocess
import unittest

from command import PAGE, PROGRAM, QUIET, CommandTest, environment, run
from models import byte_ids, scripted_model

BLANK_LINE, CARRIAGE_RETURN, TABLE = 1020, 1021, 1022  # ids that get a text of their own here
ADDED = {BLANK_LINE: "\n\n", CARRIAGE_RETURN: "\r\n", TABLE: "<table>\n<tr><td>"}


class Answers(CommandTest):
    def answers(self, ids, *arguments):
        """The answer as text and as JSON; both say the same on stderr, and a file gets the same bytes."""
        model = scripted_model(self.folder, ids, ADDED)
        text = run(*QUIET, "--model", model, *arguments, PAGE)
        record = run(*QUIET, "--json", "--model", model, *arguments, PAGE)
        self.assertEqual((text.returncode, record.returncode), (0, 0))
        self.assertEqual(text.stderr, record.stderr)
        file = self.folder / "answer.txt"
        self.assertEqual(run(*QUIET, "--model", model, *arguments, "--output", file, PAGE).returncode, 0)
        self.assertEqual(file.read_bytes(), text.stdout)
        return text, json.loads(record.stdout.decode("utf-8"))

    def test_newlines_are_the_same_in_text_and_json(self):
        ids = byte_ids(b"ab") + [BLANK_LINE] + byte_ids(b"cd") + [CARRIAGE_RETURN] + byte_ids(b"ef\ng")
        text, record = self.answers(ids)
        self.assertEqual(record["text"], "ab\n\ncd\r\nef\ng")
        self.assertEqual(record["tokens"], ids)
        self.assertEqual(record["finish_reason"], "stop")
        self.assertEqual(text.stdout, record["text"].encode() + b"\n")

    def test_newlines_at_the_end(self):
        text, record = self.answers(byte_ids(b"\nab") + [BLANK_LINE])
        self.assertEqual(record["text"], "\nab\n\n")
        self.assertEqual(text.stdout, b"\nab\n")  # exactly one at the end

    def test_an_empty_answer(self):
        text, record = self.answers([])
        self.assertEqual((record["text"], record["tokens"]), ("", []))
        self.assertEqual(text.stdout, b"\n")

    def test_characters_of_several_tokens(self):
        characters = "é发😀"  # of 2, 3 and 4 bytes, each byte a token
        text, record = self.answers(byte_ids(characters.encode()))
        self.assertEqual(record["text"], characters)
        self.assertEqual(text.stdout.decode("utf-8"), characters + "\n")

    def test_no_piece_ends_inside_a_character(self):
        model = scripted_model(self.folder, byte_ids("é发😀".encode()))
        with subprocess.Popen([PROGRAM, *QUIET, "--model", model, PAGE], stdout=subprocess.PIPE,
                              env=environment()) as process:
            while piece := os.read(process.stdout.fileno(), 65536):
                piece.decode("utf-8")  # throws when it is not whole

    def test_an_answer_cut_inside_a_character(self):
        ids = byte_ids("ab😀".encode())
        for tokens in (3, 4, 5):
            text, record = self.answers(ids, "--max-new-tokens", str(tokens))
            self.assertEqual(record["text"], "ab\ufffd")
            self.assertEqual(record["finish_reason"], "length")
            self.assertEqual(text.stdout.decode("utf-8"), "ab\ufffd\n")
            self.assert_exit(text, 0, "cut", f"{tokens} tokens", "--max-new-tokens")

    def test_bytes_that_are_no_character(self):
        text, record = self.answers(byte_ids(b"a\xff\x80b\xe5\x8fc\xf0"))
        expected = b"a\xff\x80b\xe5\x8fc\xf0".decode("utf-8", errors="replace")
        self.assertEqual(record["text"], expected)
        self.assertEqual(text.stdout.decode("utf-8"), expected + "\n")

    def test_an_answer_at_its_limit(self):
        ids = byte_ids(b"abcdefghijklmnopqrstuvwxyz")
        text, record = self.answers(ids, "--max-new-tokens", "20")
        self.assertEqual((record["finish_reason"], record["text"]), ("length", "abcdefghijklmnopqrst"))
        self.assertEqual(record["state"]["sequence_length"], record["profile"]["prompt_tokens"] + 20)
        self.assert_exit(text, 0, "cut", "20 tokens", "--max-new-tokens")
        text, record = self.answers(ids, "--max-new-tokens", "27")
        self.assertEqual((record["finish_reason"], len(record["tokens"])), ("stop", 26))
        self.assertEqual(text.stderr, b"")

    def test_a_table_that_is_cut(self):
        text, record = self.answers([TABLE] + byte_ids(b"abcdefghijklmnopqrstuvwxyz"), "--max-new-tokens", "20")
        self.assertEqual(record["finish_reason"], "length")
        self.assertEqual(record["text"], ADDED[TABLE] + "abcdefghijklmnopqrs")
        self.assert_exit(text, 0, "cut", "20 tokens", "--max-new-tokens")

    def test_an_answer_that_runs_into_a_loop(self):
        model = scripted_model(self.folder, byte_ids(b"abc"), endless=True)
        arguments = (*QUIET, "--json", "--model", model, "--max-new-tokens", "600", PAGE)
        result = run(*arguments)
        self.assert_exit(result, 0, "cut", "repeat", "--repetition-guard off")
        record = json.loads(result.stdout)
        self.assertEqual(record["finish_reason"], "repetition")
        self.assertEqual(record["text"], "abc")
        path = self.folder / "answer.txt"
        arguments_of_text = (argument for argument in arguments if argument != "--json")
        self.assert_exit(run(*arguments_of_text, "--output", path), 0, "repeat")
        self.assertEqual(path.read_text(encoding="utf-8"), record["text"].rstrip("\n") + "\n")
        endless = json.loads(run(*arguments, "--repetition-guard", "off").stdout)
        self.assertEqual((endless["finish_reason"], len(endless["tokens"])), ("length", 600))
        self.assertEqual(endless["text"], "ab" + 598 * "c")

    def test_an_answer_that_fills_the_context(self):
        ids = byte_ids(b"abcdefghij")
        _, record = self.answers(ids)
        positions = record["profile"]["prompt_tokens"] + 5
        model = scripted_model(self.folder, ids, config={"max_position_embeddings": positions})
        result = run(*QUIET, "--json", "--model", model, PAGE)
        self.assert_exit(result, 0, "cut", f"{positions} positions", "--max-pixels")
        record = json.loads(result.stdout)
        self.assertEqual((record["finish_reason"], record["text"]), ("context_full", "abcde"))


if __name__ == "__main__":
    unittest.main()
