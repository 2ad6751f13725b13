"""The arguments of a call as people see them: those that the tool gets."""

import contextlib
import inspect
from typing import Any

from agent_framework import FunctionTool
from countersign_client import json_digest
from pydantic_core import to_jsonable_python


def completed(tool: FunctionTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with the defaults of the tool, and without members that it does not get.

    Left out are a default of None, and one of which JSON has no form that gives the tool the same value. Arguments that
    do not fit the tool are returned as they are: the ledger says what is wrong.
    """
    try:
        got = _got(tool, arguments)
        known = _kept(arguments, _got(tool, arguments, by_alias=True))
        # A model may write other names than it reads.
        whole = known if _got(tool, known) == got else arguments
    except ValueError:
        return arguments
    func = tool.func.func if isinstance(tool.func, FunctionTool) else tool.func
    properties = tool.parameters().get("properties", {})
    for name, parameter in inspect.signature(func).parameters.items() if func else ():
        default, alias = parameter.default, _alias(tool, name)
        if name in got or alias not in properties or default in (None, parameter.empty):
            continue
        with contextlib.suppress(ValueError):
            more = {**whole, alias: to_jsonable_python(default)}
            json_digest(more)
            whole = more if _got(tool, more).get(name) == default else whole
    return whole


def transforms(tool: FunctionTool, arguments: dict[str, Any]) -> bool:
    """Whether the tool gets others than these: validation changes a value and not only its type, or adds or drops one."""
    model = tool.input_model
    once = None if model is None else model.model_validate(arguments)
    twice = None if model is None else model.model_validate(once.model_dump(by_alias=True, exclude_unset=True))
    return once != twice or completed(tool, arguments) != arguments


def written(tool: FunctionTool, validated: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments that the framework has validated as JSON, under the names that the tool reads."""
    return {_alias(tool, name): value for name, value in to_jsonable_python(validated).items()}


def _alias(tool: FunctionTool, name: str) -> str:
    field = None if tool.input_model is None else tool.input_model.model_fields.get(name)
    return name if field is None else field.alias or name


def _got(tool: FunctionTool, arguments: dict[str, Any], by_alias: bool = False) -> dict[str, Any]:
    """What the framework passes to the function. Raises ValueError for arguments that do not fit."""
    model = tool.input_model
    return arguments if model is None else model.model_validate(arguments).model_dump(by_alias=by_alias, exclude_unset=True)


def _kept(given: Any, got: Any) -> Any:
    """The given value without the members that were not got."""
    if isinstance(given, dict) and isinstance(got, dict):
        return {name: _kept(value, got[name]) for name, value in given.items() if name in got}
    if isinstance(given, list) and isinstance(got, list):
        return [_kept(value, one) for value, one in zip(given, got)]
    return given
