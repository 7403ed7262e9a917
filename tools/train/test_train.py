"""Tests of the training code: python -m unittest discover tools/train (or run this file).

What needs torch, safetensors and tokenizers is skipped where these are missing, and the comparison with the official
class where transformers is missing. No fonts are needed: the tests' atlas is made up.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import pickle
import random
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).parent
PACKAGE = FOLDER.parent.parent / "models" / "nano"
sys.path.insert(0, str(FOLDER))


def missing(*modules):
    """Names of the modules that are not installed."""
    return [module for module in modules if importlib.util.find_spec(module) is None]


needs_numpy = unittest.skipIf(missing("numpy", "PIL"), f"not installed: {missing('numpy', 'PIL')}")
TORCH_MODULES = ("torch", "numpy", "PIL", "safetensors", "tokenizers")
needs_torch = unittest.skipIf(missing(*TORCH_MODULES), f"not installed: {missing(*TORCH_MODULES)}")
needs_transformers = unittest.skipIf(missing(*TORCH_MODULES, "transformers"),
                                     f"not installed: {missing(*TORCH_MODULES, 'transformers')}")


def made_up_atlas(folder):
    """Two fonts of solid blocks, half an em wide; the second lacks what is not ASCII. Returns the metrics."""
    import numpy
    from atlas import COLUMNS, SIZES, SPACE, Metrics
    from characters import ASCII
    sizes = numpy.array(SIZES)
    shape = (2, len(SIZES), COLUMNS)

    def spread(values, dtype):
        return numpy.broadcast_to(numpy.asarray(values)[None, :, None], shape).astype(dtype)
    width, height = spread(sizes * 0.4, numpy.int16), spread(sizes * 0.7, numpy.int16)
    width[:, :, SPACE] = height[:, :, SPACE] = 0
    present = numpy.ones((2, COLUMNS), bool)
    present[1, len(ASCII):SPACE] = False
    metrics = Metrics(names=numpy.array(["first", "second"]), present=present, fixed_pitch=numpy.array([True, True]),
                      kerning=numpy.zeros((2, len(ASCII), len(ASCII)), numpy.float32),
                      advance=spread(sizes * 0.5, numpy.float32), left=spread(sizes * 0, numpy.int16),
                      top=spread(sizes * -0.7, numpy.int16), width=width, height=height,
                      offset=numpy.zeros(shape, numpy.int64))
    metrics.save(folder)
    numpy.save(pathlib.Path(folder) / "pixels.npy", numpy.full(max(SIZES) ** 2, 255, numpy.uint8))
    return metrics


def tiny_package(folder):
    """A package of the small model's layout with two layers of width 64 and random weights."""
    import torch
    from safetensors.torch import save_file
    from export import COPIED_FILES
    from model import PACKAGE_PREFIX, Config, HunyuanOcr, initialize
    folder = pathlib.Path(folder)
    folder.mkdir()
    for name in COPIED_FILES:
        (folder / name).write_bytes((PACKAGE / name).read_bytes())
    config = json.loads((PACKAGE / "config.json").read_text())
    config["text_config"].update(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
                                 num_key_value_heads=1)
    config["vision_config"].update(hidden_size=64, intermediate_size=96, num_hidden_layers=2, text_hidden_size=64,
                                   out_hidden_size=64)
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(1)
    model = HunyuanOcr(Config.load(folder))
    initialize(model)
    save_file({PACKAGE_PREFIX + name: tensor.bfloat16() for name, tensor in model.state_dict().items()},
              str(folder / "model.safetensors"))


def small_corpus():
    from text import Corpus
    return Corpus.load(held_out=False, limit=12)


class TextTest(unittest.TestCase):
    def test_same_seed_gives_the_same_text(self):
        from text import TextSource
        corpus = small_corpus()
        first, second = (TextSource(corpus, random.Random(3)).words(400) for _ in range(2))
        self.assertEqual(first, second)
        self.assertGreater(len(" ".join(first)), 300)

    def test_training_and_evaluation_share_no_module(self):
        from text import Corpus
        train, held_out = (Corpus.load(part, limit=20) for part in (False, True))
        self.assertFalse({"\n".join(block) for block in train.programs}
                         & {"\n".join(block) for block in held_out.programs})

    def test_every_generator_gives_drawable_text(self):
        from characters import INDEX
        from text import TextSource
        source = TextSource(small_corpus(), random.Random(5))
        for make in (source.token, source.sentence, source.title, source.person, source.terminal_line, source.date,
                     source.phone, source.price, source.address, lambda: " ".join(source.field()),
                     lambda: " ".join(source.purchase()), lambda: source.cell("words")):
            for _ in range(50):
                text = make()
                self.assertTrue(text.strip())
                self.assertFalse([c for c in text if c != " " and c not in INDEX], text)


class ScoringTest(unittest.TestCase):
    def test_edit_distance_equals_the_plain_recurrence(self):
        from scoring import edit_distance
        generator = random.Random(1)
        for _ in range(200):
            first, second = ("".join(generator.choices("abc", k=generator.randint(0, 12))) for _ in range(2))
            previous = list(range(len(second) + 1))
            for row, left in enumerate(first, 1):
                current = [row]
                for column, right in enumerate(second, 1):
                    current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (left != right)))
                previous = current
            self.assertEqual(edit_distance(first, second), previous[-1], (first, second))

    def test_lost_and_repeated_lines_are_seen(self):
        from scoring import score_page
        truth = "the first line\nanother one\nand the last"
        self.assertFalse(score_page(truth, truth, False, "text").lines_wrong)
        self.assertTrue(score_page(truth, "the first line\nand the last", False, "text").lines_wrong)
        self.assertTrue(score_page(truth, truth + "\nand the last", False, "text").lines_wrong)

    def test_boxes_are_compared(self):
        from scoring import score_page
        truth, answer = "some text(0,0),(100,100)", "some text(0,0),(100,50)"
        score = score_page(truth, answer, False, "spotting")
        self.assertEqual((score.errors, score.overlap), (0, 0.5))


@needs_numpy
class LayoutTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.metrics = made_up_atlas(cls.folder.name)
        cls.corpus = small_corpus()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def page(self, kind, seed=1, scale=1):
        from layout import make_page
        from text import TextSource
        generator = random.Random(seed)
        return make_page(generator, TextSource(self.corpus, generator), self.metrics, 384, 352, scale, 900, kind)

    def test_every_kind_draws_its_transcript(self):
        from atlas import COLUMNS, SPACE
        from layout import KINDS
        for kind in KINDS:
            for seed in range(3):
                page = self.page(kind, seed, scale=1 + seed % 2)
                self.assertTrue(page.lines, kind)
                self.assertEqual(len(page.lines), len(page.boxes))
                for line in page.lines:
                    self.assertEqual(line, " ".join(line.split()), kind)
                columns = page.glyphs[:, 0] % COLUMNS
                self.assertFalse((columns == SPACE).any())
                written = sum(len(line.replace(" ", "")) for line in page.lines)
                # A ligature is one glyph for two characters.
                self.assertLessEqual(abs(written - len(columns)), 0.1 * written + 2, kind)

    def test_every_character_of_a_line_has_a_place_within_its_box(self):
        from layout import KINDS
        for kind in KINDS:
            for seed in range(3):
                page = self.page(kind, seed)
                self.assertEqual(len(page.places), len(page.lines))
                for line, box, places in zip(page.lines, page.boxes, page.places):
                    self.assertEqual(len(places), len(line.replace(" ", "")), (kind, line))
                    self.assertTrue((places[:, 0] >= box[0]).all() and (places[:, 0] <= box[2]).all(), (kind, line))
                    self.assertTrue((places[:, 1] >= box[1]).all() and (places[:, 1] <= box[3]).all(), (kind, line))

    def test_left_column_comes_first(self):
        for seed in range(5):
            boxes = self.page("columns", seed).boxes
            centres = [(box[0] + box[2]) / 2 for box in boxes]
            jumps = [second < first for first, second in zip([box[1] for box in boxes], [box[1] for box in boxes][1:])]
            self.assertLessEqual(sum(jumps), 1, "reading goes up the page once, to the second column")
            if True in jumps:
                turn = jumps.index(True) + 1
                self.assertGreater(centres[turn], min(centres[:turn]))

    def test_a_font_without_a_character_draws_and_says_its_replacement(self):
        from layout import Style
        self.assertEqual(Style(self.metrics, 0, 20).drawable("café  “x”"), "café “x”")
        self.assertEqual(Style(self.metrics, 1, 20).drawable("café  “x”"), 'cafe "x"')


@needs_torch
class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        torch.set_num_threads(1)
        cls.folder = tempfile.TemporaryDirectory()
        made_up_atlas(cls.folder.name)
        cls.package = pathlib.Path(cls.folder.name) / "package"
        tiny_package(cls.package)
        cls.corpus_path = pathlib.Path(cls.folder.name) / "corpus"
        cls.corpus_path.write_bytes(pickle.dumps(small_corpus()))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def trainer(self):
        from train import Trainer
        return Trainer(argparse.Namespace(
            package=str(self.package), atlas=self.folder.name, corpus=str(self.corpus_path),
            output=str(pathlib.Path(self.folder.name) / "run"), seed=1, fresh=False))

    def batch(self):
        from data import BatchMaker
        from text import TextSource
        from layout import make_page
        from data import PROMPTS, collate
        maker = BatchMaker(self.package, self.folder.name, small_corpus(), 1, 64)
        pages = [make_page(maker.random, maker.text, maker.metrics, 128, 64, 2, 60) for _ in range(2)]
        tokens = [maker.tokenizer.encode("\n".join(page.lines)).ids for page in pages]
        return collate(pages, tokens, maker.metrics, maker.stop, maker.padding, prompt=PROMPTS["text"][0][0],
                       task="text", grid_height=4, grid_width=8, scale=2)

    def test_steps_lower_the_loss_and_a_run_goes_on_from_its_checkpoint(self):
        import torch
        from safetensors.torch import load_file
        trainer, batch = self.trainer(), self.batch()
        losses = [trainer.train_step(batch, 1e-3)[0].item() for _ in range(8)]
        self.assertLess(sum(losses[-2:]), sum(losses[:2]))
        trainer.save()
        again = self.trainer()
        self.assertEqual(again.step, trainer.step)
        for name, tensor in trainer.model.state_dict().items():
            self.assertTrue(torch.equal(tensor, again.model.state_dict()[name]), name)
        written = load_file(str(trainer.output / "package" / "model.safetensors"))
        self.assertEqual(written.keys(), load_file(str(self.package / "model.safetensors")).keys())
        self.assertTrue(all(tensor.dtype == torch.bfloat16 for tensor in written.values()))

    def test_tokens_stand_where_their_characters_do(self):
        import numpy
        from data import token_places
        from layout import Page
        page = Page(None, None, ["ab c", "d"], [], [numpy.array([[1, 5], [2, 5], [4, 5]], numpy.float32),
                                                    numpy.array([[1, 9]], numpy.float32)], False)
        text, offsets = "ab c\nd", [(0, 2), (2, 4), (4, 5), (5, 6)]
        places = token_places(page, text, offsets)
        # ab, " c", the end of the line at its last character, d, the stop token at the last character
        self.assertEqual(places.tolist(), [[1, 5], [4, 5], [4, 5], [1, 9], [1, 9]])
        text, offsets = "ab c(0,1)\nd(2,3)", [(0, 2), (2, 4), (4, 5), (8, 9), (9, 10), (10, 11)]
        places = token_places(page, text, offsets)
        self.assertEqual(places[[0, 1, 5]].tolist(), [[1, 5], [4, 5], [1, 9]])
        self.assertTrue(numpy.isnan(places[[2, 3, 4, 6]]).all())

    def test_pointing_loss_is_least_at_the_place_and_shared_between_cells(self):
        import torch
        from train import pointing_loss
        places = torch.tensor([[[1.5, 0.5], [2.0, 0.5], [float("nan")] * 2]])  # middle of cell 1; between 1 and 2
        sharp = torch.zeros(1, 3, 8)
        sharp[0, 0, 1] = sharp[0, 1, 1] = sharp[0, 1, 2] = 40
        self.assertAlmostEqual(pointing_loss([sharp], places, 2, 4).item(), 0.5 * math.log(2), 4)
        self.assertAlmostEqual(pointing_loss([torch.zeros(1, 3, 8)], places, 2, 4).item(), math.log(8), 4)
        self.assertAlmostEqual(pointing_loss([torch.zeros(1, 3, 4)], places, 1, 4).item(), math.log(4), 4)

    def test_pointing_scores_are_those_of_attention_and_change_nothing(self):
        import torch
        from model import HunyuanOcr
        model = HunyuanOcr.from_package(self.package).eval()
        torch.manual_seed(4)
        pictures, ids = torch.randn(2, 3, 64, 96), torch.randint(0, 1000, (2, 7))
        with torch.no_grad():
            hidden, pointers = model.forward_pointing(pictures, ids, 5)
            self.assertTrue(torch.equal(hidden, model(pictures, ids)[:, -5:]))
            x, _ = model.embed(pictures, ids)
            cosine, sine = model.rotary(x.shape[1], 4, 6)
            layer = model.language_model.layers[0]
            query, key, _ = layer.self_attn.project(layer.input_layernorm(x), cosine, sine)
        scores = (query[:, 0, -5:] @ key[:, 0].mT) / model.config.head_size ** 0.5
        cells = [3 + row * 4 + column for row in range(2) for column in range(3)]
        self.assertTrue(torch.allclose(pointers[0], scores[:, :, cells], atol=1e-5))

    def test_draft_blocks_see_only_their_past_and_the_loss_falls(self):
        import torch
        from draft import Draft, DraftConfig
        from train_draft import DraftTrainer
        folder = pathlib.Path(self.folder.name) / "dflash"
        folder.mkdir(exist_ok=True)
        config = json.loads((PACKAGE / "dflash" / "config.json").read_text())
        config.update(hidden_size=64, intermediate_size=96, num_attention_heads=2, num_key_value_heads=1, block_size=4)
        config["dflash_config"]["target_layer_ids"] = [0, 1]
        (folder / "config.json").write_text(json.dumps(config))
        trainer = DraftTrainer(argparse.Namespace(
            package=str(self.package), draft=str(folder), go_on=False, atlas=self.folder.name, seed=1,
            output=str(folder)))
        features, blocks = torch.randn(1, 9, 128), torch.randn(1, 2, 4, 64)
        anchors = torch.tensor([[3, 6]])
        with torch.no_grad():
            before = trainer.draft(features, blocks, anchors)
            features[:, 3:] += 1  # not before the first anchor: only the second block may notice
            after = trainer.draft(features, blocks, anchors)
        self.assertTrue(torch.allclose(before[:, 0], after[:, 0], atol=1e-6))
        self.assertFalse(torch.allclose(before[:, 1], after[:, 1], atol=1e-3))
        material = trainer.read(self.batch())
        losses = [trainer.step(*material, 2e-3)[0].item() for _ in range(12)]
        self.assertLess(sum(losses[-3:]), sum(losses[:3]))
        trainer.save()
        self.assertEqual(Draft.from_package(folder).config.block, DraftConfig(folder).block)

    def test_the_renderer_copies_glyphs_and_fills_rectangles(self):
        import torch
        from atlas import COLUMNS, SIZES
        from render import Renderer
        renderer = Renderer(self.folder.name, "cpu")
        row = SIZES.index(20)  # blocks of 8 x 14
        glyphs = torch.tensor([[0, row * COLUMNS, 3, 4, 255], [1, row * COLUMNS, -2, 30, 255]], dtype=torch.int32)
        rectangles = torch.tensor([[0, 20, 1, 24, 3, 0.5, 0], [1, 0, 0, 40, 5, 0, 1]])
        masks = renderer.masks(glyphs, rectangles, 2 * 8 * 14, 2, 40, 40)
        expected = torch.zeros(2, 1, 40, 40)
        expected[0, 0, 4:18, 3:11] = 1
        expected[0, 0, 1:3, 20:24] = 0.5
        expected[1, 0, 30:40, 0:6] = 1   # cut off at the left and at the bottom
        expected[1, 0, 0:5, :] = 1       # inverted ground
        self.assertTrue(torch.allclose(masks, expected))

    def test_every_appearance_gives_finite_pictures(self):
        import torch
        from render import Renderer
        torch.manual_seed(0)
        renderer = Renderer(self.folder.name, "cpu")
        for photograph in (False, True):
            for _ in range(6):
                pictures = renderer.pictures(torch.rand(2, 1, 64, 128).round(), torch.tensor([True, False]), 2, photograph)
                self.assertEqual(tuple(pictures.shape), (2, 3, 32, 64))
                self.assertTrue(torch.isfinite(pictures).all())

    def test_decoding_step_by_step_equals_decoding_at_once(self):
        import torch
        from model import HunyuanOcr
        model = HunyuanOcr.from_package(self.package).eval()
        torch.manual_seed(2)
        pictures, prompt = torch.randn(2, 3, 64, 96), [40, 300, 1003]
        answers = model.generate(pictures, prompt, 6)
        ids = torch.tensor([prompt] * 2)
        with torch.no_grad():
            for _ in range(6):
                ids = torch.cat([ids, model.logits(model(pictures, ids)[:, -1:]).argmax(-1)], 1)
        stop = model.config.stop
        for row, expected in zip(answers.tolist(), ids[:, 3:].tolist()):
            end = expected.index(stop) + 1 if stop in expected else len(expected)
            self.assertEqual(row[:end], expected[:end])

    @needs_transformers
    def test_logits_equal_the_official_class(self):
        import torch
        from transformers import AutoModelForImageTextToText
        from model import HunyuanOcr
        model = HunyuanOcr.from_package(self.package).eval()
        official = AutoModelForImageTextToText.from_pretrained(self.package, dtype=torch.float32).eval()
        torch.manual_seed(3)
        config, rows, columns = model.config, 6, 10
        pictures, ids = torch.randn(2, 3, rows * 16, columns * 16), torch.randint(0, 1000, (2, 9))
        count = (rows // 2) * (columns // 2 + 1) + 2
        framed = torch.tensor([[config.begin, config.image_start] + [config.image] * count + [config.image_end]] * 2)
        framed = torch.cat([framed, ids], 1)
        patches = pictures.view(2, 3, rows, 16, columns, 16).permute(0, 2, 4, 1, 3, 5).reshape(-1, 768)
        with torch.no_grad():
            expected = official(input_ids=framed, pixel_values=patches,
                                image_grid_thw=torch.tensor([[1, rows, columns]] * 2),
                                mm_token_type_ids=(framed == config.image).long()).logits[:, -9:]
            found = model.logits(model(pictures, ids))
        error = (found - expected).norm() / expected.norm()
        self.assertLess(error.item(), 1e-4)


if __name__ == "__main__":
    unittest.main()
