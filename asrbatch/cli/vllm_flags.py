"""Every setting of vLLM as an option under vLLM's own name, such as --kv-cache-dtype fp8.

vLLM is asked what they are only where an option is not one of ours: to import it takes seconds.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    import argparse


class VllmCommand(TyperCommand):
    """A command that leaves what it does not know to vLLM; values are in the context's `obj`."""

    # Typer has a click of its own from 0.20 on, so that no type of it holds for all versions.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Take vLLM's options out, then go on as any command."""
        ours = {option for param in self.params for option in (*param.opts, *param.secondary_opts)}
        ours |= set(ctx.help_option_names)
        unknown = [arg for arg in _options(args) if _name(arg) not in ours]
        ctx.obj = {}
        if unknown and importlib.util.find_spec("vllm") is not None:
            args, ctx.obj["vllm"] = take_vllm_options(args, ours)
        return super().parse_args(ctx, args)


def take_vllm_options(args: list[str], ours: set[str]) -> tuple[list[str], dict[str, Any]]:
    """Split a command line.

    Args:
        args: What was typed.
        ours: Options of the command, which keep their meaning.

    Returns:
        What is not vLLM's, and the values of what is, by the names of `vllm.EngineArgs`.

    Raises:
        typer.BadParameter: A value is missing, or none that vLLM takes.
    """
    actions = _vllm_actions()
    end = args.index("--") if "--" in args else len(args)
    rest: list[str] = []
    values: dict[str, Any] = {}
    position = 0
    while position < end:
        arg = args[position]
        position += 1
        name, _, text = arg.partition("=")
        action = actions.get(_name(arg))
        if not arg.startswith("--") or action is None or _name(arg) in ours:
            rest.append(arg)
            continue
        if action.nargs == 0:
            values[action.dest] = not name.startswith("--no-")
            continue
        texts = [text] if "=" in arg else args[position : position + 1]
        position += 0 if "=" in arg else 1
        while action.nargs == "+" and position < end and not args[position].startswith("-"):
            texts.append(args[position])
            position += 1
        if not texts:
            msg = f"{name} requires a value"
            raise typer.BadParameter(msg)
        values[action.dest] = _value(action, name, texts)
    return rest + args[end:], values


def _value(action: argparse.Action, name: str, texts: list[str]) -> object:
    """What a text means to vLLM, as JSON can hold it."""
    try:
        found = [action.type(text) if callable(action.type) else text for text in texts]
        json.dumps(found)
    except TypeError:  # an object: vLLM makes it of the plain values too
        found = [json.loads(text) for text in texts]
    except Exception as error:  # each of vLLM's parsers has its own
        msg = f"{name}: {error}"
        raise typer.BadParameter(msg) from error
    for one in found:
        if action.choices is not None and one not in action.choices:
            msg = f"{name}: {one!r} is none of {', '.join(map(str, action.choices))}"
            raise typer.BadParameter(msg)
    return found if action.nargs == "+" else found[0]


@cache
def _vllm_actions() -> dict[str, argparse.Action]:
    """Options of vLLM by their names with dashes."""
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    logging.disable(logging.WARNING)  # before there is a logger that could be told
    try:
        with warnings.catch_warnings(action="ignore"):
            from vllm import EngineArgs
            from vllm.utils.argparse_utils import FlexibleArgumentParser

            parser: argparse.ArgumentParser = EngineArgs.add_cli_args(FlexibleArgumentParser())
    finally:
        logging.disable(logging.NOTSET)
    actions = parser._option_string_actions
    return {option: action for option, action in actions.items() if action.dest != "help"}


def _options(args: list[str]) -> list[str]:
    typed = args[: args.index("--")] if "--" in args else args
    return [arg for arg in typed if arg.startswith("--")]


def _name(arg: str) -> str:
    """An option as typed, without its value and with dashes."""
    return arg.partition("=")[0].replace("_", "-")
