"""Writes a run as one HTML page: filter attempts, read each turn by turn, see why it was judged so.

The page holds everything: no file beside it, no script or font from elsewhere, and a policy that
forbids the browser to load any. All text in it comes from models and machines and is escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

from cligym.agents.records import AttemptRecord
from cligym.agents.steps import Call, Step, steps_of

__all__ = ["episode_page"]

_STYLE = """
:root { color-scheme: light dark; --line: #8885; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 1.5rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.3rem; } nav { position: sticky; top: 0; background: Canvas; padding: .5rem 0; }
select, input { font: inherit; margin-right: .8rem; }
details.attempt { border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0; }
details.attempt > summary { padding: .4rem .7rem; cursor: pointer; }
details.attempt > div { padding: 0 .8rem .6rem; content-visibility: auto; }
.passed b { color: #1a8a3a; } .failed b { color: #c0392b; } .infra b { color: #b8860b; }
.step { border-left: 3px solid var(--line); margin: .7rem 0; padding-left: .7rem; }
.step.agent { border-color: #3b7ddd; } .who { font-size: .8rem; opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; padding: .4rem .6rem;
      background: var(--soft); border-radius: .3rem; font-size: 13px; }
pre.command::before { content: "$ "; opacity: .6; } pre.text, pre.thinking { background: none; }
pre.thinking { opacity: .7; font-style: italic; } table { border-collapse: collapse; }
td { padding: .1rem .8rem .1rem 0; vertical-align: top; }
""".strip()

_SCRIPT = """
const shown = document.getElementById("shown");
const fields = ["task", "outcome", "agent"].map(id => document.getElementById(id));
function filter() {
  let count = 0;
  for (const attempt of document.querySelectorAll("details.attempt")) {
    const fits = fields.every(f => !f.value || attempt.dataset[f.id] === f.value);
    attempt.hidden = !fits;
    count += fits;
  }
  shown.textContent = count + " shown";
}
for (const field of fields) field.addEventListener("change", filter);
filter();
""".strip()

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def episode_page(records: Sequence[AttemptRecord], *, title: str) -> str:
    """The page of a run's attempts."""
    ordered = sorted(records, key=lambda record: (record.task_id, record.agent, record.attempt))
    outcomes = ["passed", "failed", "infra"]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{_text(title)}</h1>",
            "<nav>",
            _select("task", sorted({record.task_id for record in records})),
            _select("outcome", outcomes),
            _select("agent", sorted({record.agent for record in records})),
            f'<span id="shown">{len(records)} shown</span></nav>',
            *(_attempt(record) for record in ordered),
            f"<script>{_SCRIPT}</script></body></html>",
            "",
        ]
    )


def _select(name: str, values: Sequence[str]) -> str:
    options = "".join(f'<option value="{_text(v)}">{_text(v)}</option>' for v in values)
    return (
        f'<label>{name} <select id="{name}"><option value="">all</option>{options}</select></label>'
    )


def _outcome(record: AttemptRecord) -> str:
    if record.passed is None:
        return "infra"
    return "passed" if record.passed else "failed"


def _attempt(record: AttemptRecord) -> str:
    outcome = _outcome(record)
    data = {"task": record.task_id, "outcome": outcome, "agent": record.agent}
    attributes = " ".join(f'data-{key}="{_text(value)}"' for key, value in data.items())
    return "\n".join(
        [
            f'<details class="attempt {outcome}" data-attempt="{record.attempt}" {attributes}>',
            f"<summary><b>{outcome}</b> {_text(record.task_id)} · attempt {record.attempt} · "
            f"{_text(record.agent)} · {len(record.commands)} commands · "
            f"{_text(record.end_reason)}</summary><div>",
            _facts(record),
            *(_step(step) for step in steps_of(record.messages)),
            *(_verdict(name, verdict) for name, verdict in record.verdicts.items()),
            "</div></details>",
        ]
    )


def _facts(record: AttemptRecord) -> str:
    facts = {
        "model": record.model,
        "seed": record.seed,
        "reward": "none" if record.reward is None else record.reward,
        "infra error": record.infra_error,
        "calls that could not be read": record.parse_errors or None,
        "tokens sampled": record.usage.get("completion_tokens"),
        "seconds": ", ".join(f"{k} {v:.1f}" for k, v in record.seconds.items()) or None,
        "licence": record.licence or None,
    }
    rows = "".join(
        f"<tr><td>{_text(key)}</td><td>{_text(str(value))}</td></tr>"
        for key, value in facts.items()
        if value is not None
    )
    return f"<table>{rows}</table>"


def _step(step: Step) -> str:
    parts = [f'<div class="step {step.source}"><div class="who">{step.source}</div>']
    if step.thinking:
        parts.append(_pre("thinking", step.thinking))
    if step.text:
        parts.append(_pre("text", step.text))
    parts += [_call(call) for call in step.calls]
    return "".join([*parts, "</div>"])


def _call(call: Call) -> str:
    command = _pre("command", call.command)
    return command if call.output is None else command + _pre("output", call.output)


def _pre(kind: str, text: str) -> str:
    """Text as it is; browsers drop a line end after the tag, so one is put there for that."""
    return f'<pre class="{kind}">\n{_text(text)}</pre>'


def _verdict(name: str, verdict: dict[str, object]) -> str:
    """A grader's verdict with all its evidence, times left out."""
    evidence = {key: value for key, value in verdict.items() if key != "seconds"}
    text = json.dumps(evidence, indent=1, ensure_ascii=False)
    passed = "passed" if verdict.get("passed") else "did not pass"
    reasons = verdict.get("reasons")
    short = json.dumps(reasons, ensure_ascii=False) if reasons else ""
    return (
        f'<div class="verdict"><b>{_text(name)}</b>: {passed} {_text(short)}'
        f"<details><summary>evidence</summary><pre>{_text(text)}</pre></details></div>"
    )


def _text(text: str) -> str:
    """Safe text: escaped, control characters and lone surrogates made visible."""
    shown = "".join(chr(0x2400 + ord(c)) if ord(c) < 32 and c not in "\n\t" else c for c in text)
    clean = shown.encode("utf-8", "backslashreplace").decode()
    return html.escape(clean)
