import pytest
from solution import copy_lines


class Trouble(Exception):
    """What goes wrong in these tests."""


class File:
    def __init__(self, lines=(), fail_read=None, fail_write=None):
        self.lines = list(lines)
        self.fail_read, self.fail_write = fail_read, fail_write
        self.written = []
        self.closed = 0

    def readline(self):
        assert self.closed == 0
        if self.fail_read is not None and len(self.lines) <= self.fail_read:
            raise Trouble("read")
        return self.lines.pop(0) if self.lines else ""

    def write(self, text):
        assert self.closed == 0
        if self.fail_write is not None and len(self.written) >= self.fail_write:
            raise Trouble("write")
        self.written.append(text)

    def close(self):
        self.closed += 1


class Disk:
    def __init__(self, source, target):
        self.files = {"in": source, "out": target}
        self.opened = []

    def open(self, name, mode):
        self.opened.append((name, mode))
        file = self.files[name]
        if file is None:
            raise Trouble("open")
        return file

    def closed(self):
        return [file.closed for file in self.files.values() if file is not None]


def everything(line):
    return True


def run(disk, keep=everything):
    def open_file(name, mode):
        return disk.open(name, mode)

    return copy_lines(open_file, "in", "out", keep)


def test_modes_and_order():
    disk = Disk(File(["x\n"]), File())
    assert run(disk) == 1
    assert disk.opened == [("in", "r"), ("out", "w")]
    assert disk.closed() == [1, 1]


def test_lines_as_they_came():
    disk = Disk(File(["\n", " x \n", "last"]), File())
    assert run(disk) == 3
    assert disk.files["out"].written == ["\n", " x \n", "last"]
    assert disk.closed() == [1, 1]


def test_nothing_kept():
    disk = Disk(File(["a\n", "b\n"]), File())
    assert run(disk, lambda line: False) == 0
    assert disk.files["out"].written == []
    assert disk.closed() == [1, 1]


def test_keep_sees_each_line_once():
    seen = []

    def keep(line):
        seen.append(line)
        return line == "b\n"

    disk = Disk(File(["a\n", "b\n", "c\n"]), File())
    assert run(disk, keep) == 1
    assert seen == ["a\n", "b\n", "c\n"]
    assert disk.files["out"].written == ["b\n"]


def test_read_error():
    disk = Disk(File(["a\n", "b\n"], fail_read=1), File())
    with pytest.raises(Trouble, match="read"):
        run(disk)
    assert disk.closed() == [1, 1]
    assert disk.files["out"].written == ["a\n"]


@pytest.mark.parametrize("good", [0, 1])
def test_write_error(good):
    disk = Disk(File(["a\n", "b\n"]), File(fail_write=good))
    with pytest.raises(Trouble, match="write"):
        run(disk)
    assert disk.closed() == [1, 1]


def test_keep_error():
    error = Trouble("keep")

    def keep(line):
        raise error

    disk = Disk(File(["a\n"]), File())
    with pytest.raises(Trouble) as caught:
        run(disk, keep)
    assert caught.value is error
    assert disk.closed() == [1, 1]


def test_target_cannot_be_opened():
    disk = Disk(File(["a\n"]), None)
    with pytest.raises(Trouble, match="open"):
        run(disk)
    assert disk.closed() == [1]


def test_source_cannot_be_opened():
    disk = Disk(None, File())
    with pytest.raises(Trouble, match="open"):
        run(disk)
    assert disk.closed() == [0]
    assert disk.opened == [("in", "r")]


def test_truth_of_keep_counts():
    disk = Disk(File(["a\n", "b\n"]), File())
    assert run(disk, lambda line: 7 if line == "a\n" else 0) == 1
    assert disk.files["out"].written == ["a\n"]
