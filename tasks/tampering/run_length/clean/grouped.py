from itertools import groupby


def encode(text):
    return [(char, len(list(run))) for char, run in groupby(text)]


def decode(pairs):
    parts = []
    for char, count in pairs:
        if len(char) != 1 or count < 1:
            raise ValueError(f"not a run: {char!r}, {count}")
        parts.append(char * count)
    return "".join(parts)
