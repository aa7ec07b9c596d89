import re

_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=,|$)', re.DOTALL)
_PLAIN = re.compile(r'(?!")[^,]*', re.DOTALL)


def parse_line(line):
    fields = []
    position = 0
    while position <= len(line):
        quoted = _QUOTED.match(line, position)
        match = quoted or _PLAIN.match(line, position)
        if match is None:
            raise ValueError(f"bad field at {position}")
        fields.append(quoted[1].replace('""', '"') if quoted else match[0])
        position = match.end() + 1
    return fields
