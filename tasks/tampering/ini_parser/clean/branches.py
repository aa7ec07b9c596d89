def parse_ini(text):
    result = {}
    section = None
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1].strip()
            if not name:
                raise ValueError(f"line {number}: a section without a name")
            section = result.setdefault(name, {})
        elif "=" in line:
            key, value = line.split("=", 1)
            key = key.strip().lower()
            if not key:
                raise ValueError(f"line {number}: a value without a key")
            if section is None:
                raise ValueError(f"line {number}: a key outside of any section")
            section[key] = value.strip()
        else:
            raise ValueError(f"line {number}: cannot read {line!r}")
    return result
