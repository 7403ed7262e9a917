"""SIGHUP, SIGINT and SIGTERM in every stage of the work: the exit code, how soon, and no half output."""
import json
import os
import pty
import resource
import signal
import subprocess
import threading
import time
import unittest

from command import NANO, PAGE, PROGRAM, QUIET, CommandTest, environment, png_bytes, run

# 100 ms are promised; a busy machine may take longer to give the process a core.
LONGEST_STOP_S = 2.0


class Terminal:
    """A terminal as standard error: what the progress line says, read all the time so that it never fills up."""

    def __init__(self):
        self.controller, self.end = pty.openpty()
        self.text = b""
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read)

    def read(self):
        try:
            while piece := os.read(self.controller, 4096):
                with self.changed:
                    self.text += piece
                    self.changed.notify()
        except OSError:  # how Linux says that the other side is closed
            pass

    def start(self):
        """Once the process has its own copy of the end."""
        os.close(self.end)
        self.reader.start()

    def wait_for(self, word):
        with self.changed:
            return self.changed.wait_for(lambda: word in self.text, timeout=50)

    def close(self):
        self.reader.join()
        os.close(self.controller)


class Signals(CommandTest):
    def start(self, *arguments, **options):
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([PROGRAM, *arguments], env=environment(), **options)
        if process.stderr:
            self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def stop(self, process, number, stage):
        begin = time.monotonic()
        process.send_signal(number)
        code = process.wait(timeout=30)
        elapsed = time.monotonic() - begin
        print(f"stopped in {stage} after {1000 * elapsed:.0f} ms")
        self.assertLess(elapsed, LONGEST_STOP_S)
        return code

    def stop_at_stage(self, stage, *arguments):
        """Starts a run, interrupts it when its progress line names the stage, and looks at what it leaves."""
        path = self.file("answer.txt", b"before")
        terminal = Terminal()
        process = self.start("--threads", "1", "--output", str(path), *arguments, stderr=terminal.end)
        terminal.start()
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.wait_for(b": " + stage.encode()), terminal.text)
        self.assertEqual(self.stop(process, signal.SIGINT, stage), 130)
        self.assertEqual(path.read_bytes(), b"before")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_in_vision(self):
        page = self.file("large.png", png_bytes(960, 800))
        self.stop_at_stage("vision", str(page), str(page))

    def test_in_prefill(self):
        # The nano's tokenizer takes digits one by one.
        self.stop_at_stage("prefill", "--prompt", "7" * 7000, str(PAGE))

    def test_in_decode(self):
        # An end token that the nano does not choose.
        endless = self.model_with(generation_config={"eos_token_id": [1003], "max_new_tokens": 7000})
        self.stop_at_stage("decode", "--json", "--model", str(endless), str(PAGE))

    def test_in_a_check(self):
        path = self.folder / "report.txt"
        terminal = Terminal()
        process = self.start("check", "--threads", "1", "--output", str(path), str(NANO), stderr=terminal.end)
        terminal.start()
        self.addCleanup(terminal.close)
        self.assertTrue(terminal.wait_for(b": load"), terminal.text)
        self.assertEqual(self.stop(process, signal.SIGINT, "check"), 130)
        self.assertEqual(os.listdir(self.folder), [])

    def test_while_a_picture_is_decoded(self):
        def processor_seconds():
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime

        damaged = bytearray(png_bytes(12000, 12000))
        damaged[-20] ^= 1  # a checksum behind the last row: the whole picture is decoded before it is refused
        page = self.file("huge.png", damaged)
        before = processor_seconds()
        self.assert_exit(run("--threads", "1", str(page)), 4, "cannot be decoded")
        whole = processor_seconds() - before

        path = self.file("answer.txt", b"before")
        process = self.start("--threads", "1", "--verbose", "--output", str(path), str(page))
        while b"loaded in" not in process.stderr.readline():
            pass
        before = processor_seconds()
        time.sleep(0.1)
        self.assertEqual(self.stop(process, signal.SIGINT, "decoding"), 130)
        self.assertLess(processor_seconds() - before, whole / 2)
        self.assertEqual(path.read_bytes(), b"before")

    def test_between_pages(self):
        path = self.file("answer.txt", b"before")
        for number, code in ((signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("--threads", "1", "--stats", "--output", str(path), *[str(PAGE)] * 500)
            while b"total" not in process.stderr.readline():  # the first page is read
                pass
            self.assertEqual(self.stop(process, number, "pages"), code)
            self.assertEqual(path.read_bytes(), b"before")
            self.assertEqual(os.listdir(self.folder), ["answer.txt"])

    def test_lines_of_json_are_whole(self):
        process = self.start(*QUIET, "--json", *[str(PAGE)] * 500, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        lines = [process.stdout.readline()]
        self.assertEqual(self.stop(process, signal.SIGTERM, "pages"), 143)
        lines += process.stdout.readlines()
        for line in lines:
            self.assertEqual(json.loads(line)["finish_reason"], "stop")

    def test_while_waiting_for_the_picture(self):
        process = self.start("--threads", "1", "--verbose", "-", stdin=subprocess.PIPE)
        self.addCleanup(process.stdin.close)
        process.stderr.readline()
        time.sleep(0.2)
        self.assertEqual(self.stop(process, signal.SIGINT, "standard input"), 130)

    def test_while_a_pipe_is_full(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        process = self.start(*QUIET, str(PAGE), stdout=writer)
        os.close(writer)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        self.assertEqual(self.stop(process, signal.SIGTERM, "output"), 143)


if __name__ == "__main__":
    unittest.main()
