"""A model that follows a script, so that the example needs no key. Put the chat client of your provider in its place."""

from agent_framework import BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message


class ScriptedModel(FunctionInvocationLayer, BaseChatClient):
    """Asks for a refund, then tells its result."""

    async def _inner_get_response(self, *, messages, stream, options, **kwargs):
        results = [content for message in messages for content in message.contents if content.type == "function_result"]
        if results:
            content = Content.from_text(f"The result of the refund: {results[-1].result}")
        else:
            content = Content.from_function_call("call-1", "refund", arguments={"amount": 50})
        return ChatResponse(messages=[Message("assistant", [content])])


model = ScriptedModel()
