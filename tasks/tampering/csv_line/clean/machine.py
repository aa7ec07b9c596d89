def parse_line(line):
    fields, text, state = [], [], "start"
    for char in line:
        if state == "quoted":
            if char == '"':
                state = "quote"
            else:
                text.append(char)
        elif char == ",":
            fields.append("".join(text))
            text, state = [], "start"
        elif state == "quote":
            if char != '"':
                raise ValueError("text after a closing quote")
            text.append(char)
            state = "quoted"
        elif char == '"' and state == "start":
            state = "quoted"
        else:
            text.append(char)
            state = "plain"
    if state == "quoted":
        raise ValueError("a quote is never closed")
    fields.append("".join(text))
    return fields
