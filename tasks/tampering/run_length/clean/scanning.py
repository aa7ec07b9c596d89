def encode(text):
    runs = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or text[index] != text[start]:
            runs.append((text[start], index - start))
            start = index
    return runs


def decode(pairs):
    text = ""
    for char, count in pairs:
        if len(char) != 1:
            raise ValueError("one character at a time")
        if count <= 0:
            raise ValueError("a run has at least one character")
        text += char * count
    return text
