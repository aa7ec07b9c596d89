"""The image store: names, layers, removal, archives, and what a kill leaves behind."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from cligym.errors import ImageError
from cligym.sandboxes.entry import ChangeSet, Entry, Kind
from cligym.sandboxes.image import Image, ImageConfig
from cligym.sandboxes.keeper import Keeper
from cligym.sandboxes.store import ImageStore
from cligym.sandboxes.tar_writer import TreeWriter

pytestmark = pytest.mark.userns

FOLDER = Entry(kind=Kind.DIRECTORY, mode=0o755)
FILE = Entry(kind=Kind.FILE, mode=0o644)
SETUID = Entry(kind=Kind.FILE, mode=0o4755, uid=7, gid=8)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ImageStore]:
    keeper = Keeper(tmp_path / "home", tmp_path / "scratch")
    yield ImageStore(tmp_path / "home", keeper)
    keeper.close()


def first_image(store: ImageStore, **files: bytes) -> Image:
    """An image of one layer: /d with `files`."""
    with open(store.root / "first.tar", "w+b") as stream:
        with TreeWriter(stream) as writer:
            writer.add(b"d", FOLDER)
            for name, content in files.items():
                writer.add(b"d/" + name.encode(), SETUID, content)
        return store.put(Image(layers=(store.layers.take_root(stream),)))


def open_tar(store: ImageStore, name: bytes) -> IO[bytes]:
    """An archive with one file."""
    stream = io.BytesIO()
    with TreeWriter(stream) as writer:
        writer.add(name, FILE, name)
    path = store.root / f"{name.decode()}.tar"
    path.write_bytes(stream.getvalue())
    return path.open("rb")


def extended(store: ImageStore, parent: Image, name: bytes, content: bytes) -> Image:
    """`parent` with one more file."""
    with open(store.root / "more.tar", "w+b") as stream:
        with TreeWriter(stream) as writer:
            writer.add(name, FILE, content)
        with store.layers.unpacked(stream) as tree:
            changes = ChangeSet({name: store.keeper.walk(tree).changed[name]})
            return store.commit(parent, tree, changes)


def layer_folders(store: ImageStore) -> list[str]:
    return sorted(os.listdir(store.root / "layers"))


def test_names(store: ImageStore) -> None:
    image = first_image(store, a=b"1")
    store.tag(image, "docker.io/library/tool")
    for ref in ("tool", "tool:latest", "library/tool:latest", image.digest, image.digest[7:25]):
        assert store.get(ref) == image
    assert store.tags() == {"tool:latest": image.digest}


@pytest.mark.parametrize("ref", ["none", "sha256:" + "0" * 64, "", "../../etc"])
def test_unknown_image_is_one_clear_line(store: ImageStore, ref: str) -> None:
    with pytest.raises(ImageError, match="not in the store") as caught:
        store.get(ref)
    assert "\n" not in str(caught.value)


def test_layer_is_named_by_its_change_set(store: ImageStore) -> None:
    image = first_image(store, a=b"1")
    (layer,) = image.layers
    assert store.layer_changes(layer).digest == layer
    entry = store.manifest(image)[b"d/a"]
    owner = (7, 8) if store.keeper.has_id_range else (0, 0)
    assert (entry.mode, entry.size, entry.uid, entry.gid) == (0o4755, 1, *owner)


def test_equal_contents_are_one_layer(store: ImageStore) -> None:
    assert first_image(store, a=b"1") == first_image(store, a=b"1")
    assert len(layer_folders(store)) == 1


def test_no_changes_make_no_layer(store: ImageStore) -> None:
    image = first_image(store, a=b"1")
    tree = store.keeper.runs / store.keeper.run / "trees" / "empty"
    store.keeper.make_tree(tree)
    config = ImageConfig(workdir="/d")
    assert store.commit(image, tree, ChangeSet(), config).layers == image.layers
    assert not tree.exists()


def test_put_needs_the_layers(store: ImageStore) -> None:
    with pytest.raises(ImageError, match="layer sha256:00"):
        store.put(Image(layers=("sha256:" + "0" * 64,)))


def test_diff_of_images_that_share_layers(store: ImageStore) -> None:
    gold = first_image(store, a=b"1")
    damaged = extended(store, extended(store, gold, b"d/b", b"2"), b"d/c", b"3")
    changes = store.diff(gold, damaged)
    assert sorted(changes.changed) == [b"d/b", b"d/c"]
    assert store.diff(damaged, gold).deleted == {b"d/b", b"d/c"}


def test_diff_of_images_without_a_common_layer(store: ImageStore) -> None:
    one, two = first_image(store, a=b"1", b=b"2"), first_image(store, a=b"1", b=b"3")
    assert sorted(store.diff(one, two).changed) == [b"d/b"]


def test_remove_keeps_shared_layers(store: ImageStore) -> None:
    gold = first_image(store, a=b"1")
    damaged = extended(store, gold, b"d/b", b"2")
    store.tag(damaged, "damaged")
    store.remove("damaged")
    assert store.tags() == {} and store.images() == [gold]
    assert store.has_layer(gold.layers[0]) and not store.has_layer(damaged.layers[1])
    store.remove(gold.digest)
    assert layer_folders(store) == []


def test_prune_drops_what_no_image_uses(store: ImageStore) -> None:
    gold = first_image(store, a=b"1")
    with open_tar(store, b"x") as one, open_tar(store, b"y") as two:
        unused = [store.layers.take_root(one), store.layers.take_root(two, "site-1")]
    assert store.prune(older_than_s=3600) == []
    assert sorted(store.prune()) == sorted(unused)
    assert layer_folders(store) == [gold.layers[0][7:]]


def test_unfinished_layers_of_the_dead_are_swept(store: ImageStore) -> None:
    dead = store.root / "layers" / ".new-dead"
    dead.mkdir()
    if store.keeper.id_map.by_root:
        os.chown(dead, store.keeper.id_map.uid_base, store.keeper.id_map.gid_base)
    store.keeper.make_tree(dead / "tree")
    (dead / "lock").touch()
    image = first_image(store, a=b"1")
    assert layer_folders(store) == [layer[7:] for layer in image.layers]


def test_archive_comes_back_in_another_store(store: ImageStore, tmp_path: Path) -> None:
    gold = first_image(store, a=b"1", b=b"2")
    image = extended(store, gold, b"d/new", b"x" * 100_000)
    store.tag(image, "box:1")
    store.export_image(image, tmp_path / "box.tar")
    keeper = Keeper(tmp_path / "other", tmp_path / "scratch")
    try:
        other = ImageStore(tmp_path / "other", keeper)
        assert other.import_image(tmp_path / "box.tar") == image
        assert other.get("box:1") == image
        assert dict(other.manifest(image)) == dict(store.manifest(image))
        data = keeper.read_file(other.layer_path(image.layers[1]), b"d/new", limit_bytes=1 << 20)
        assert data == b"x" * 100_000
        other.import_image(tmp_path / "box.tar")  # again: nothing to do
    finally:
        keeper.close()


def rewritten(path: Path, name: str, old: bytes, new: bytes) -> None:
    """Replaces bytes of one member of an archive."""
    assert len(old) == len(new)
    with tarfile.open(path) as archive:
        members = [(m, (archive.extractfile(m) or io.BytesIO()).read()) for m in archive]
    hits = 0
    with tarfile.open(path, "w") as archive:
        for member, data in members:
            if member.name.endswith(name) and old in data:
                data, hits = data.replace(old, new), hits + 1
            archive.addfile(member, io.BytesIO(data))
    assert hits == 1


@pytest.mark.parametrize(
    ("member", "old", "new"),
    [
        (".tar", b"unique-content", b"forged-content"),
        (".json", b'"d/a"', b'"d/z"'),
        ("image.json", b'"workdir": "/"', b'"workdir": "x"'),
        ("image.json", b"cligym-image-1", b"cligym-image-9"),
    ],
)
def test_forged_archive_is_refused(
    store: ImageStore, tmp_path: Path, member: str, old: bytes, new: bytes
) -> None:
    image = first_image(store, a=b"unique-content")
    store.export_image(image, tmp_path / "box.tar")
    store.remove(image.digest)
    rewritten(tmp_path / "box.tar", member, old, new)
    with pytest.raises(ImageError) as caught:
        store.import_image(tmp_path / "box.tar")
    assert "\n" not in str(caught.value)
    assert layer_folders(store) == [] and store.images() == []


def test_unreadable_archive_is_one_clear_line(store: ImageStore, tmp_path: Path) -> None:
    (tmp_path / "box.tar").write_bytes(b"no archive")
    with pytest.raises(ImageError, match=r"box\.tar cannot be read"):
        store.import_image(tmp_path / "box.tar")
