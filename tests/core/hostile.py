"""Files made to do harm: bombs, far cells, deep and wide ones, loops, and what is something else.

``FILES`` is {name: (reader, function that makes the bytes)}. Each must be refused.
"""

import gzip
import io
import json
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

MB = 2**20
TABLE = "annotation.imports.readers:messages"
HISTORY = "annotation.histories.formats:messages"
DOCUMENT = "annotation.candidates.reading:messages"
MODEL = "annotation.core.learned:messages"
DEFINITION = "annotation.core.records:json_text"
RELEASE = "annotation.datasets.release_files:messages"
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
WORD = 200_000 * "x"
Case = tuple[str, Callable[[], bytes]]


# --- What files are made of ----------------------------------------------------------------------


def zipped(**files) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def renamed(name: str) -> bytes:
    """A zip with one history below this name."""
    return zipped(**{name: "[]"})


def listed(count: int, size: int = 1, packed: int = 1) -> bytes:
    """A zip whose table of contents lists one entry so many times."""
    body = b"PK\x03\x04" + struct.pack("<5H3I2H", 20, 0, 0, 0, 0, 0, packed, size, 1, 0) + b"a"
    body += packed * b"x"
    fields = (20, 20, 0, 0, 0, 0, 0, packed, size, 7, 0, 0, 0, 0, 0, 0)
    head = b"PK\x01\x02" + struct.pack("<6H3I5H2I", *fields)
    entries = b"".join(head + b"a%06d" % number for number in range(count))
    end64 = b"PK\x06\x06" + struct.pack(
        "<Q2H2I4Q", 44, 45, 45, 0, 0, count, count, len(entries), len(body)
    )
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, len(body) + len(entries), 1)
    few = min(count, 0xFFFF)
    end = b"PK\x05\x06" + struct.pack(
        "<4H2IH", 0, 0, few, few, min(len(entries), 2**32 - 1), 0xFFFFFFFF, 0
    )
    return body + entries + end64 + locator + end


def changed(data: bytes, offset: int, new: bytes, mark: bytes = b"PK\x01\x02") -> bytes:
    """The zip with other bytes at ``offset`` of its entry in the table of contents."""
    at = data.index(mark) + offset
    return data[:at] + new + data[at + len(new) :]


def tarred(*names: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", format=tarfile.GNU_FORMAT) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return data.getvalue()


def excel(rows: str, shared: str = "") -> bytes:
    """A workbook of one sheet with these rows, and one shared string."""
    kinds = {"worksheet": "worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml"}
    links = "".join(
        f'<Relationship Id="r{number}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(kinds.items())
    )
    sheets = '<sheets><sheet name="s" sheetId="1" r:id="r0"/></sheets>'
    office = f'<Relationship Id="r0" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
    files = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}">{office}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{RELATIONS}">{sheets}'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{rows}'
        "</sheetData></worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{SPREADSHEET}"><si><t>{shared}</t></si></sst>',
    }
    return zipped(**files)


def sheet(*places: str, shared: str = "prompt") -> bytes:
    cells = (f'<row><c r="{place}" t="s"><v>0</v></c></row>' for place in places)
    return excel("".join(cells), shared)


def parquet(size: int | None = None, **columns) -> bytes:
    """A table of these columns, in row groups of ``size`` rows."""
    data = io.BytesIO()
    pq.write_table(pa.table(columns), data, compression="zstd", row_group_size=size)
    return data.getvalue()


def json_keys(count: int = 1_000_000) -> bytes:
    """A JSON object of so many keys."""
    return ("{" + ",".join(f'"k{n}":1' for n in range(count)) + "}").encode()


def pdf(*objects: bytes, root: str = "/Root 1 0 R", catalogue: bytes = b"/Pages 2 0 R") -> bytes:
    """A PDF of these objects, numbered from 2, after its catalogue."""
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate([b"<</Type/Catalog" + catalogue + b">>", *objects], start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count, at = len(places) + 1, len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    return data + b"trailer<</Size %d%s>>\nstartxref\n%d\n%%%%EOF" % (count, root.encode(), at)


def page_of(stream: bytes, filters: bytes = b"/FlateDecode") -> bytes:
    """A PDF of one page with this content."""
    body = b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(stream), filters, stream)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>"
    return pdf(b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page, body)


def flate(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    return data


HEADS = {
    "PNG": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + 40 * b"\x00",
    "JPEG": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + 40 * b"\x00",
    "GIF": b"GIF89a\x00\x01" + 40 * b"\x00",
    "program": b"\x7fELF\x02\x01\x01" + 40 * b"\x00",
    "bzip2": b"BZh91AY&SY" + 40 * b"\x00",
    "xz": b"\xfd7zXZ\x00" + 40 * b"\x00",
    "7z": b"7z\xbc\xaf\x27\x1c" + 40 * b"\x00",
    "rar": b"Rar!\x1a\x07\x00" + 40 * b"\x00",
    "sqlite": b"SQLite format 3\x00" + 40 * b"\x00",
    "noise": random.Random(28).randbytes(100_000),  # noqa: S311 - no secret
    "empty file": b"",
    "zeros": 100_000 * b"\x00",
    "blanks": 100_000 * b" \n",
}
# Depth made of one piece, to so many levels.
PIECES = {"brackets": "[", "braces": '{"a":', "both": '[{"a":', "lists in lists": "[1,["}
DEPTHS = (1_000, 100_000, 1_000_000)
FILLED = {"zeros": b"\x00", "digits": b"0", "lines": b"x,y\n", "objects": b'{"a": 1}\n'}


def everywhere(*pieces: str) -> Iterator[Case]:
    """What is hostile or senseless to every reader, and depth of these pieces."""
    for name, data in HEADS.items():
        yield name, lambda data=data: data
    for piece in pieces or PIECES:
        text = PIECES[piece]
        for depth in DEPTHS:
            yield f"{depth:,} {piece}", lambda t=text, n=depth: (n * t).encode()


def archives(inside: str) -> Iterator[Case]:
    """Archives that unfold to far more than they are, or that lie."""
    for name, filling in FILLED.items():
        for size in (20, 60) if name == "zeros" else (20,):
            bomb = size * MB // len(filling)
            yield f"gzip of {size} MB of {name}", lambda f=filling, n=bomb: gzip.compress(n * f, 1)
            yield f"zip of {size} MB of {name}", lambda f=filling, n=bomb: zipped(**{inside: n * f})
    ten = [f"{n}{inside}" for n in range(10)]
    yield "zip of ten bombs", lambda: zipped(**dict.fromkeys(ten, 9 * MB * b"0"))
    for count in (100_000, 1_000_000):
        yield f"zip of {count:,} entries", lambda n=count: listed(n)
    yield "zip whose entries share their bytes", lambda: listed(9_000, 10_000_000, 100_000)
    whole = zipped(**{inside: b"[1, 2]"})
    for part in (4, 30, len(whole) // 2, len(whole) - 22, len(whole) - 1):
        yield f"zip cut after {part} bytes", lambda n=part: whole[:n]
    packed = gzip.compress(b'[{"a": 1}]' * 1_000)
    for part in (3, 20, len(packed) // 2, len(packed) - 4):
        yield f"gzip cut after {part} bytes", lambda n=part: packed[:n]
    yield "zip locked with a password", lambda: changed(whole, 8, b"\x01\x00")
    yield "zip of an unknown method", lambda: changed(whole, 10, b"\x63\x00")
    yield "zip with a wrong sum", lambda: changed(whole, 16, b"oops")
    yield "zip with an entry far away", lambda: changed(whole, 42, b"\xff\xff\xff\x7f")
    yield "zip of nothing", lambda: zipped()
    yield "gzip of a zip bomb", lambda: gzip.compress(zipped(**{inside: 60 * MB * b"0"}))
    yield "gzip in a gzip", lambda: gzip.compress(gzip.compress(60 * MB * b"0"))


def tables() -> Iterator[Case]:
    def names(n: int) -> list[str]:
        return [f"c{number}" for number in range(n)]

    def csv(n: int, mark: str) -> bytes:
        return f"{mark.join(names(n))}\n{mark.join(n * '1')}\n".encode()

    for count in (1_001, 10_000, 60_000):
        for mark in ",;|\t":
            name = f"table of {count:,} columns between {mark!r}"
            yield name, lambda n=count, m=mark: csv(n, m)
        record = dict.fromkeys(names(count), 1)
        yield f"JSON line of {count:,} keys", lambda r=record: json.dumps(r).encode()
        yield f"JSON list of {count:,} keys", lambda r=record: json.dumps([r]).encode()
        columns = {name: [1] for name in names(count)}
        yield f"Parquet of {count:,} columns", lambda c=columns: parquet(**c)
    yield "Parquet of 50,000 row groups", lambda: parquet(size=1, a=50_000 * [1], b=50_000 * [1])
    keys = json_keys
    yield "JSON of a million keys", keys
    yield "JSON list of a million keys", lambda: b"[" + keys() + b"]"
    yield "JSON cell of a million keys", lambda: b'[{"a":' + keys() + b"}]"
    yield "JSON of a million keys after the list", lambda: b'{"rows":[],' + keys()[1:]
    yield "JSON line of a million lists", lambda: b'{"a":[' + 1_000_000 * b"[]," + b"1]}"
    yield "JSON list of a million lists", lambda: b"[" + 1_000_000 * b"[]," + b"1]"
    lines = "\n".join(f'{{"{name}": 1}}' for name in names(2_000))
    yield "JSON lines with a new key each", lambda: lines.encode()
    brackets = '[{"a": "' + 200_000 * '\\"[' + '"}, ' + 200 * "["
    yield "brackets after escaped quotes", lambda: brackets.encode()
    yield "JSON text of 30 MB in a gzip", lambda: gzip.compress(b'["' + 30 * MB * b"x" + b'"]')
    for place in ("XFD1048576", "AZ1000000", "A1048576", "ZZZ9", "Z50000", "CV9999", "XFD99"):
        yield f"Excel with a cell in {place}", lambda p=place: sheet("A1", "A2", p)
    cells = "<c><v>1</v></c>"
    for count in (1_000, 16_000):
        rows = f'<row r="1">{cells}</row><row r="1048576">{count * cells}</row>'
        yield f"Excel whose far row has {count:,} nameless cells", lambda r=rows: excel(r)
    for count in (1_000, 4_000, 16_000):
        places = [f"A{number}" for number in range(1, count + 1)]
        name = f"Excel with one word in {count:,} cells"
        yield name, lambda p=places: sheet(*p, shared=WORD)
    for size in (201, 300):
        yield f"Excel of {size} MB", lambda n=size: excel("", shared=n * MB * "x")
    for count in (2_000, 3_000):
        yield f"Parquet of one word {count:,} times", lambda n=count: parquet(prompt=n * [WORD])
    for count in (50, 100):
        name = f"Parquet of {count:,} lists of a word"
        yield name, lambda n=count: parquet(prompt=n * [20 * [WORD]])
    yield "Parquet of one long text", lambda: parquet(prompt=[50 * MB * "x"])
    yield "Parquet in a gzip", lambda: gzip.compress(parquet(prompt=2_000 * [WORD]))
    yield "Parquet without its end", lambda: parquet(prompt=["a"])[:-9]


def histories() -> Iterator[Case]:
    # What `histories.archives` refuses by names and kinds of members is its own test.
    yield "tar of 21,000 files", lambda: tarred(*(f"{n}.json" for n in range(21_000)))
    yield "JSON of one text of 60 MB", lambda: b'["' + 60 * MB * b"x" + b'"]'
    yield "JSON of a million numbers", lambda: b"[" + 1_000_000 * b"1," + b"1]"
    yield "JSON of 100,000 keys", lambda: json_keys(100_000)
    yield "JSON of a million keys", json_keys
    yield "JSON list of a million keys", lambda: b"[" + json_keys() + b"]"
    yield "chat of a million keys", lambda: b'[{"mapping":' + json_keys() + b"}]"
    yield "chat of a million lists", lambda: b'[{"mapping":[' + 1_000_000 * b"[]," + b"1]}]"
    yield "JSON cut in the middle", lambda: b'[{"title": "Trip", "mapping": {"a'
    yield "number of a million digits", lambda: b"[" + MB * b"9" + b"]"
    yield "page of open tags", lambda: 1_000_000 * b"<b>"
    yield "table of one column", lambda: b"one\n" + 1_000_000 * b"x\n"
    yield "table of 100,000 columns", lambda: 100_000 * b"c," + b"c\n"


def documents() -> Iterator[Case]:
    kids = b"<</Type/Pages/Kids[%s]/Count 1>>"
    yield "PDF that ends at once", lambda: b"%PDF-1.7\n"
    yield "PDF of noise", lambda: b"%PDF-1.7\n" + HEADS["noise"]
    yield "PDF whose pages hold themselves", lambda: pdf(kids % b"2 0 R")
    yield "PDF whose pages hold each other", lambda: pdf(kids % b"3 0 R", kids % b"2 0 R")
    yield "PDF of a million kids", lambda: pdf(kids % (1_000_000 * b"2 0 R "))
    name, page = "PDF of a page named a million times", b"<</Type/Page/Parent 2 0 R>>"
    yield name, lambda: pdf(kids % (1_000_000 * b"3 0 R "), page)
    yield "PDF without a root", lambda: pdf(kids % b"2 0 R", root="")
    yield "PDF that is its own table", lambda: b"%PDF-1.7\nstartxref\n9\n%%EOF"
    for depth in (10_000, 200_000):
        yield f"PDF of arrays {depth:,} deep", lambda n=depth: pdf(n * b"[")
        yield f"PDF of dictionaries {depth:,} deep", lambda n=depth: pdf(n * b"<</A")
    twice, runs = b"[/FlateDecode/FlateDecode]", b"[/FlateDecode/RunLengthDecode]"
    for size in (20, 200):
        yield f"PDF with a stream of {size} MB", lambda n=size: page_of(flate(n * MB * b" "))
        name = f"PDF with a twice packed stream of {size} MB"
        yield name, lambda n=size: page_of(flate(n * MB * b" ", 2), twice)
        name = f"PDF with runs of {size} MB"
        yield name, lambda n=size: page_of(flate(n * MB // 128 * b"\x81 "), runs)
    yield "PDF of a million signs of nothing", lambda: page_of(flate(1_000_000 * b"q Q "))
    for encoding in ("utf-16", "utf-32", "latin-1"):
        yield f"text in {encoding}", lambda e=encoding: (1_000 * "Käse ").encode(e)
    yield "page of scripts", lambda: b"<html><script>" + MB * b"x" + b"</script></html>"
    yield "page of a head", lambda: b"<html><head>" + 100_000 * b"<meta a=b>" + b"</head>"
    yield "JSON lines without text", lambda: 100_000 * b'{"id": "a"}\n'
    yield "JSON line of a million keys", json_keys


def models() -> Iterator[Case]:
    yield "of noise", lambda: HEADS["noise"]
    yield "that is a zip of text", lambda: zipped(weights="x")
    yield "of a gigabyte", lambda: zipped(**{"weights.npy": 1_000 * MB * b" "})


def definitions() -> Iterator[Case]:
    yield "definition of a million keys", json_keys
    yield "definition of a million lists", lambda: b'{"tasks":[' + 1_000_000 * b"[]," + b"1]}"
    yield "definition of half a surrogate", lambda: b'{"title": "\\ud800"}'
    yield "definition that is a list", lambda: b"[]"


def releases() -> Iterator[Case]:
    for name in ("../pairs.csv", "/pairs.csv", "pairs\\a.csv"):
        yield f"release with the name {name!r}", lambda n=name: renamed(n)
    for count in (100_000, 1_000_000):
        yield f"release of {count:,} entries", lambda n=count: listed(n)
    columns = {f"c{n}": [1] for n in range(60_000)}
    name = "release with Parquet of 60,000 columns"
    yield name, lambda: zipped(**{"pairs.parquet": parquet(**columns)})
    name = "release whose CSV is one row of 60 MB"
    yield name, lambda: zipped(**{"pairs.csv": b"a" + 30 * MB * b",a"})


READERS = {
    "table": (TABLE, [*everywhere(), *archives("rows.csv"), *tables()]),
    "history": (HISTORY, [*everywhere(), *archives("conversations.json"), *histories()]),
    "document": (DOCUMENT, [*everywhere("braces"), *documents()]),
    "model": (MODEL, [*models()]),
    "definition": (DEFINITION, [*everywhere(), *definitions()]),
    "release": (RELEASE, [*everywhere("braces"), *releases()]),
}
FILES = {
    f"{kind}: {name}": (reader, make)
    for kind, (reader, cases) in READERS.items()
    for name, make in cases
}
