"""Reading Dockerfiles: what comes out of the parser, and what is refused by name and line."""

from __future__ import annotations

import pytest

from cligym.errors import BuildError
from cligym.sandboxes.build_scope import BuildScope
from cligym.sandboxes.dockerfile import Instruction, Op, parse_dockerfile
from cligym.sandboxes.run_argv import RunProcess, run_process

SHELL = ("/bin/sh", "-c")


def only(text: str) -> Instruction:
    (instruction,) = parse_dockerfile(f"FROM x\n{text}\n").body
    return instruction


def ran(text: str) -> RunProcess:
    return run_process(only(text), SHELL, "/script")


def test_comment_lines_inside_a_continuation_are_stripped() -> None:
    process = ran("RUN echo a && \\\n# not a part\n  # nor this\n\n  echo b")
    assert process.argv[:2] == SHELL
    assert "not a part" not in process.argv[2] and "nor this" not in process.argv[2]
    assert process.argv[2].split() == ["echo", "a", "&&", "echo", "b"]


def test_backslash_x_reaches_the_shell_as_it_stands() -> None:
    assert ran(r"RUN printf '\x51' > /f").argv[2] == r"printf '\x51' > /f"


def test_run_expands_no_variables() -> None:
    assert ran('RUN echo "$HOME" ${X:-y}').argv[2] == 'echo "$HOME" ${X:-y}'


def test_exec_form() -> None:
    assert ran('RUN ["printf", "%s", "$X"]').argv == ("printf", "%s", "$X")


def test_heredoc_alone_is_the_script() -> None:
    assert ran("RUN <<EOF\necho $a\necho b\nEOF").argv == (*SHELL, "echo $a\necho b\n")


def test_heredoc_with_dash_loses_leading_tabs() -> None:
    assert ran("RUN <<-EOF\n\techo a\n\t\techo b\nEOF").argv == (*SHELL, "echo a\necho b\n")


def test_heredoc_with_shebang_is_a_file() -> None:
    process = ran("RUN <<'EOF'\n#!/usr/bin/env python3\nprint(1)\nEOF")
    assert process == RunProcess(argv=("/script",), script="#!/usr/bin/env python3\nprint(1)\n")


def test_heredoc_after_a_command_is_left_to_the_shell() -> None:
    process = ran("RUN cat <<'EOF' > /x && echo y\na $b\nEOF")
    assert process.argv == (*SHELL, "cat <<'EOF' > /x && echo y\na $b\nEOF")


def test_two_heredocs() -> None:
    process = ran("RUN cat <<A <<B\n1\nA\n2\nB")
    assert process.argv[2] == "cat <<A <<B\n1\nA\n2\nB"


def test_lines_count_continuations_and_heredocs() -> None:
    body = parse_dockerfile("FROM x\nRUN a \\\n  b\nRUN <<E\nx\nE\n\n# c\nRUN z\n").body
    assert [each.line for each in body] == [2, 4, 9]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ENV A=1 B='x y'", ("A", "1", "B", "'x y'")),
        ("ENV A some text", ("A", "some text")),
        ("ENV A=x\\ y", ("A", "x\\ y")),
    ],
)
def test_env_forms(text: str, words: tuple[str, ...]) -> None:
    assert only(text).words == words


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ADD a /b", "ADD"),
        ("ONBUILD RUN x", "ONBUILD"),
        ("VOLUME /x", "VOLUME"),
        ("HEALTHCHECK NONE", "HEALTHCHECK"),
        ("RUN --mount=type=cache,target=/x y", "--mount"),
        ("RUN --network=none y", "--network"),
        ("COPY --from=a b /c", "--from"),
        ("COPY --link b /c", "--link"),
        ("FROM y", "multi-stage"),
        ("FLY me", "FLY"),
        ("SHELL /bin/bash", "JSON"),
        ("COPY a", "COPY"),
        ("RUN", "RUN"),
        ("FROM --platform=linux/s390x y", "platform"),
    ],
)
def test_refused_by_name_with_line(line: str, name: str) -> None:
    with pytest.raises(BuildError, match=name) as caught:
        parse_dockerfile(f"FROM x\n\n{line}\n")
    assert caught.value.line == 3
    assert "line 3" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "# only a comment\n", "RUN x\n", "FROM\n", "FROM a b\n", "FROM x\nRUN <<EOF\nnever\n"],
)
def test_unreadable_files_are_one_line(text: str) -> None:
    with pytest.raises(BuildError) as caught:
        parse_dockerfile(text)
    assert "\n" not in str(caught.value)


def test_escape_directive() -> None:
    parsed = parse_dockerfile("# escape=`\nFROM x\nRUN a `\n b\nENV P=c:\\x\n")
    assert parsed.escape == "`"
    assert BuildScope(parsed, {}).expand(parsed.body[1], parsed.body[1].words[1]) == "c:\\x"


def test_arg_scopes() -> None:
    text = "ARG V=1\nARG W=w$V\nFROM img:$W\nARG V\nARG U=u-$V\nARG G=default\nARG N\n"
    parsed = parse_dockerfile(text)
    scope = BuildScope(parsed, {"G": "given", "X": "unused"})
    assert scope.expand_global(parsed.base, parsed.base.words[0]) == "img:w1"
    assert scope.args == {}
    for instruction in parsed.body:
        scope.declare(instruction)
    assert scope.args == {"V": "1", "U": "u-1", "G": "given"}
    assert scope.unused == ["X"]


def test_global_arg_is_unknown_until_declared_again() -> None:
    parsed = parse_dockerfile("ARG V=1\nFROM x\nENV A=$V\n")
    assert BuildScope(parsed, {}).expand(parsed.body[0], "$V") == ""


def test_env_wins_over_arg() -> None:
    parsed = parse_dockerfile("FROM x\nARG V=arg\nUSER $V\n")
    scope = BuildScope(parsed, {"V": "given"})
    scope.declare(parsed.body[0])
    scope.env["V"] = "env"
    assert scope.expand(parsed.body[1], "$V") == "env"


def test_proxies_need_no_arg() -> None:
    scope = BuildScope(parse_dockerfile("FROM x\n"), {"http_proxy": "http://p"})
    assert scope.args == {"http_proxy": "http://p"} and scope.unused == []


def test_bad_expansion_names_the_line() -> None:
    parsed = parse_dockerfile("FROM x\nUSER ${A\n")
    with pytest.raises(BuildError, match="line 2: USER"):
        BuildScope(parsed, {}).expand(parsed.body[0], parsed.body[0].words[0])


def test_ops_are_read_in_any_case() -> None:
    assert [each.op for each in parse_dockerfile("from x\nrun a\nWorkDir /b\n").body] == [
        Op.RUN,
        Op.WORKDIR,
    ]
