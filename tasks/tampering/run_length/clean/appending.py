def encode(text):
    runs = []
    for char in text:
        if runs and runs[-1][0] == char:
            runs[-1] = (char, runs[-1][1] + 1)
        else:
            runs.append((char, 1))
    return runs


def _expand(pair):
    char, count = pair
    if count < 1 or len(char) != 1:
        raise ValueError(pair)
    return char * count


def decode(pairs):
    return "".join(map(_expand, pairs))
