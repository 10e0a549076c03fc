"""The official SDK."""

import json

import openai
from openai import OpenAI

from features import (
    API_KEY,
    BASE_URL,
    MODELS,
    PICTURE_QUESTION,
    SETTINGS,
    TIMEOUT,
    TURNS,
    WEATHER,
    Person,
    expect,
    failure,
    once,
    run,
)

client = OpenAI(base_url=BASE_URL, api_key=API_KEY)
chat = client.chat.completions


def ask(model, content, **more):
    return chat.create(model=model, messages=[{"role": "user", "content": content}], **more)


def text_of(completion):
    return completion.choices[0].message.content


def plain():
    for model in MODELS:
        expect("Hello." in text_of(ask(model, "Hello.")), "the echo")


def turns():
    for model in MODELS:
        expect("Three." in text_of(chat.create(model=model, messages=TURNS)), "the last turn")


def tools():
    for model in MODELS:
        question = {"role": "user", "content": "Weather?"}
        first = chat.create(model=model, messages=[question], tools=[WEATHER], tool_choice="required")
        call = first.choices[0].message.tool_calls[0]
        expect("city" in json.loads(call.function.arguments), "arguments")
        result = {"role": "tool", "tool_call_id": call.id, "content": "21 °C"}
        messages = [question, first.choices[0].message, result]
        last = chat.create(model=model, messages=messages, tools=[WEATHER])
        expect(last.choices[0].finish_reason == "stop", "an answer after the tool")


def structured():
    messages = [{"role": "user", "content": "A person."}]
    for model in MODELS:
        answer = chat.parse(model=model, messages=messages, response_format=Person)
        expect(answer.choices[0].message.parsed.age >= 18, "an adult")


def images():
    for model in MODELS:
        expect("What is it?" in text_of(ask(model, PICTURE_QUESTION)), "the echo")


def settings():
    for model in MODELS:
        expect("Set." in text_of(ask(model, "Set.", **SETTINGS)), "the echo")


def reasoning():
    for model in MODELS:
        expect("Think." in text_of(ask(model, "Think.", reasoning_effort="high")), "the echo")


def embeddings():
    data = client.embeddings.create(model="embed", input=["one", "two"], dimensions=4).data
    expect(len(data) == 2 and data[1].index == 1 and len(data[1].embedding) == 4, "two vectors")
    tokens = client.embeddings.create(model="embed", input=[[1, 2, 3]], encoding_format="float")
    expect(tokens.usage.prompt_tokens == 3, "the tokens")


def errors():
    error = failure(ask, "no-such-model", "Hello.")
    expect(isinstance(error, openai.NotFoundError) and error.code == "model_not_found", "NotFoundError")
    stranger = OpenAI(base_url=BASE_URL, api_key="wrong")
    expect(isinstance(failure(stranger.models.list), openai.AuthenticationError), "a 401")


def retries():
    expect("Again." in text_of(ask("flaky", "Again.")), "the answer of a retry")


def timeouts():
    quick = client.with_options(timeout=TIMEOUT, max_retries=0).chat.completions
    error = failure(quick.create, model="slow", messages=[{"role": "user", "content": "Slow."}])
    expect(isinstance(error, openai.APITimeoutError), f"a timeout, not {error!r}")


def models():
    ids = [model.id for model in client.models.list()]
    expect("fast" in ids and "gpt-4o-mini" in ids, "aliases and models")


def streaming():
    error = failure(ask, "fast", "Stream.", stream=True)
    expect(error.status_code == 501 and error.code == "not_implemented", "501")


def headers():
    messages = [{"role": "user", "content": "Who?"}]
    response = chat.with_raw_response.create(model="fast", messages=messages)
    expect(response.headers["x-gateway-provider"] == "openai", "x-gateway-provider")


def idempotency():
    extra = once()
    ids = {ask("fast", "Once.", extra_headers=extra).id for _ in range(2)}
    expect(len(ids) == 1, "one answer")


run(globals())
