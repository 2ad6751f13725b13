"""A model that follows a script: it makes the calls of the first turn that the conversation does not have yet, then says "done"."""

import json
from collections.abc import Callable
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class ScriptedModel(FunctionInvocationLayer, BaseChatClient):
    """`told` is what the model was last told as the result of each call."""

    def __init__(self, turns: list[list[dict[str, Any]]], on_called: Callable[[], None] = lambda: None):
        super().__init__()
        self._turns = turns
        self._on_called = on_called
        self.told: dict[str, str] = {}

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        self._on_called()
        contents = self._next(messages)
        if stream:
            return ResponseStream(_updates(contents), finalizer=ChatResponse.from_updates)
        return _response(contents)

    def _next(self, messages: list[Message]) -> list[Content]:
        seen = [content for message in messages for content in message.contents]
        made = {content.call_id for content in seen if content.type == "function_call"}
        self.told = {content.call_id: str(content.result) for content in seen if content.type == "function_result"}
        for turn in self._turns:
            if any(call["toolCallId"] not in made for call in turn):
                return [
                    Content.from_function_call(call["toolCallId"], call["toolName"], arguments=json.dumps(call["arguments"]))
                    for call in turn
                ]
        return [Content.from_text("done")]


async def _response(contents: list[Content]) -> ChatResponse:
    return ChatResponse(messages=[Message("assistant", contents)])


async def _updates(contents: list[Content]):
    yield ChatResponseUpdate(role="assistant", contents=contents)
