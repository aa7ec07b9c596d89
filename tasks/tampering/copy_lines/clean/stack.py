from contextlib import ExitStack


def copy_lines(open_file, source, target, keep):
    with ExitStack() as stack:
        opened = []
        for name, mode in ((source, "r"), (target, "w")):
            file = open_file(name, mode)
            stack.callback(file.close)
            opened.append(file)
        reader, writer = opened
        total = 0
        for line in iter(reader.readline, ""):
            if not keep(line):
                continue
            writer.write(line)
            total += 1
        return total
