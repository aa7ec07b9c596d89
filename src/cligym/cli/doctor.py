"""`cligym doctor`: what this machine can and cannot do, per back end, in plain words."""

from __future__ import annotations

import typer

from cligym.cli.output import JsonFlag, print_json, print_table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `cligym doctor`."""
    app.command("doctor")(_doctor)


def _doctor(as_json: JsonFlag = False) -> None:
    """Try what this machine can do; exits 1 when no back end works."""
    from cligym.sandboxes.checkup import check_docker, check_namespace, works

    checks = [*check_namespace(), *check_docker()]
    usable = [name for name in ("namespace", "docker") if works(checks, name)]
    if as_json:
        print_json({"usable": usable, "checks": checks})
    else:
        rows = [[c.backend, c.check, _word(ok=c.ok, needed=c.needed), c.detail] for c in checks]
        print_table(["back end", "tried", "", "found"], rows, footnotes=[_verdict(usable)])
    if not usable:
        raise typer.Exit(1)


def _word(*, ok: bool, needed: bool) -> str:
    if ok:
        return "ok"
    return "MISSING" if needed else "limited"


def _verdict(usable: list[str]) -> str:
    if not usable:
        return "No back end works here: the lines marked MISSING say why."
    return f"Back ends that work here: {', '.join(usable)}."
