"""Makes tests/golden/text/: what Python and Hugging Face's tokenizers give for the texts of the unit tests.

    python make_tokenizer_goldens.py                        everything that is committed
    python make_tokenizer_goldens.py --large DIR            a vocabulary of 120 000 and 2 500 texts, into DIR
                                                            (tokenizer.json, texts.json, ids.json), not committed

Needs the package tokenizers. The output depends on the seed alone. Characters newer than Unicode 13 are kept out: the
regular expression libraries of the two sides know different versions beyond it.
"""

import argparse
import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "text"

HUNYUAN_REGEX = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HUNYUAN_SPECIAL = ["<｜hy_begin▁of▁sentence｜>", "<｜hy_end▁of▁sentence｜>", "<｜hy_▁pad▁｜>", "<｜hy_User｜>",
                   "<｜hy_Assistant｜>"] + [f"<｜hy_place▁holder▁no▁{i}｜>" for i in (3, 100, 101, 102)]

CHINESE = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
    "十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平"
    "形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党"
    "程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干"
    "做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单"
    "风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界"
    "拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构"
    "府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价"
    "严首底液官德随病苏失尔死讲配女黄推显谈罪神艺呢席含企望密批营项防举球英氧势告李台落木帮轮破亚师围注远字材排供河态封另施减树溶"
)
PUNCTUATION = "，。、；：？！“”‘’（）《》【】…—·～"
WORDS = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one "
    "you were all her she there would their we him been has when who will no more if out so up said what its about than "
    "into them can only other time new some could these two may first then do any like my now over such our man even most "
    "document picture page table formula layout engine tokenizer quantised vocabulary inference attention decoder "
    "international understanding representation don't we'll it's I've they're he'd O'Neill naïve café Zürich"
).split()
CODE = (
    "int main() {\n    return 0;\n}\n|def f(x):\n\treturn x ** 2  # square\n|for (size_t i = 0; i < n; ++i) sum += a[i];|"
    "std::vector<std::string> names;|{\"box\": [0, 12, 345, 1000], \"text\": \"abc\"}|\\frac{a}{b} + \\sqrt{x_{1}^{2}}|"
    "<table><tr><td>1</td><td>2</td></tr></table>|if x != y && !(z || w): print(f'{x:>10.2f}')|# Title\n\n- item\n- item\n|"
    "https://example.org/a/b?c=d&e=f#g|$E = mc^2$|```mermaid\ngraph TD;\n  A-->B;\n```"
).split("|")
NASTY = [
    "", " ", "  ", "\n", "\r\n", "\t", "\0", "a\0b", "\0\0", " \n \n  x", "a\r\n\r\nb", "\r\r\n\n", "   leading", "trailing   ",
    "a  b   c    d", "\u00a0x\u00a0", "\u3000全角空格\u3000", "a\u200bb\u200db", "\u180e\u180ex", "\u2028\u2029", "\u0085x",
    "e\u0301 é e\u0301\u0323", "\u0301\u0302", "क्षत्रिय नमस्ते", "สวัสดีครับ", "שלום עולם", "مرحبا بالعالم", "한국어 토크나이저",
    "ひらがなカタカナ漢字ー・", "ｶﾀｶﾅ", "ゟ゠ヿ一龥龦", "㐀䶵𠀀", "👍", "👩‍👩‍👧‍👦", "🇨🇳🇺🇸", "👍🏽x", "😀😀😀", "a👍b", "☃️", "①②③", "Ⅳ", "½ ¼", "１２３４５",
    "٣٤٥", "1", "12", "123", "1234", "12345678901234567890", "3.14159", "1,000,000", "0x1F", "2024年12月31日", "第3章 第12节",
    "don't DON'T Don'T I'LL we'Re", "'s 'S 'ſ x'K", "''''", "!!!???", "...", "。。。", "…………", "，，a", ".abc.DEF", "(hello)world", "[x]y{z}",
    "a_b_c __init__", "snake_case camelCase", "<|im_end|>", "<｜hy_User｜>", "x<｜hy_User｜>y", " <｜hy_Assistant｜> ",
    "<｜hy_place▁holder▁no▁3｜><｜hy_place▁holder▁no▁100｜>", "<｜hy_place▁holder▁no▁", "<｜hy_place▁holder▁no▁1｜>", "<｜hy_begin▁of▁sentence｜",
    "<<｜hy_User｜>>", "｜hy_User｜", "\ufeffBOM", "\ufffd\ufffd", "\uffff", "\U0010ffff", "\x7f\x80\x9f", "ß ẞ ſ K Å", "ﬁ ﬂ ŉ", "İi̇ıI",
    "a" * 300, "ab" * 200, "的" * 120, "中文" * 70, " " * 300, "\n" * 100, "1" * 100, "!" * 200, "aA" * 60 + "1" * 7 + "的" * 9,
]


def chinese(rng, count):
    return "".join(rng.choice(CHINESE) for _ in range(count))


def make_texts(rng, count, longest=24):
    """`count` texts, half of them Chinese or mixed with it."""
    texts = []
    while len(texts) < count // 2:
        pieces = []
        for _ in range(rng.randint(1, 3)):
            pieces.append(chinese(rng, rng.randint(1, max(2, longest // 3))))
            pieces.append(rng.choice([rng.choice(PUNCTUATION), "", "", str(rng.randint(0, 10 ** rng.randint(1, 7))),
                                      rng.choice(WORDS), " " + rng.choice(WORDS) + " ", "\n", "%", "👍"]))
        texts.append("".join(pieces))
    while len(texts) < count:
        kind = rng.random()
        if kind < 0.5:
            texts.append(rng.choice(["", " "]) + rng.choice([" ", " ", "  ", "\n", ", "]).join(
                rng.choice(WORDS) if rng.random() < 0.9 else str(rng.randint(0, 99999)) for _ in range(rng.randint(1, 8))))
        elif kind < 0.65:
            texts.append(rng.choice(CODE)[:rng.randint(3, 60)])
        elif kind < 0.85:
            alphabet = "ab 1\n\r\t'.-_的，é\u0301👍 \u00a0٣ß"
            texts.append("".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest))))
        else:  # any assigned block up to Unicode 13, and the text of special tokens in places
            text = "".join(chr(rng.choice([rng.randint(0x20, 0x24F), rng.randint(0x370, 0x4FF), rng.randint(0x900, 0x97F),
                                           rng.randint(0x3040, 0x30FF), rng.randint(0x4E00, 0x9FA5),
                                           rng.randint(0x1F600, 0x1F64F)])) for _ in range(rng.randint(1, 10)))
            texts.append(text + rng.choice(["", "", "<｜hy_User｜>"]))
    return texts


def training_texts(rng, count):
    """Text with the uneven frequencies of language, so that merges of several lengths are learned."""
    words = WORDS + ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randint(3, 9))) for _ in range(400)]
    compounds = [chinese(rng, rng.randint(2, 4)) for _ in range(400)]
    pick = lambda items: items[min(int(rng.expovariate(6.0 / len(items))), len(items) - 1)]
    for _ in range(count):
        english = " ".join(pick(words) for _ in range(rng.randint(3, 12)))
        mandarin = "".join(pick(compounds) if rng.random() < 0.6 else pick(CHINESE) for _ in range(rng.randint(3, 12)))
        yield english.capitalize() + ". " + mandarin + pick(PUNCTUATION) + (pick(CODE) if rng.random() < 0.3 else "") + "\n"


def hunyuan_pre_tokenizer():
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
        pre_tokenizers.Split(Regex("[一-龥぀-ゟ゠-ヿ]+"), "isolated"),
        pre_tokenizers.Split(Regex(HUNYUAN_REGEX), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False),
    ])


def train_hunyuan(rng, vocabulary_size, texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = hunyuan_pre_tokenizer()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocabulary_size, show_progress=False, min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in HUNYUAN_SPECIAL])
    return tokenizer


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def save_minified(tokenizer, path):
    write_json(path, json.loads(tokenizer.to_str()))


def encode_both(tokenizer, texts):
    """ids with special tokens recognised; with them as text, only where that differs (by index)."""
    tokenizer.encode_special_tokens = False
    recognised = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    tokenizer.encode_special_tokens = True
    as_text = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    tokenizer.encode_special_tokens = False
    return {"recognised": recognised,
            "as_text": {str(i): ids for i, ids in enumerate(as_text) if ids != recognised[i]}}


def decode_cases(rng, tokenizer, count):
    size = tokenizer.get_vocab_size()
    cases = []
    for _ in range(count):
        ids = [rng.randrange(size) if rng.random() < 0.9 else rng.choice([size + 7, size - 1, size - 2])
               for _ in range(rng.randint(1, 8))]
        cases.append({"ids": ids, "skip": tokenizer.decode(ids, skip_special_tokens=True),
                      "keep": tokenizer.decode(ids, skip_special_tokens=False)})
    return cases


def utf8_cases(rng):
    """Bytes and what Python's decoder makes of them."""
    pieces = [b"a", b"\xc3\xa9", b"\xe4\xb8\xad", b"\xf0\x9f\x91\x8d", b"\x80", b"\xbf", b"\xc0\x80", b"\xc1", b"\xc2",
              b"\xe0\x80\x80", b"\xe0\xa0", b"\xe4", b"\xe4\xb8", b"\xed\xa0\x80", b"\xed\x9f\xbf", b"\xef\xbf\xbd",
              b"\xf0\x80\x80\x80", b"\xf0\x90", b"\xf0\x9f", b"\xf0\x9f\x91", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
              b"\xf5", b"\xff", b"\x00", b"12345678"]
    cases = [b""] + pieces
    cases += [b"".join(rng.choice(pieces) for _ in range(rng.randint(2, 6))) for _ in range(200)]
    cases += [bytes(rng.choice([0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4])
                    for _ in range(rng.randint(1, 6))) for _ in range(200)]
    return [[case.hex(), case.decode("utf-8", errors="replace")] for case in cases]


ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())


def tiny(tokens, merges, pre_tokenizer, ignore_merges=False, normalizer=None, added=(), special=(), alphabet=True,
         **options):
    """A tokenizer of the byte alphabet and a few tokens, written by hand."""
    vocabulary = {token: i for i, token in enumerate((ALPHABET if alphabet else []) + list(tokens))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges), ignore_merges=ignore_merges, **options))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(list(added))
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def tiny_tokenizers():
    split, byte_level = pre_tokenizers.Split, pre_tokenizers.ByteLevel
    plain = byte_level(add_prefix_space=False, use_regex=False)
    word = ["wo", "rd", "word", "Ġword"]
    word_merges = [("w", "o"), ("r", "d"), ("wo", "rd"), ("Ġ", "word")]
    abc = ["ab", "bc", "abc", "ab-", "-ab", "--"]
    abc_merges = [("b", "c"), ("a", "b"), ("a", "bc"), ("ab", "-"), ("-", "ab"), ("-", "-")]
    out = {
        "word_and_space_word": tiny(word, word_merges, byte_level(add_prefix_space=False)),
        "prefix_space": tiny(word, word_merges, byte_level(add_prefix_space=True)),
        "prefix_space_each_piece": tiny(word, word_merges, pre_tokenizers.Sequence(
            [split("-", "removed"), byte_level(add_prefix_space=True, use_regex=True)])),
        # "word" is a token that the merges never reach.
        "ignore_merges": tiny(word[:2] + ["word", "Ġword"], word_merges[:2], byte_level(add_prefix_space=False),
                              ignore_merges=True),
        "without_ignore_merges": tiny(word[:2] + ["word", "Ġword"], word_merges[:2], byte_level(add_prefix_space=False)),
        "literal_dot": tiny(abc, abc_merges, pre_tokenizers.Sequence([split(".", "isolated"), plain])),
        "literal_empty": tiny(abc, abc_merges, pre_tokenizers.Sequence([split("", "isolated"), plain])),
        "regex_empty_match": tiny(abc, abc_merges, pre_tokenizers.Sequence([split(Regex("-*"), "isolated"), plain])),
        "digits": tiny(["11", "1a"], [("1", "1"), ("1", "a")], pre_tokenizers.Sequence([pre_tokenizers.Digits(True), plain])),
        "digit_runs": tiny(["11", "1a"], [("1", "1"), ("1", "a")],
                           pre_tokenizers.Sequence([pre_tokenizers.Digits(False), plain])),
        "chained": tiny(abc, abc_merges, pre_tokenizers.Sequence(
            [pre_tokenizers.Sequence([split(Regex(r"\d"), "merged_with_next"), split("-", "merged_with_previous")]), plain])),
        "classes": tiny(abc, abc_merges, pre_tokenizers.Sequence(
            [split(Regex(r"(?i:AB)|\b\w|[\s\w]{2}|\h+\v|\p{Han}+|\p{^L}\u0062|^x|y$|[]c-]"), "isolated"), plain])),
        "missing_bytes": tiny(["a", "b", "ab"], [("a", "b")], plain, alphabet=False),
        "unknown": tiny(["a", "b", "ab", "<unk>"], [("a", "b")], plain, alphabet=False, unk_token="<unk>"),
        "unknown_fused": tiny(["a", "b", "ab", "<unk>"], [("a", "b")], plain, alphabet=False, unk_token="<unk>", fuse_unk=True),
        "nfc": tiny([], [], plain, normalizer=normalizers.NFC(), added=[AddedToken("é!", normalized=True)]),
        "nfkd": tiny([], [], plain, normalizer=normalizers.NFKD()),
        "normalizers": tiny([], [], plain, normalizer=normalizers.Sequence(
            [normalizers.NFD(), normalizers.NFKC(), normalizers.Prepend("_"), normalizers.Replace(" ", "_"),
             normalizers.Replace(Regex("-+"), "=")])),
        "added": tiny(abc, abc_merges, plain,
                      added=[AddedToken("[one]", single_word=True, normalized=False), AddedToken("[left]", lstrip=True),
                             AddedToken("[right]", rstrip=True, normalized=False), AddedToken("[on", normalized=False),
                             AddedToken("a b", normalized=True)],
                      special=[AddedToken("<s>", normalized=False), AddedToken("<s><s>", normalized=False),
                               AddedToken("<both>", lstrip=True, rstrip=True, normalized=False)]),
    }
    for behavior in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            out[f"{behavior}{'_inverted' if invert else ''}"] = tiny(
                abc, abc_merges, pre_tokenizers.Sequence([split("-", behavior, invert), plain]))
    return out


TINY_TEXTS = [
    "", "word", " word", "word word", "  word", "words word-word- word", "a word-", "--", "-", "ab-ab", "ab--ab-", "--ab--abc--", "-a-b-c-",
    "abc-abc", "abcabc", "a.b..c", ".", "ab.ab", "11a11", "1a 111", "²1½1a", "7ab-7-ab77", "aB AB_ab\u180eb \u00a0ab",
    "x\nx y\ny中文ab1b.b]c-", "deadbeef\v\x0b", "中b，b", "é e\u0301! é! ﬁ ①", "a - b -- c", "가 가", "x[one]y [one] [one]", "[one][one]",
    "a [left] [left]b  [right]  c[right] [left]", "[on[one] [o", "<s><s><s> <s", "x  <both>  <both> y", "a b a  b", "\n<both>\u3000\u00a0z",
    "é[one]", "_[one]", "Ⓐ[one]", "abzzab", "zzab z", "的",
]


def make_committed():
    rng = random.Random(20260101)
    GOLDEN.mkdir(parents=True, exist_ok=True)
    write_json(GOLDEN / "utf8.json", utf8_cases(rng))
    texts = NASTY + make_texts(rng, 910)
    write_json(GOLDEN / "texts.json", texts)
    hunyuan = train_hunyuan(rng, 2000, training_texts(rng, 3000))
    save_minified(hunyuan, GOLDEN / "hunyuan_2000.json")
    nano = Tokenizer.from_file(str(ROOT / "models" / "nano" / "tokenizer.json"))
    for name, tokenizer in (("hunyuan_2000", hunyuan), ("nano", nano)):
        write_json(GOLDEN / f"{name}_ids.json",
                   {**encode_both(tokenizer, texts), "decode": decode_cases(rng, tokenizer, 100)})
    write_json(GOLDEN / "tiny.json", {"texts": TINY_TEXTS, "tokenizers": {
        name: {"file": json.loads(tokenizer.to_str()), **encode_both(tokenizer, TINY_TEXTS)}
        for name, tokenizer in tiny_tokenizers().items()}})


def make_large(folder):
    rng = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    # Random syllables give enough different words for 120 000 tokens.
    syllables = [a + b + c for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ai", "ou") for c in ("", "n", "r", "st")]
    words = ["".join(rng.choice(syllables) for _ in range(rng.randint(1, 4))) for _ in range(90000)]
    compounds = [chinese(rng, rng.randint(2, 5)) for _ in range(90000)]

    def training():
        for _ in range(60000):
            yield " ".join(rng.choice(words) for _ in range(8)) + "。" + "，".join(rng.choice(compounds) for _ in range(8)) + "\n"

    tokenizer = train_hunyuan(rng, 120000, training())
    tokenizer.save(str(folder / "tokenizer.json"))
    texts = NASTY + make_texts(rng, 1500) + [
        " ".join(rng.choice(words) for _ in range(10)) + "".join(rng.choice(compounds) for _ in range(10)) for _ in range(1000)]
    write_json(folder / "texts.json", texts)
    write_json(folder / "ids.json", {**encode_both(tokenizer, texts), "decode": decode_cases(rng, tokenizer, 300)})
    print("vocabulary", tokenizer.get_vocab_size(), "texts", len(texts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=pathlib.Path, metavar="DIR", help="make the 120 000-entry comparison there instead")
    arguments = parser.parse_args()
    if arguments.large:
        make_large(arguments.large)
    else:
        make_committed()


if __name__ == "__main__":
    main()
