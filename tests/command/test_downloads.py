"""Data sets from a server or the user's folder: no file is used unless its hash agrees."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import struct
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pooch
import pytest

from dpcheck import InputError, datasets
from dpcheck.data.entries import ENTRIES, Entry, File, as_float, pixels, printed
from dpcheck.datasets import unpack

FOLDER = os.environ.get("DPCHECK_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="DPCHECK_DATA names no folder of data sets")

TEXT = b"+1 1:0.5 3:-2e-3 \n-1 \n-1 2:1 3:0\n"
TEXT_X = [[0.5, 0, -0.002], [0, 0, 0], [0, 1, 0]]
TEXT_Y = [1, -1, -1]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def value_hash(X, y) -> str:
    return sha256(np.asarray(X, "<f8").tobytes() + np.asarray(y, "<f8").tobytes())


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


# Downloads, from a server of the test's own


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut = 0  # bytes promised and not sent

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path[1:])
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"") + self.server.cut))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setattr(datasets, "user_cache", lambda: folder / "dpcheck")
    monkeypatch.delenv("DPCHECK_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder / "dpcheck"


def kept(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def add(monkeypatch, name: str, public: tuple[File, ...], **fields) -> Entry:
    stored = (File(f"{name}/x.npy.xz", "0"), File(f"{name}/y.npy.xz", "0"))
    given = {"stored": stored, "stored_rows": as_float, "features": 3, **fields}
    entry = Entry("https://home.example", "none", public=public, **given)
    monkeypatch.setitem(ENTRIES, name, entry)
    return entry


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
@pytest.mark.parametrize("of", ["bytes", "values"])
def test_download_once_then_cache(monkeypatch, capsys, server, cache, pack, of):
    server.files["toy"] = pack(TEXT)
    expected = sha256(TEXT) if of == "bytes" else value_hash(TEXT_X, TEXT_Y)
    add(monkeypatch, "toy", (File(server.url("toy"), expected, of),))
    for _ in range(2):
        data = datasets.load("toy")
        assert data.X.tolist() == TEXT_X
        assert data.y.tolist() == TEXT_Y
        assert (data.X_test, data.y_test, data.unit_ball().X_test) == (None, None, None)
        assert (data.name, data.source, data.licence) == ("toy", "https://home.example", "none")
    assert server.asked == ["/toy"]
    assert kept(cache) == ["toy/toy"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"dpcheck: downloading {server.url('toy')}\n"


def test_download_of_idx_files(monkeypatch, server, cache):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (n, 2, 3), dtype=np.uint8) for n in (5, 4)]
    labels = [rng.integers(0, 10, n, dtype=np.uint8) for n in (5, 4)]
    public = []
    for at, array in zip("abcd", [images[0], labels[0], images[1], labels[1]], strict=True):
        raw = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
        server.files[at] = gzip.compress(raw)
        public.append(File(server.url(at), sha256(raw)))
    add(monkeypatch, "toy", tuple(public), features=0, public_rows=pixels)
    data = datasets.load("toy")
    for X, y, image, label in zip((data.X, data.X_test), (data.y, data.y_test), images, labels, strict=True):
        assert np.array_equal(X, image.reshape(len(image), 6) / 255)
        assert np.array_equal(y, label)
        assert (X.dtype, y.dtype) == (np.float64, np.int64)
    assert server.asked == ["/a", "/b", "/c", "/d"]


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def damaged(content: bytes) -> list[bytes]:
    ends = [b"", content[:1], content[: len(content) // 2], content[:-1]]
    return ends + [flipped(content, bit) for bit in range(0, 8 * len(content), 53)]


def refusal(name: str) -> str | None:
    try:
        datasets.load(name)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, bytes])
def test_damaged_download_is_refused_and_not_kept(monkeypatch, server, cache, pack):
    good = pack(TEXT)
    add(monkeypatch, "toy", (File(server.url("toy"), sha256(TEXT)),))
    harmless = 0
    for bad in damaged(good):
        server.files["toy"] = bad
        told = refusal("toy")
        if told is None:  # gzip's header has a date, whose bits change no content
            harmless += 1
            assert unpack(bad) == TEXT
            (cache / "toy" / "toy").unlink()
        else:
            assert told.startswith(f"the download of {server.url('toy')} was damaged and not kept")
            assert "\n" not in told
        assert kept(cache) == []
    assert harmless <= 2
    server.files["toy"] = good
    assert datasets.load("toy").X.tolist() == TEXT_X


def test_damaged_values_are_refused(monkeypatch, server, cache):
    expected = value_hash(TEXT_X, TEXT_Y)
    add(monkeypatch, "toy", (File(server.url("toy"), expected, "values"),))
    for bad in (TEXT.replace(b"0.5", b"0.6"), TEXT.replace(b"-1 \n", b"+1 \n"), TEXT[:-6], b"<html>"):
        server.files["toy"] = bad
        with pytest.raises(InputError, match="was damaged and not kept"):
            datasets.load("toy")
        assert kept(cache) == []
    server.files["toy"] = TEXT.replace(b"0.5 ", b"0.50  ")  # the same values, printed otherwise
    assert datasets.load("toy").X.tolist() == TEXT_X


def test_damaged_cache_is_refused_removed_and_fetched_anew(monkeypatch, server, cache):
    server.files["toy"] = good = gzip.compress(TEXT)
    add(monkeypatch, "toy", (File(server.url("toy"), sha256(TEXT)),))
    path = cache / "toy" / "toy"
    for bad in (b"", good[:-3], flipped(good, 8 * 14), gzip.compress(TEXT + b"1 1:1\n")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"was damaged .* and has been removed; load toy again"):
            datasets.load("toy")
        assert kept(cache) == []
        assert datasets.load("toy").X.tolist() == TEXT_X
        assert path.read_bytes() == good


def test_a_cache_that_others_can_write_is_refused(monkeypatch, server, cache):
    server.files["toy"] = TEXT
    add(monkeypatch, "toy", (File(server.url("toy"), sha256(TEXT)),))
    datasets.load("toy")
    (cache / "toy" / "toy").chmod(0o666)
    with pytest.raises(InputError, match=r"the data set that is kept is not used: .*chmod go-w"):
        datasets.load("toy")


def test_second_file_missing_fails_but_keeps_the_first(monkeypatch, server, cache):
    server.files["toy"] = TEXT
    files = (File(server.url("toy"), sha256(TEXT)), File(server.url("gone.bz2"), "0"))
    add(monkeypatch, "toy", files)
    with pytest.raises(InputError, match=r"gone\.bz2 could not be downloaded .*HTTPError: 404"):
        datasets.load("toy")
    assert kept(cache) == ["toy/toy"]


def test_transfer_cut_short_is_refused(monkeypatch, server, cache):
    server.files["toy"], server.cut = TEXT, 5
    add(monkeypatch, "toy", (File(server.url("toy"), sha256(TEXT)),))
    with pytest.raises(InputError, match="/toy could not be downloaded into"):
        datasets.load("toy")
    assert kept(cache) == []


def test_no_network_names_url_cache_and_variable(monkeypatch, cache):
    add(monkeypatch, "toy", (File("http://127.0.0.1:9/toy.bz2", "0"),))
    with pytest.raises(InputError) as caught:
        datasets.load("toy")
    text = str(caught.value)
    for part in ("http://127.0.0.1:9/toy.bz2", str(cache / "toy"), "DPCHECK_DATA", "toy/x.npy.xz"):
        assert part in text
    assert "\n" not in text
    assert caught.value.__suppress_context__
    assert kept(cache) == []


def test_interrupt_leaves_nothing(monkeypatch, cache):
    def half(self, url, output_file, pooch):
        Path(output_file).write_bytes(TEXT[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", half)
    add(monkeypatch, "toy", (File("http://127.0.0.1:9/toy", sha256(TEXT)),))
    with pytest.raises(KeyboardInterrupt):
        datasets.load("toy")
    assert list((cache / "toy").iterdir()) == []


# The user's folder


@pytest.fixture
def toy_folder(monkeypatch, cache, tmp_path):
    """A set that the folder has as float32, and whose public file cannot be reached."""
    contents = [npy(np.array(TEXT_X, np.float32)), npy(np.array(TEXT_Y, np.int8))]
    stored = tuple(File(f"toy/{axis}.npy.xz", sha256(content)) for axis, content in zip("xy", contents, strict=True))
    public = (File("http://127.0.0.1:9/toy", sha256(TEXT)),)
    add(monkeypatch, "toy", public, stored=stored, stored_rows=printed("%.6g"))
    folder = tmp_path / "folder"
    (folder / "toy").mkdir(parents=True)
    for file, content in zip(stored, contents, strict=True):
        (folder / file.at).write_bytes(lzma.compress(content))
    monkeypatch.setenv("DPCHECK_DATA", str(folder))
    return folder


def test_folder_is_used_first_and_has_the_public_bits(toy_folder):
    data = datasets.load("toy")
    assert data.X.tolist() == TEXT_X  # -0.002 and not the float32 nearest to it
    assert data.y.tolist() == TEXT_Y


@pytest.mark.parametrize("name", ["x", "y"])
def test_damaged_file_of_the_folder_is_refused_and_left(toy_folder, name):
    path = toy_folder / "toy" / f"{name}.npy.xz"
    good = path.read_bytes()
    longer = lzma.compress(lzma.decompress(good) + b"0")
    for bad in (*damaged(good), longer, lzma.compress(b""), npy(np.zeros(3))):
        path.write_bytes(bad)
        with pytest.raises(InputError, match="is damaged and was not used") as caught:
            datasets.load("toy")
        assert str(path) in str(caught.value)
        assert path.read_bytes() == bad
    path.write_bytes(good)
    assert datasets.load("toy").y.tolist() == TEXT_Y


def test_folder_with_half_a_set_and_without_it(toy_folder, monkeypatch, tmp_path):
    (toy_folder / "toy" / "y.npy.xz").unlink()
    with pytest.raises(InputError, match=r"y\.npy\.xz cannot be read: No such file"):
        datasets.load("toy")
    (toy_folder / "toy" / "x.npy.xz").unlink()
    with pytest.raises(InputError, match="could not be downloaded"):  # on to the next source
        datasets.load("toy")
    monkeypatch.setenv("DPCHECK_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="DPCHECK_DATA must name a folder, got"):
        datasets.load("toy")


# The catalogue


def only(entry: Entry, split: slice) -> Entry:
    return replace(entry, stored=entry.stored[split], public=entry.public[split])


@needs_folder
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_images_of_the_folder(monkeypatch, name):
    """Both splits, one after the other to save memory; the sha256 is of the published idx file."""
    entry = ENTRIES[name]
    for rows, split in ((10000, slice(2, 4)), (60000, slice(0, 2))):
        monkeypatch.setitem(ENTRIES, name, only(entry, split))
        data = datasets.load(name)
        assert data.X.shape == (rows, 784)
        assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
        assert (data.X[:100].min(), data.X[:100].max()) == (0, 1)
        assert np.bincount(data.y).size == 10
        images, labels = hashlib.sha256(), hashlib.sha256()
        images.update(struct.pack(">4I", 0x803, rows, 28, 28))
        for start in range(0, rows, 1000):
            images.update(np.rint(data.X[start : start + 1000] * 255).astype(np.uint8).tobytes())
        labels.update(struct.pack(">2I", 0x801, rows) + data.y.astype(np.uint8).tobytes())
        found = [images.hexdigest(), labels.hexdigest()]
        assert found == [file.sha256 for file in ENTRIES[name].public]
        del data


def libsvm_line(label: int, row: list[float]) -> str:
    pairs = (f"{j}:{1 if v == 1 else v}" for j, v in enumerate(row, 1) if v or j > 10)
    return f"{label} {' '.join(pairs)}\n"


@needs_folder
def test_ijcnn1_of_the_folder_prints_as_the_public_file():
    data = datasets.load("ijcnn1")
    files = ENTRIES["ijcnn1"].public
    for X, y, file in zip((data.X, data.X_test), (data.y, data.y_test), files, strict=True):
        text = hashlib.sha256()
        for label, row in zip(y.astype(int).tolist(), X.tolist(), strict=True):
            text.update(libsvm_line(label, row).encode())
        assert text.hexdigest() == file.sha256


@needs_folder
@pytest.mark.parametrize("name", ["diabetes", "svmguide3", "w5a", "heart_scale"])
def test_small_sets_have_one_value_on_both_routes(name, monkeypatch, server, cache):
    """LIBSVM text printed from the folder's values downloads to the same bits, and is accepted."""
    monkeypatch.setenv("DPCHECK_DATA", FOLDER)
    data, entry = datasets.load(name), ENTRIES[name]
    number = {"diabetes": "%.6f", "svmguide3": "%.6e"}.get(name, "%.6g")
    lines = (
        f"{label:+d} " + " ".join(f"{j}:{number % v}" for j, v in enumerate(row, 1) if v)
        for label, row in zip(data.y.astype(int).tolist(), data.X.tolist(), strict=True)
    )
    server.files[name] = "\n".join(lines).encode()
    (file,) = entry.public
    monkeypatch.setitem(ENTRIES, name, replace(entry, public=(replace(file, at=server.url(name)),)))
    monkeypatch.delenv("DPCHECK_DATA")
    downloaded = datasets.load(name)
    assert downloaded.X.tobytes() == data.X.tobytes()
    assert downloaded.y.tobytes() == data.y.tobytes()
    assert server.asked == [f"/{name}"]
