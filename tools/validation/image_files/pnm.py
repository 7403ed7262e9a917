"""PBM, PGM, PPM and PAM, text and binary."""
import numpy as np

from tools.validation.image_files.common import gray_rows, on_white, scene


def pnm_scaled(samples, top):
    return np.array([[[round(int(v) / top * 255) for v in pixel] for pixel in row] for row in samples], np.uint8)


def pam(samples, top, kind):
    height, width, depth = samples.shape
    head = f"P7\n# a comment\nWIDTH {width}\nHEIGHT {height}\nDEPTH {depth}\nMAXVAL {top}\nTUPLTYPE {kind}\nENDHDR\n"
    return head.encode() + samples.astype(">u2" if top > 255 else "u1").tobytes()


def pnm_files():
    files = {}
    bit = scene(37, 23, 1, 1)[:, :, 0]
    lines = "\n".join("".join(map(str, row)) for row in bit)
    files["pnm_p1.pbm"] = f"P1\n# comment\n37 23\n{lines}\n".encode(), None
    files["pnm_p1_spaces.pbm"] = ("P1 37\t23\n" + " ".join(lines.replace("\n", "# end\n"))).replace(
        "#  e n d ", "# end").encode(), None
    files["pnm_p4.pbm"] = b"P4\n37 23\n" + np.packbits(bit, axis=1).tobytes(), None
    for top in (1, 15, 100, 255, 1000, 65535):
        gray, color = scene(37, 23, 1, top), scene(37, 23, 3, top)
        kind = ">u2" if top > 255 else "u1"
        expected = gray_rows(pnm_scaled(gray, top)) if top > 255 else None
        files[f"pnm_p5_{top}.pgm"] = b"P5 37 23 %d\n" % top + gray.astype(kind).tobytes(), expected
        files[f"pnm_p6_{top}.ppm"] = b"P6\n#c\n37\n#d\n23\n%d\n" % top + color.astype(kind).tobytes(), None
        if top in (100, 1000):
            text = "\n".join(" ".join(map(str, row)) for row in gray[:, :, 0])
            files[f"pnm_p2_{top}.pgm"] = f"P2\n37 23 # sides\n{top}\n{text}".encode(), expected
            text = "\n".join(" ".join(map(str, row.ravel())) + " # row" for row in color)
            files[f"pnm_p3_{top}.ppm"] = f"P3\n37 23\n{top}\n{text}\n".encode(), None
    files["pnm_p6_trailing.ppm"] = files["pnm_p6_255.ppm"][0] + b"another picture", None
    for kind, depth, top in (("BLACKANDWHITE", 1, 1), ("GRAYSCALE", 1, 1000), ("GRAYSCALE_ALPHA", 2, 255), ("RGB", 3, 255),
                             ("RGB_ALPHA", 4, 65535)):
        samples = scene(37, 23, depth, top)
        values = pnm_scaled(samples, top)
        color = values[:, :, :3] if depth > 2 else np.repeat(values[:, :, :1], 3, 2)
        expected = on_white(np.concatenate([color, values[:, :, -1:]], 2)) if depth % 2 == 0 else color
        files[f"pnm_p7_{kind.lower()}.pam"] = pam(samples, top, kind), expected
    return files
