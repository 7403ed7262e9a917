"""Changed copies of the models in the tree: weights read and written, and models that answer with given tokens."""
import json
import pathlib
import struct
import tempfile

from command import TINY

NAN = {"F32": b"\0\0\xc0\x7f", "F16": b"\0\x7e", "BF16": b"\xc0\x7f"}


def read_tensors(path):
    """A safetensors file as {name: (type, shape, bytes)}."""
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    data = memoryview(content)[8 + length:]
    return {name: (entry["dtype"], entry["shape"], bytes(data[slice(*entry["data_offsets"])]))
            for name, entry in header.items()}


def safetensors_bytes(tensors):
    """The reverse of read_tensors."""
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tiny_tensors():
    """All tensors of the tiny model, of both its files."""
    return {name: tensor for path in sorted(TINY.glob("*.safetensors")) for name, tensor in read_tensors(path).items()}


def nan_in(name):
    """Those tensors, with a NaN as element 7 of one."""
    tensors = tiny_tensors()
    kind, shape, content = tensors[name]
    size = len(NAN[kind])
    return tensors | {name: (kind, shape, content[:7 * size] + NAN[kind] + content[8 * size:])}


def tokenizer_with(change):
    """The tiny model's tokenizer.json after `change` was made to it."""
    tokenizer = json.loads((TINY / "tokenizer.json").read_text())
    change(tokenizer)
    return json.dumps(tokenizer).encode()


def tiny_model(parent, tensors=None, **replaced):
    """A copy of the tiny model under `parent`; its weights are one file when `tensors` are given. Other files by their
    name without .json: a dict of changed keys, bytes, or None to leave it out."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=parent))
    for source in TINY.iterdir():
        change = replaced.get(source.name.removesuffix(".json"), False)
        if change is False and tensors is not None and ".safetensors" in source.name:
            continue
        if change is False:
            (folder / source.name).symlink_to(source)
        elif isinstance(change, dict):
            (folder / source.name).write_text(json.dumps(json.loads(source.read_text()) | change))
        elif change is not None:
            (folder / source.name).write_bytes(change)
    if isinstance(replaced.get("model.safetensors"), bytes):
        (folder / "model.safetensors").write_bytes(replaced["model.safetensors"])
    if tensors is not None:
        (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    return folder


def byte_ids(content):
    """The token of each byte: the tokenizer's vocabulary begins with the printable bytes of Latin-1 in order, then the
    rest, as byte-level tokenizers have them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    vocabulary = json.loads((TINY / "tokenizer.json").read_text())["model"]["vocab"]
    rest = [byte for byte in range(256) if byte not in printable]
    return [vocabulary[chr(byte) if byte in printable else chr(256 + rest.index(byte))] for byte in content]


def scripted_model(parent, ids, added=None, endless=False, **replaced):
    """A tiny model that answers every picture with `ids`, all different, and ends. `added` gives ids from 1020 on a
    text of their own. `endless` repeats the last id for ever. The rest is as in tiny_model.

    The decoder's layers add nothing, so that the logits are the products of the last token's embedding row with all
    rows, signed by the final norm. Each pair of neighbours in the answer has two columns, in which the first has (4, 4)
    and the second (y, -y): with signs (+, -) their product is 8 y and each one's own is 0. y grows along the answer, so
    that the next token is likelier than the one before.
    """
    tensors = tiny_tensors()
    for name, (kind, shape, content) in tensors.items():
        if name.startswith("model.layers.") and name.endswith(("o_proj.weight", "down_proj.weight")):
            tensors[name] = (kind, shape, bytes(len(content)))
    _, (rows, columns), _ = tensors["model.embed_tokens.weight"]
    user_end, answer_end = 1003, 1004
    path = [user_end, *ids, answer_end]
    assert len(set(path)) == len(path) and 2 * (len(path) - 1) <= columns
    embedding = [[0] * columns for _ in range(rows)]
    for i, (first, second) in enumerate(zip(path, path[1:])):
        embedding[first][2 * i:2 * i + 2] = (4, 4)
        embedding[second][2 * i:2 * i + 2] = (4 + i, -4 - i)
    if endless:
        embedding[ids[-1]][2 * len(ids)] = 100  # its product with itself is the largest
    tensors["model.embed_tokens.weight"] = (
        "F16", [rows, columns], b"".join(struct.pack(f"<{columns}e", *row) for row in embedding))
    tensors["model.norm.weight"] = ("F32", [columns], struct.pack(f"<{columns}f", *[1, -1] * (columns // 2)))

    def add(tokenizer):
        for token in tokenizer["added_tokens"]:
            if token["id"] in (added or {}):
                token |= {"content": added[token["id"]], "special": False}

    return tiny_model(parent, tensors, tokenizer=tokenizer_with(add), generation_config={"repetition_penalty": 1.0},
                      **replaced)
