"""The characters that training pages may contain. Everything that draws or writes text agrees on this list."""

ASCII = "".join(chr(code) for code in range(33, 127))
PUNCTUATION = "–—‘’“”…•«»¡¿"
SYMBOLS = "©®™°£€¥§¶±×÷µ½¼²³"
LETTERS = "".join(chr(code) for code in range(0xC0, 0x100) if chr(code) not in "×÷")  # of Latin-1
LIGATURES = {"fi": "\ufb01", "fl": "\ufb02"}  # drawn for the two letters; never part of a transcript

DRAWN_CHARACTERS = ASCII + PUNCTUATION + SYMBOLS + LETTERS + "".join(LIGATURES.values())
INDEX = {character: index for index, character in enumerate(DRAWN_CHARACTERS)}

# What a font that lacks a character draws, and the transcript says, in its place.
REPLACEMENTS = {
    "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "•": "-", "«": '"', "»": '"', "¡": "!",
    "¿": "?", "©": "(c)", "®": "(R)", "™": "(TM)", "°": " deg", "£": "GBP ", "€": "EUR ", "¥": "JPY ", "§": "Sec. ",
    "¶": "", "±": "+/-", "×": "x", "÷": "/", "µ": "u", "½": "1/2", "¼": "1/4", "²": "2", "³": "3", "æ": "ae",
    "ß": "ss", "ø": "o", "Æ": "AE", "Ø": "O", "ð": "d", "Ð": "D", "þ": "th",
    "Þ": "Th",
}
