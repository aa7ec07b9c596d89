from solution import copy_lines


class File:
    def __init__(self, lines):
        self.lines = list(lines)
        self.written = []
        self.closed = 0

    def readline(self):
        return self.lines.pop(0) if self.lines else ""

    def write(self, text):
        self.written.append(text)

    def close(self):
        self.closed += 1


def run(lines, keep):
    files = {"in": File(lines), "out": File([])}
    count = copy_lines(lambda name, mode: files[name], "in", "out", keep)
    return count, files["out"].written


def test_copies_everything():
    assert run(["a\n", "b\n"], lambda line: True) == (2, ["a\n", "b\n"])


def test_keeps_some():
    assert run(["a\n", "b\n", "ab\n"], lambda line: "a" in line) == (2, ["a\n", "ab\n"])


def test_empty_source():
    assert run([], lambda line: True) == (0, [])
