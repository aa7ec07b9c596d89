def copy_lines(open_file, source, target, keep):
    reader = open_file(source, "r")
    try:
        writer = open_file(target, "w")
        try:
            count = 0
            while True:
                line = reader.readline()
                if line == "":
                    return count
                if keep(line):
                    writer.write(line)
                    count += 1
        finally:
            writer.close()
    finally:
        reader.close()
