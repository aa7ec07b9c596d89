class _Reader:
    def __init__(self):
        self.data = {}
        self.section = ""

    def feed(self, line):
        if line == "" or line.startswith(("#", ";")):
            return
        if line[0] == "[" and line[-1] == "]":
            self.section = line[1:-1].strip()
            if self.section == "":
                raise ValueError("empty section name")
            self.data.setdefault(self.section, {})
            return
        key, equals, value = line.partition("=")
        if equals == "":
            raise ValueError("no equals sign")
        self.store(key.strip().lower(), value.strip())

    def store(self, key, value):
        if key == "":
            raise ValueError("empty key")
        if self.section == "":
            raise ValueError("no section yet")
        self.data[self.section][key] = value


def parse_ini(text):
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            reader.feed(line.strip())
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return reader.data
