"""Trees from many threads at once: Python 3.11 fails on them without a lock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from cligym.tasks.syntax_tree import parse_source

SOURCE = "def f(x):\n" + "".join(f"    x = ((x + {n}) * [x, {{x: (x,)}}][0])\n" for n in range(60))


def test_many_threads_parse() -> None:
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(lambda number: parse_source(SOURCE), range(60)))
    assert {len(tree.body) for tree in trees} == {1}
