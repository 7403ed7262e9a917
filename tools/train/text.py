"""The strings of training pages: words, numbers, codes, sentences and program lines.

Real English and real program text come from the Python standard library of the machine that runs this (docstrings
and sources), so that nothing has to be shipped; the spelling of rare words comes from a dictionary file when one is
given. Modules whose name hashes to 0 modulo 10 are kept for evaluation. Layout lives in layout.py; nothing here knows
about pictures.
"""

import ast
import collections
import dataclasses
import pathlib
import random as random_module
import re
import string
import sysconfig
import zlib

from characters import INDEX

HELD_OUT_MODULUS = 10
PUNCTUATION_MARKS = ".,;:!?"
ASCII_SYMBOLS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
UNICODE_SYMBOLS = "–—“”‘’…•©®™°£€§±×½²µ«»"
ACCENTED_WORDS = (
    "café résumé naïve façade Zürich München São señor niño garçon crème brûlée fiancée déjà Málaga Bogotá François "
    "Müller Jörg Håkon Åsa Ærø Göteborg cliché entrée touché Peña Núñez Straße Übung Größe élève hôtel forêt "
    "château où être über Éire").split()
UNITS = "kg g mg km m cm mm l ml s ms h kW kWh V A Hz MHz GB MB °C °F % px pt in ft lb oz".split()
FIRST_NAMES = ("Anna James Maria John Olivia Peter Laura David Emma Thomas Sarah Daniel Julia Martin Helen Robert Nina "
               "George Alice Frank Clara Victor Irene Oscar Paula Simon Edith Henry Ruth Walter").split()
LAST_NAMES = ("Smith Jones Miller Brown Wilson Taylor Clark Lewis Walker Young King Wright Scott Green Baker Adams "
              "Nelson Carter Mitchell Turner Phillips Campbell Parker Evans Edwards Collins Stewart Morris").split()
STREETS = "Street Road Avenue Lane Drive Court Place Square Way Boulevard".split()
CITIES = ("London Boston Leeds Denver Austin Dublin Bristol Oxford Chicago Portland Seattle Geneva Vienna Oslo Madrid "
          "Lisbon Toronto Sydney Perth Dallas").split()
PRODUCTS = ("Coffee Tea Milk Bread Butter Cheese Apples Bananas Oranges Rice Pasta Chicken Salmon Tomatoes Onions "
            "Potatoes Sugar Salt Pepper Flour Eggs Yogurt Juice Water Soap Shampoo Paper Towels Batteries Pen Notebook "
            "Stapler Cable Adapter Lamp Chair Desk Screws Paint Brush Hammer Gloves Socks Shirt Jacket Burger Fries "
            "Salad Soup Pizza Sandwich Muffin Cookie").split()
FIELD_LABELS = ("Name|Address|City|Date|Invoice No|Order No|Customer ID|Phone|E-mail|Amount|Total|Subtotal|Tax|VAT|"
                "Due date|Reference|Account|IBAN|Quantity|Unit price|Description|Status|Department|Manager|Country|"
                "Postal code|Birth date|Nationality|Passport No|Expiry date|Serial number|Model|Version|Weight|"
                "Height|Width|Length|Temperature|Pressure|Voltage|Power|Speed|Location|Category|Priority|Comments|"
                "Signature|Approved by|Prepared by|Contact|Website|Fax|Balance|Payment method|Currency|Discount|"
                "Shipping|Start time|End time|Duration|Room|Floor|Gate|Seat|Flight|Class|Score|Grade|Result").split("|")


@dataclasses.dataclass
class Corpus:
    """Material that texts are drawn from; plain lists, so that it travels to worker processes."""

    common_words: list
    dictionary: list
    sentences: list
    programs: list  # each a list of source lines

    @staticmethod
    def load(held_out, dictionary_path=None, limit=None):
        """Reads the standard library: `held_out` picks the evaluation part; `limit` bounds the number of modules."""
        sentences, programs, counts = [], [], collections.Counter()
        folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
        paths = [path for path in sorted(folder.rglob("*.py"))
                 if not {"test", "tests", "site-packages", "dist-packages", "idle_test"} & set(path.parts)
                 and is_held_out(str(path.relative_to(folder))) == held_out]
        for path in paths[:limit]:
            source = path.read_text(encoding="utf-8", errors="replace")
            try:
                tree = ast.parse(source)
            except SyntaxError:  # templates of lib2to3 and the like
                continue
            found = [sentence for docstring in docstrings(tree) for sentence in split_sentences(docstring)]
            sentences += found
            counts.update(re.findall(r"[a-z]+", " ".join(found).lower()))
            programs += program_blocks(source)
        common = [word for word, count in counts.most_common(4000) if count > 1]
        dictionary = common
        if dictionary_path:
            words = pathlib.Path(dictionary_path).read_text(encoding="utf-8").split()
            dictionary = [word for word in words if is_held_out(word) == held_out and all(c in INDEX for c in word)]
        if not sentences or not programs:
            raise ValueError(f"{folder}: no sources of the Python standard library; text needs them")
        return Corpus(common, dictionary, sentences, programs)


def is_held_out(name):
    """True for the part of names that only evaluation may use."""
    return zlib.crc32(name.encode()) % HELD_OUT_MODULUS == 0


def docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds):
            text = ast.get_docstring(node)
            if text:
                yield text


def split_sentences(docstring):
    """Sentences of 20 to 300 drawable characters, white space made single, examples of program text left out."""
    prose = " ".join(line for line in docstring.splitlines() if not line.lstrip().startswith((">>>", "...", "@", "+-")))
    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(prose.split())):
        if 20 <= len(sentence) <= 300 and sentence[0].isalnum() and all(c in INDEX or c == " " for c in sentence):
            yield sentence


def program_blocks(source, lines_per_block=40):
    """Runs of non-empty source lines (at most 100 characters, single spaces after the indentation)."""
    lines = []
    for line in source.splitlines():
        line = line.expandtabs(4).rstrip()
        body = " ".join(line.split())
        if body and all(c in INDEX or c == " " for c in body) and len(line) <= 100:
            lines.append(line[:len(line) - len(line.lstrip())] + body)
    return [lines[start:start + lines_per_block] for start in range(0, len(lines) - 4, lines_per_block)]


class TextSource:
    """Draws strings with one random generator. Not shared between threads.

    real_sentences and shuffled_sentences: the shares of sentences taken from the corpus as they stand and with their
    words in any order. Training wants fewer real ones than documents have: a model that knows its sentences goes on
    from memory where it should find the next line.
    """

    def __init__(self, corpus, random, real_sentences=0.6, shuffled_sentences=0.0):
        self.corpus = corpus
        self.random = random
        self.real_sentences, self.shuffled_sentences = real_sentences, shuffled_sentences

    def word(self):
        random, draw = self.random, self.random.random()
        if draw < 0.60:
            word = self.corpus.common_words[int(len(self.corpus.common_words) * random.random() ** 2.2)]
        elif draw < 0.94:
            word = random.choice(self.corpus.dictionary)
        else:
            word = "".join(random.choices(string.ascii_lowercase, k=random.randint(1, 9)))
        draw = random.random()
        if draw < 0.14:
            return word.capitalize()
        return word.upper() if draw < 0.20 else word

    def number(self):
        random = self.random
        form = random.randint(0, 11)
        if form == 0:
            return str(random.randint(0, 9999))
        if form == 1:
            return f"{random.randint(0, 99999):,}.{random.randint(0, 99):02d}"
        if form == 2:
            return self.price()
        if form in (3, 4):
            return self.date()
        if form == 5:
            return f"{random.randint(0, 23):02d}:{random.randint(0, 59):02d}"
        if form == 6:
            return f"{random.randint(0, 100)}%"
        if form == 7:
            return self.phone()
        if form == 8:
            return f"{random.random() * 1000:.{random.randint(1, 4)}f}"
        if form == 9:
            return f"{random.choice('-+')}{random.randint(0, 999)}"
        if form == 10:
            return f"{random.randint(1, 999)} {random.choice(UNITS)}"
        return "".join(random.choices(string.digits, k=random.randint(4, 14)))

    def price(self):
        random = self.random
        amount = f"{random.choice([random.random() * 20, random.random() * 2000]):,.2f}"
        return random.choice(["$", "$", "", "", "", "€", "£"]) + amount

    def date(self):
        random = self.random
        day, month, year = random.randint(1, 31), random.randint(1, 12), random.randint(1950, 2035)
        name = random.choice("January February March April May June July August September October November "
                             "December Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec".split())
        return random.choice([f"{day:02d}/{month:02d}/{year}", f"{year}-{month:02d}-{day:02d}",
                              f"{day:02d}.{month:02d}.{year}", f"{name} {day}, {year}", f"{day} {name} {year}"])

    def phone(self):
        random = self.random
        return random.choice(["+{} {} {} {}", "({1}) {2}-{3}", "{1}-{2}-{3}"]).format(
            random.randint(1, 99), random.randint(100, 999), random.randint(100, 999), random.randint(1000, 9999))

    def code(self):
        random = self.random
        alphabet = random.choice([string.ascii_uppercase + string.digits, string.ascii_letters + string.digits,
                                  string.hexdigits.lower(), string.digits])
        text = "".join(random.choices(alphabet, k=random.randint(3, 12)))
        return text[:len(text) // 2] + "-" + text[len(text) // 2:] if random.random() < 0.3 else text

    def address(self):
        """A mail address, a web address or a path."""
        random, draw = self.random, self.random.random()
        first, second, third = (random.choice(self.corpus.common_words) for _ in range(3))
        if draw < 0.35:
            return f"{first}.{second}@{third}.{random.choice(['com', 'org', 'net', 'io', 'edu'])}"
        if draw < 0.7:
            return (f"{random.choice(['https://', 'www.', 'http://'])}{first}{second}."
                    f"{random.choice(['com', 'org', 'net', 'io'])}/{third}")
        return f"/{first}/{second}/{third}.{random.choice(['txt', 'py', 'cpp', 'json', 'pdf', 'h'])}"

    def junk(self):
        return "".join(self.random.choices(string.ascii_letters + string.digits + ASCII_SYMBOLS,
                                           k=self.random.randint(1, 10)))

    def token(self):
        """One word-like string, mostly a word, with punctuation attached at times."""
        random, draw = self.random, self.random.random()
        if draw < 0.78:
            text = self.word()
        elif draw < 0.88:
            return self.number()
        elif draw < 0.92:
            return self.code()
        elif draw < 0.945:
            return self.address()
        elif draw < 0.965:
            return random.choice(ACCENTED_WORDS)
        elif draw < 0.975:
            return random.choice(UNICODE_SYMBOLS)
        else:
            return self.junk()
        draw = random.random()
        if draw < 0.10:
            return text + random.choice(PUNCTUATION_MARKS)
        if draw < 0.13:
            return f"({text})"
        if draw < 0.15:
            return random.choice(['"{}"', '"{}"', "“{}”", "‘{}’", "'{}'", "[{}]"]).format(text)
        if draw < 0.17:
            return f"{text}-{self.word()}"
        return text + "'s" if draw < 0.18 else text

    def phrase(self, low, high):
        """`low` to `high` tokens."""
        text = " ".join(self.token() for _ in range(self.random.randint(low, high)))
        return text[0].upper() + text[1:] if self.random.random() < 0.4 else text

    def title(self):
        words = [self.random.choice(self.corpus.common_words) for _ in range(self.random.randint(1, 6))]
        text = " ".join(words)
        return self.random.choice([text.title(), text.title(), text.upper(), text.capitalize()])

    def sentence(self):
        """A sentence of the corpus, one with its words shuffled, or a made-up one."""
        draw = self.random.random()
        if draw < self.real_sentences:
            return self.random.choice(self.corpus.sentences)
        if draw < self.real_sentences + self.shuffled_sentences:
            words = self.random.choice(self.corpus.sentences).split()
            self.random.shuffle(words)
            return " ".join(words)
        text = " ".join(self.token() for _ in range(self.random.randint(4, 18)))
        return text[0].upper() + text[1:] + self.random.choice("....?!")

    def words(self, characters):
        """Words of running text, about `characters` characters in all."""
        words, length = [], 0
        while length < characters:
            sentence = self.sentence().split()
            words += sentence
            length += sum(map(len, sentence)) + len(sentence)
        return words

    def person(self):
        return f"{self.random.choice(FIRST_NAMES)} {self.random.choice(LAST_NAMES)}"

    def field(self):
        """A label and its value."""
        random = self.random
        label = random.choice(FIELD_LABELS) if random.random() < 0.7 else self.phrase(1, 3)
        draw = random.random()
        if draw < 0.5:
            value = random.choice([self.number, self.date, self.code, self.price, self.phone, self.address])()
        elif draw < 0.7:
            value = self.person()
        elif draw < 0.8:
            value = (f"{random.randint(1, 999)} {random.choice(LAST_NAMES)} {random.choice(STREETS)}, "
                     f"{random.choice(CITIES)} {random.randint(10000, 99999)}")
        else:
            value = self.phrase(1, 4)
        return label, value

    def purchase(self):
        """A name and a price of a receipt."""
        random = self.random
        name = random.choice(PRODUCTS)
        if random.random() < 0.4:
            name += " " + random.choice(PRODUCTS + UNITS)
        if random.random() < 0.4:
            name = f"{random.randint(1, 12)} {random.choice(['x ', '', 'X '])}{name}"
        if random.random() < 0.3:
            name = name.upper()
        return name, f"{random.random() * random.choice([10, 100]):.2f}"

    def cell(self, kind):
        """The text of a table cell of the column kind 'number', 'date', 'code', 'name' or 'words'."""
        if kind == "number":
            return self.random.choice([f"{self.random.random() * 1000:.2f}", str(self.random.randint(0, 9999)),
                                       f"{self.random.randint(0, 99999):,}", f"{self.random.random() * 100:.1f}%"])
        if kind == "words":
            return self.phrase(1, 3)
        return {"date": self.date, "code": self.code, "name": self.person}[kind]()

    def program(self):
        """A block of source lines with indentation."""
        return self.random.choice(self.corpus.programs)

    def terminal_line(self):
        """A line of a log, a shell session or a user interface."""
        random, draw = self.random, self.random.random()
        if draw < 0.3:
            return (f"{self.date()} {random.randint(0, 23):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d} "
                    f"{random.choice(['INFO', 'WARN', 'ERROR', 'DEBUG'])} {self.phrase(2, 7)}")
        if draw < 0.55:
            return f"{random.choice(['$', '#', '>'])} {random.choice(self.corpus.common_words)} " + " ".join(
                random.choice([f"-{random.choice(string.ascii_letters)}", f"--{random.choice(self.corpus.common_words)}",
                               self.address(), self.code()]) for _ in range(random.randint(1, 4)))
        return self.phrase(1, 8)


def demonstration(seed=0, lines=10):
    """A few lines for a look by eye: `python text.py`."""
    source = TextSource(Corpus.load(held_out=False, limit=40), random_module.Random(seed))
    return [source.sentence() for _ in range(lines)]


if __name__ == "__main__":
    print("\n".join(demonstration()))
