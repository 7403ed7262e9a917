"""Boxes in the JSON: pixels of the picture as displayed beside the numbers that the model printed."""
import json
import unittest

from command import NANO, PICTURES, QUIET, CommandTest, png_bytes, run
from models import scripted_model

ANSWER = 1020  # an id that gets a text of its own here


class Boxes(CommandTest):
    def records(self, *arguments):
        result = run(*QUIET, "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return [json.loads(line) for line in result.stdout.decode("utf-8").splitlines()]

    def scripted(self, text, picture, *arguments):
        model = scripted_model(self.folder, [ANSWER], {ANSWER: text})
        record, = self.records("--model", model, *arguments, picture)
        self.assertEqual(record["text"], text)
        return record

    def test_the_whole_picture(self):
        picture = self.file("page.png", png_bytes(123, 457))
        record = self.scripted("text(0,0),(1000,1000)", picture, "--task", "spotting_hunyuan")
        self.assertEqual(record["boxes"],
                         [{"text": "text", "normalized": [0, 0, 1000, 1000], "pixels": [0, 0, 123, 457]}])
        self.assertEqual(list(record), ["file", "text", "tokens", "finish_reason", "image", "boxes", "options", "profile",
                                        "state"])

    def test_the_form_asked_for_in_json(self):
        picture = self.file("page.png", png_bytes(200, 100))
        answer = json.dumps([{"box": [100, 200, 300, 400], "text": "发票 (1)"}], ensure_ascii=False)
        record = self.scripted(answer, picture, "--task", "spotting_json")
        self.assertEqual(record["boxes"], [{"text": "发票 (1)", "normalized": [100, 200, 300, 400],
                                            "pixels": [20, 20, 60, 40]}])

    def test_labels_and_corners(self):
        picture = self.file("page.png", png_bytes(200, 100))
        answer = "A<hy-meta><layout>title</layout><poly>(100,0),(900,50),(890,150),(90,100)</poly></hy-meta>"
        record = self.scripted(answer, picture, "--task", "layout_parse")
        self.assertEqual(record["boxes"], [{
            "text": "A", "label": "title", "normalized": [90, 0, 900, 150], "pixels": [18, 0, 180, 15],
            "normalized_corners": [[100, 0], [900, 50], [890, 150], [90, 100]],
            "pixel_corners": [[20, 0], [180, 5], [178, 15], [18, 10]]}])

    def test_only_where_coordinates_were_asked_for(self):
        picture = self.file("page.png", png_bytes(64, 64))
        text = "From(1,2),(3,4)"
        for task in ("doc_parse", "structured_parse", "table", "formula", "chart_parse", "trans_other2en"):
            self.assertNotIn("boxes", self.scripted(text, picture, "--task", task))
        self.assertIn("boxes", self.scripted(text, picture, "--prompt", "Where is it?"))
        self.assertNotIn("boxes", self.scripted("From(1,2),(3,4000)", picture, "--task", "spotting_hunyuan"))

    def test_a_picture_turned_by_its_orientation(self):
        upright, turned = self.records("--model", NANO, "--task", "spotting_hunyuan", PICTURES / "text_wide.png",
                                       PICTURES / "text_turned.png")
        self.assertEqual((turned["image"]["width"], turned["image"]["height"]), (440, 90))
        self.assertEqual([box["text"] for box in turned["boxes"]],
                         ["Please return this form before", "the end of the month."])
        self.assertEqual(turned["boxes"], upright["boxes"])
        for box in turned["boxes"]:
            left, top, right, bottom = box["normalized"]
            self.assertEqual(box["pixels"], [left * 440 // 1000, top * 90 // 1000, right * 440 // 1000,
                                             bottom * 90 // 1000])


if __name__ == "__main__":
    unittest.main()
