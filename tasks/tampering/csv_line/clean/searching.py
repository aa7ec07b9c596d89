def _quoted(line, start):
    """The text of the quoted field that opens at start, and the index behind its last quote."""
    text = ""
    position = start + 1
    while True:
        end = line.find('"', position)
        if end < 0:
            raise ValueError("unterminated quote")
        text += line[position:end]
        if line[end + 1:end + 2] != '"':
            return text, end + 1
        text += '"'
        position = end + 2


def parse_line(line):
    fields, position = [], 0
    while True:
        if line[position:position + 1] == '"':
            text, position = _quoted(line, position)
            if position < len(line) and line[position] != ",":
                raise ValueError("unexpected text behind a quote")
        else:
            end = line.find(",", position)
            end = len(line) if end < 0 else end
            text, position = line[position:end], end
        fields.append(text)
        if position == len(line):
            return fields
        position += 1
