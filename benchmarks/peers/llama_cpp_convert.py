"""Runs llama.cpp's own converter on a checkpoint whose tokenizer it does not know.

    python llama_cpp_convert.py LLAMA_CPP_SOURCE CHECKPOINT [OPTION]...

The converter tells pre-tokenizers apart by a hash of what they make of a text; a made-up vocabulary has another hash,
so the name is given here.
"""

import runpy
import sys
from pathlib import Path

source = Path(sys.argv[1])
sys.path[:0] = [str(source), str(source / "gguf-py")]

from conversion.base import TextModel  # noqa: E402

TextModel.get_vocab_base_pre = lambda self, tokenizer: "hunyuan-dense"
sys.argv = ["convert_hf_to_gguf.py", *sys.argv[2:]]
runpy.run_path(str(source / "convert_hf_to_gguf.py"), run_name="__main__")
