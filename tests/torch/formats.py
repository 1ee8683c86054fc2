"""Files that NumPy and Python's own modules write, and those that they read: formats.py GTSH DIR. NumPy's arrays go through .npy,
.npz (stored, compressed, with 64-bit sizes), .csv (Python's csv), .png (every colour type, depth, filter, interlaced) and netpbm.
One program of the language reads all and writes what it read; Python compares. Exit 77: there is no NumPy."""
import csv
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
try:
    import numpy as np
except ImportError:
    sys.exit(77)

DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"]
WIDENED = {"int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64"}


def arrays():
    """Arrays by name: every dtype, orders of axes and bytes, no axes, no elements."""
    rng = np.random.default_rng(0)
    for d in DTYPES + list(WIDENED):
        small = (rng.standard_normal((2, 3, 4)) * 30).astype("int8")
        yield d, (abs(small) if d[0] == "u" else small).astype(d)
    yield "fortran", np.asfortranarray(np.arange(24.).reshape(2, 3, 4))
    yield "swapped", np.arange(6, dtype=">f8").reshape(2, 3)
    yield "swapped_int", np.arange(6, dtype=">i2")
    yield "scalar", np.float32(2.5)
    yield "empty", np.zeros((0, 3))
    yield "edges", np.array([-2**63, 2**63 - 1])
    yield "special", np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])


# ---- PNG

def packed(row, depth):
    if depth == 16:
        return b"".join(struct.pack(">H", int(v)) for v in row)
    bits = "".join(format(int(v), f"0{depth}b") for v in row)
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))


def filtered(raw, before, step, kind):
    out = bytearray([kind])
    for i, x in enumerate(raw):
        a, b, c = raw[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
        pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
        paeth = a if pa <= pb and pa <= pc else b if pb <= pc else c
        out.append((x - [0, a, b, (a + b) // 2, paeth][kind]) % 256)
    return bytes(out)


def scan(image, depth, channels):
    out, before = b"", None
    for y in range(image.shape[0] if image.size else 0):
        raw = packed(image[y].reshape(-1), depth)
        out += filtered(raw, before or bytes(len(raw)), max(1, depth * channels // 8), y % 5)
        before = raw
    return out


def write_png(path, image, depth, kind, palette, alphas, is_interlaced):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)] if is_interlaced else [(0, 0, 1, 1)]
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    data = zlib.compress(b"".join(scan(image[y::dy, x::dx], depth, channels) for y, x, dy, dx in passes))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", image.shape[1], image.shape[0], depth, kind, 0, 0, is_interlaced)))
        f.write(chunk(b"PLTE", palette.tobytes()) if palette is not None else b"")
        f.write((chunk(b"tRNS", alphas) if alphas else b"") + chunk(b"IDAT", data[:10]) + chunk(b"IDAT", data[10:]) + chunk(b"IEND", b""))


def read_png(path):
    """A file as this program's own encoder writes it: 8 bits, not interlaced."""
    data, at, body = open(path, "rb").read(), 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + n]
        assert zlib.crc32(name + part) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0]
        if name == b"IHDR":
            w, h, depth, kind = struct.unpack(">IIBB", part[:10])
        body += part if name == b"IDAT" else b""
        at += 12 + n
    channels, rows = {0: 1, 2: 3, 4: 2, 6: 4}[kind], []
    lines, step = zlib.decompress(body), w * {0: 1, 2: 3, 4: 2, 6: 4}[kind] + 1
    for y in range(h):
        line, before, out = lines[y * step:(y + 1) * step], rows[-1] if rows else bytes(step - 1), bytearray()
        for i, x in enumerate(line[1:]):
            a, b, c = out[i - channels] if i >= channels else 0, before[i], before[i - channels] if i >= channels else 0
            pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
            out.append((x + [0, a, b, (a + b) // 2, a if pa <= pb and pa <= pc else b if pb <= pc else c][line[0]]) % 256)
        rows.append(bytes(out))
    image = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(h, w, channels)
    return image[..., 0] if channels == 1 else image


def pictures(folder):
    """Writes pictures; gives their file names and the arrays that they are."""
    rng = np.random.default_rng(1)

    def put(name, image, depth, kind, want, palette=None, alphas=None):
        for is_interlaced in (0, 1):
            path = f"{name}_{is_interlaced}.png"
            write_png(f"{folder}/{path}", image, depth, kind, palette, alphas, is_interlaced)
            yield path, want
    for depth in (1, 2, 4, 8, 16):
        grey = rng.integers(0, 2**depth, (7, 9))
        yield from put(f"grey{depth}", grey, depth, 0, (grey * 255 / (2**depth - 1) + 0.5).astype(np.uint8))
    for depth in (8, 16):
        for kind, channels in ((2, 3), (4, 2), (6, 4)):
            image = rng.integers(0, 2**depth, (5, 6, channels))
            yield from put(f"colour{kind}_{depth}", image, depth, kind, (image * 255 / (2**depth - 1) + 0.5).astype(np.uint8))
    for depth in (1, 2, 4, 8):
        palette, index = rng.integers(0, 256, (2**depth, 3)).astype(np.uint8), rng.integers(0, 2**depth, (5, 11))
        yield from put(f"palette{depth}", index, depth, 3, palette[index], palette)
    alphas = np.array([0, 128, 255, 255], dtype=np.uint8)
    palette, index = rng.integers(0, 256, (4, 3)).astype(np.uint8), rng.integers(0, 4, (5, 11))
    yield from put("alphas", index, 2, 3, np.concatenate([palette[index], alphas[index][..., None]], 2), palette, b"\0\x80")
    netpbm = {"a.pbm": (b"P1\n# c\n3 2\n1 0 1\n011\n", [[0, 255, 0], [255, 0, 0]]), "b.pbm": (b"P4\n10 1\n\xa0\x40", [[0, 255, 0, 255, 255, 255, 255, 255, 255, 0]]),
              "c.pgm": (b"P2 # x\n2 #y\n2\n15\n0 15 # z\n7 8\n", [[0, 255], [119, 136]]), "d.pgm": (b"P5\n2 1\n65535\n\xff\xff\x80\x00", [[255, 128]]),
              "e.ppm": (b"P3\n1 2\n255\n1 2 3 4 5 6\n", [[[1, 2, 3]], [[4, 5, 6]]]), "f.pnm": (b"P6\n#c\n1 1\n255\n\1\2\3", [[[1, 2, 3]]])}
    for name, (data, want) in netpbm.items():
        with open(f"{folder}/{name}", "wb") as f:
            f.write(data)
        yield name, np.array(want, dtype=np.uint8)


# ---- CSV

TABLE = {"name": ['a "q"', "b,c", "", "ü;x", "two\nlines"], "n": [1, -2, 3, 4, 2**60], "x, y": [0.5, None, -1e-3, 4e10, 2.0], "note": ["", "x", " padded ", "\t", "'"]}


def write_tables(folder):
    rows = [["" if v is None else v for v in row] for row in zip(*TABLE.values())]
    plain = [[float("nan") if v == "" and i == 2 else v for i, v in enumerate(row)] for row in rows]  # a quoted "" is text
    for name, encoding, settings in [("plain", "utf-8", {}), ("bom", "utf-8-sig", {"lineterminator": "\n"}), ("semicolon", "utf-8", {"delimiter": ";"}),
                                     ("tab", "utf-8", {"delimiter": "\t"}), ("quoted", "utf-8", {"quoting": csv.QUOTE_NONNUMERIC})]:
        with open(f"{folder}/{name}.csv", "w", newline="", encoding=encoding) as f:
            csv.writer(f, **settings).writerows([list(TABLE)] + (plain if name == "quoted" else rows))
        yield name


def main(gtsh, folder):
    made, program = dict(arrays()), [f"dir = {json.dumps(folder + '/')}"]
    for name, a in made.items():
        np.save(f"{folder}/{name}.npy", a)
        program += [f"x = load(dir + \"{name}.npy\"); save(x, dir + \"{name}_back.npy\")"]
    np.savez(f"{folder}/stored.npz", **made)
    np.savez_compressed(f"{folder}/packed.npz", **made, **{"in/side": np.arange(3)})
    with zipfile.ZipFile(f"{folder}/wide.npz", "w") as z:
        with z.open("w.npy", "w", force_zip64=True) as f:
            np.lib.format.write_array(f, np.arange(4))
    np.savez(f"{folder}/objects.npz", a=np.array([{}], dtype=object), b=np.arange(3))
    program += ["m = load(dir + \"stored.npz\"); save(m, dir + \"stored_back.npz\")", "m = load(dir + \"packed.npz\"); save(m, dir + \"packed_back.npz\")",
                "assert m[\"in\"].side.tolist() == [0, 1, 2]", "assert load(dir + \"wide.npz\").w.tolist() == [0, 1, 2, 3]",
                "ok, why = attempt(load, dir + \"objects.npz\"); assert not ok and \"never unpickled\" in why.message, why.message",
                "assert load(dir + \"objects.npz\", key=\"b\").tolist() == [0, 1, 2]"]
    images = list(pictures(folder))
    for path, want in images:
        program += [f"x = load(dir + \"{path}\"); save(x, dir + \"{path}.npy\"); save(x, dir + \"{path}.png\")"]
    tables = list(write_tables(folder))
    for name in tables:
        program += [f"t = load(dir + \"{name}.csv\"); save(t, dir + \"{name}_back.csv\"); save({{n: t.n, x: t[\"x, y\"]}}, dir + \"{name}.npz\")",
                    f"assert t.name[0] == \"a \\\"q\\\"\" and t.name[4] == \"two\\nlines\", t.name"]
    with open(f"{folder}/formats.gt", "w") as f:
        f.write("\n".join(program) + "\n")
    subprocess.run([gtsh, f"{folder}/formats.gt"], check=True, timeout=60)
    bad = []

    def same(name, got, want):
        if got.shape != want.shape or got.dtype != want.dtype or not np.array_equal(got, want, equal_nan=want.dtype.kind == "f"):
            bad.append(f"{name}: {got!r}, not {want!r}")
    stored, again = np.load(f"{folder}/stored_back.npz"), np.load(f"{folder}/packed_back.npz")
    for name, a in made.items():
        want = np.asarray(a).astype(WIDENED.get(a.dtype.name, "int32" if name == "swapped_int" else a.dtype.name))
        for how, got in [("npy", np.load(f"{folder}/{name}_back.npy")), ("stored", stored[name]), ("packed", again[name])]:
            same(f"{name} {how}", got, want)
    for path, want in images:
        same(path, np.load(f"{folder}/{path}.npy"), want)
        same(path + " written", read_png(f"{folder}/{path}.png"), want)
    for name in tables:
        t = np.load(f"{folder}/{name}.npz")
        same(name + ".n", t["n"], np.array(TABLE["n"]))
        same(name + ".x", t["x"], np.array([np.nan if v is None else v for v in TABLE["x, y"]], dtype=t["x"].dtype))
        with open(f"{folder}/{name}_back.csv", newline="", encoding="utf-8") as f:
            header, *rows = csv.reader(f)
        texts = {k: [row[i] for row in rows] for i, k in enumerate(header)}
        for k in ("name", "note"):
            want = TABLE[k]
            if name != "quoted" and k == "note":  # blanks around a field that is not quoted are dropped
                want = [v.strip(" ") if name == "tab" else v.strip(" \t") for v in want]
            if texts.get(k) != want:
                bad.append(f"{name}.{k}: {texts.get(k)}, not {want}")
    print("\n".join(bad))
    print(f"{3 * len(made) + 2 * len(images) + 4 * len(tables)} comparisons, {len(bad)} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], os.path.abspath(sys.argv[2])))
