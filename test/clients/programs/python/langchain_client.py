"""LangChain for Python."""

import openai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from features import API_KEY, BASE_URL, MODELS, PICTURE_QUESTION, SETTINGS, TIMEOUT, Person, expect, failure, once, run


def model(name, **more):
    options = {"disable_streaming": True, **more}
    return ChatOpenAI(model=name, base_url=BASE_URL, api_key=API_KEY, **options)


def plain():
    for name in MODELS:
        expect("Hello." in model(name).invoke("Hello.").text, "the echo")


def turns():
    messages = [SystemMessage("Be brief."), HumanMessage("One."), AIMessage("Two."), HumanMessage("Three.")]
    for name in MODELS:
        expect("Three." in model(name).invoke(messages).text, "the last turn")


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "21 °C"


def tools():
    for name in MODELS:
        question = HumanMessage("Weather?")
        first = model(name).bind_tools([get_weather], tool_choice="required").invoke([question])
        call = first.tool_calls[0]
        expect("city" in call["args"], "arguments")
        result = ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])
        last = model(name).bind_tools([get_weather]).invoke([question, first, result])
        expect("Weather?" in last.text, "an answer after the tool")


def structured():
    for name in MODELS:
        shaped = model(name).with_structured_output(Person, method="json_schema", strict=True)
        expect(shaped.invoke("A person.").age >= 18, "an adult")


def images():
    for name in MODELS:
        expect("What is it?" in model(name).invoke([HumanMessage(PICTURE_QUESTION)]).text, "the echo")


def settings():
    options = {**SETTINGS, "model_kwargs": {"user": SETTINGS["user"]}}
    del options["user"]
    for name in MODELS:
        expect("Set." in model(name, **options).invoke("Set.").text, "the echo")


def reasoning():
    for name in MODELS:
        expect("Think." in model(name, reasoning_effort="high").invoke("Think.").text, "the echo")


def embeddings():
    # With the check it would fetch a vocabulary from the internet, to send tokens.
    made = OpenAIEmbeddings(
        model="embed", base_url=BASE_URL, api_key=API_KEY, dimensions=4, check_embedding_ctx_length=False
    )
    vectors = made.embed_documents(["one", "two"])
    expect(len(vectors) == 2 and len(vectors[1]) == 4, "two vectors")


def errors():
    error = failure(model("no-such-model").invoke, "Hello.")
    expect(isinstance(error, openai.NotFoundError) and error.code == "model_not_found", "NotFoundError")


def retries():
    expect("Again." in model("flaky").invoke("Again.").text, "the answer of a retry")


def timeouts():
    error = failure(model("slow", timeout=TIMEOUT, max_retries=0).invoke, "Slow.")
    expect(isinstance(error, openai.APITimeoutError), f"a timeout, not {error!r}")


def streaming():
    error = failure(lambda: list(model("fast", disable_streaming=False).stream("Stream.")))
    expect(error.status_code == 501, "501")
    # As in the page's lines: what is asked to stream comes whole.
    expect("Whole." in "".join(chunk.text for chunk in model("fast").stream("Whole.")), "the whole answer")


def headers():
    answer = model("fast", include_response_headers=True).invoke("Who?")
    expect(answer.response_metadata["headers"]["x-gateway-provider"] == "openai", "x-gateway-provider")


def idempotency():
    extra = once()
    ids = {model("fast").invoke("Once.", extra_headers=extra).response_metadata["id"] for _ in range(2)}
    expect(len(ids) == 1, "one answer")


run(globals())
