#!/bin/sh
# Makes the pictures in tests/data/foreign with programs that are not ours: poppler, groff and Chromium.
# Not a part of make_goldens.py: other versions of these programs give other pixels; the committed files are the test.
# Needs the Debian packages poppler-utils, fontconfig, groff, bzip2 (for its man page), chromium and fonts-dejavu-core.
set -eu

folder=$(cd "$(dirname "$0")/../../tests/data/foreign" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A page of a Debian document.
gzip -dc /usr/share/doc/fontconfig/fontconfig-user.pdf.gz > "$scratch/document.pdf"
pdftoppm -f 2 -l 2 -r 125 -gray -png -singlefile -x 235 -y 995 -W 640 -H 182 "$scratch/document.pdf" "$folder/pdf_page"

# A manual page typeset by groff.
gzip -dc /usr/share/man/man1/bzip2.1.gz | groff -man -Tpdf > "$scratch/manual.pdf"
pdftoppm -f 1 -l 1 -r 150 -gray -png -singlefile -x 140 -y 136 -W 576 -H 190 "$scratch/manual.pdf" "$folder/groff_page"

# A web page, exactly 512 x 512.
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$scratch/profile" --hide-scrollbars \
    --window-size=512,512 --screenshot="$scratch/web_page.png" "file://$folder/web_page.html" 2> "$scratch/chromium.log"
python3 - "$scratch/web_page.png" "$folder/web_page.png" << 'PYTHON'
import sys
from PIL import Image

Image.open(sys.argv[1]).convert("L").save(sys.argv[2], optimize=True)
PYTHON
