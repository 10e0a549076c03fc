"""LiteLLM, as a library."""

import json

import litellm

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

litellm.suppress_debug_info = True


def chat(model, messages, **more):
    return litellm.completion(
        model=f"openai/{model}", api_base=BASE_URL, api_key=API_KEY, messages=messages, **more
    )


def ask(model, content, **more):
    return chat(model, [{"role": "user", "content": content}], **more)


def text_of(completion):
    return completion.choices[0].message.content


def plain():
    for model in MODELS:
        expect("Hello." in text_of(ask(model, "Hello.")), "the echo")


def turns():
    for model in MODELS:
        expect("Three." in text_of(chat(model, TURNS)), "the last turn")


def tools():
    for model in MODELS:
        question = {"role": "user", "content": "Weather?"}
        first = chat(model, [question], tools=[WEATHER], tool_choice="required")
        call = first.choices[0].message.tool_calls[0]
        expect("city" in json.loads(call.function.arguments), "arguments")
        result = {"role": "tool", "tool_call_id": call.id, "content": "21 °C"}
        last = chat(model, [question, first.choices[0].message, result], tools=[WEATHER])
        expect(last.choices[0].finish_reason == "stop", "an answer after the tool")


def structured():
    for model in MODELS:
        answer = ask(model, "A person.", response_format=Person)
        expect(Person.model_validate_json(text_of(answer)).age >= 18, "an adult")


def images():
    for model in MODELS:
        expect("What is it?" in text_of(ask(model, PICTURE_QUESTION)), "the echo")


def settings():
    for model in MODELS:
        expect("Set." in text_of(ask(model, "Set.", **SETTINGS)), "the echo")


def reasoning():
    # It knows which models of OpenAI take an effort, and no aliases.
    thinking = {"reasoning_effort": "high", "allowed_openai_params": ["reasoning_effort"]}
    for model in MODELS:
        expect("Think." in text_of(ask(model, "Think.", **thinking)), "the echo")


def errors():
    error = failure(ask, "no-such-model", "Hello.")
    expect(isinstance(error, litellm.NotFoundError), f"NotFoundError, not {error!r}")


def retries():
    expect("Again." in text_of(ask("flaky", "Again.")), "the answer of a retry")


def timeouts():
    error = failure(ask, "slow", "Slow.", timeout=TIMEOUT, max_retries=0)
    expect(isinstance(error, litellm.Timeout), f"a timeout, not {error!r}")


def streaming():
    error = failure(lambda: list(ask("fast", "Stream.", stream=True)))
    expect("not_implemented" in str(error) or "Streaming is not supported" in str(error), f"501, not {error!r}")


def headers():
    answer = ask("fast", "Who?")
    sent = answer._hidden_params["additional_headers"]
    expect(sent["llm_provider-x-gateway-provider"] == "openai", "x-gateway-provider")


def idempotency():
    extra = once()
    ids = {ask("fast", "Once.", extra_headers=extra).id for _ in range(2)}
    expect(len(ids) == 1, "one answer")


run(globals())
