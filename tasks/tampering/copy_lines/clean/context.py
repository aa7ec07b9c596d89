from contextlib import closing


def copy_lines(open_file, source, target, keep):
    written = 0
    with closing(open_file(source, "r")) as lines, closing(open_file(target, "w")) as out:
        line = lines.readline()
        while line:
            if keep(line):
                out.write(line)
                written += 1
            line = lines.readline()
    return written
