"""LlamaIndex."""

import openai
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

from features import API_KEY, BASE_URL, MODELS, PICTURE, SETTINGS, TIMEOUT, Person, expect, failure, once, run


def llm(name, **more):
    return OpenAILike(
        model=name,
        api_base=BASE_URL,
        api_key=API_KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        **more,
    )


def plain():
    for name in MODELS:
        expect("Hello." in llm(name).complete("Hello.").text, "the echo")


def turns():
    messages = [
        ChatMessage(role="system", content="Be brief."),
        ChatMessage(role="user", content="One."),
        ChatMessage(role="assistant", content="Two."),
        ChatMessage(role="user", content="Three."),
    ]
    for name in MODELS:
        expect("Three." in llm(name).chat(messages).message.content, "the last turn")


def get_weather(city: str) -> str:
    """The weather of a city."""
    return "21 °C"


def tools():
    weather = FunctionTool.from_defaults(get_weather)
    for name in MODELS:
        question = ChatMessage(role="user", content="Weather?")
        first = llm(name).chat_with_tools([weather], chat_history=[question], tool_required=True)
        call = llm(name).get_tool_calls_from_response(first)[0]
        expect("city" in call.tool_kwargs, "arguments")
        result = ChatMessage(
            role="tool",
            content=str(weather(**call.tool_kwargs)),
            additional_kwargs={"tool_call_id": call.tool_id},
        )
        last = llm(name).chat_with_tools([weather], chat_history=[question, first.message, result])
        expect("Weather?" in last.message.content, "an answer after the tool")


def structured():
    for name in MODELS:
        expect(llm(name).as_structured_llm(Person).complete("A person.").raw.age >= 18, "an adult")


def images():
    blocks = [TextBlock(text="What is it?"), ImageBlock(url=PICTURE)]
    for name in MODELS:
        answer = llm(name).chat([ChatMessage(role="user", blocks=blocks)])
        expect("What is it?" in answer.message.content, "the echo")


def settings():
    for name in MODELS:
        expect("Set." in llm(name).complete("Set.", **SETTINGS).text, "the echo")


def reasoning():
    for name in MODELS:
        expect("Think." in llm(name).complete("Think.", reasoning_effort="high").text, "the echo")


def embeddings():
    made = OpenAILikeEmbedding(model_name="embed", api_base=BASE_URL, api_key=API_KEY, dimensions=4)
    vectors = made.get_text_embedding_batch(["one", "two"])
    expect(len(vectors) == 2 and len(vectors[1]) == 4, "two vectors")


def errors():
    error = failure(llm("no-such-model").complete, "Hello.")
    expect(isinstance(error, openai.NotFoundError) and error.code == "model_not_found", "NotFoundError")


def retries():
    expect("Again." in llm("flaky").complete("Again.").text, "the answer of a retry")


def timeouts():
    error = failure(llm("slow", timeout=TIMEOUT, max_retries=0).complete, "Slow.")
    expect(isinstance(error, openai.APITimeoutError), f"a timeout, not {error!r}")


def streaming():
    error = failure(lambda: list(llm("fast").stream_complete("Stream.")))
    expect(error.status_code == 501, "501")


def idempotency():
    asked = llm("fast", default_headers=once())
    ids = {asked.chat([ChatMessage(role="user", content="Once.")]).raw.id for _ in range(2)}
    expect(len(ids) == 1, "one answer")


run(globals())
