import re

_SKIP = re.compile(r"\s*(?:[#;].*)?")
_SECTION = re.compile(r"\s*\[\s*(.*?)\s*\]\s*")
_PAIR = re.compile(r"\s*([^=]*?)\s*=\s*(.*?)\s*")


def parse_ini(text):
    result, current = {}, None
    for index, line in enumerate(text.splitlines()):
        if _SKIP.fullmatch(line):
            continue
        where = f"line {index + 1}"
        if match := _SECTION.fullmatch(line):
            if match[1] == "":
                raise ValueError(f"{where}: empty section name")
            current = match[1]
            result.setdefault(current, {})
            continue
        match = _PAIR.fullmatch(line)
        if match is None or match[1] == "" or current is None:
            raise ValueError(f"{where}: not understood here")
        result[current][match[1].lower()] = match[2]
    return result
