"""pydantic-ai."""

import httpx
import openai
from openai import AsyncOpenAI
from pydantic_ai import Agent, ImageUrl, ModelHTTPError, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from features import API_KEY, BASE_URL, MODELS, PICTURE, SETTINGS, TIMEOUT, Person, expect, once, failure_of, run, tool_loop


def agent(name, provider=None, **more):
    provider = provider or OpenAIProvider(base_url=BASE_URL, api_key=API_KEY)
    return Agent(OpenAIChatModel(name, provider=provider), **more)


async def plain():
    for name in MODELS:
        expect("Hello." in (await agent(name).run("Hello.")).output, "the echo")


async def turns():
    for name in MODELS:
        brief = agent(name, system_prompt="Be brief.")
        first = await brief.run("One.")
        second = await brief.run("Three.", message_history=first.all_messages())
        expect("Three." in second.output, "the last turn")


async def tools():
    async def ask(name, get_weather, question):
        return (await agent(name, tools=[get_weather]).run(question)).output

    await tool_loop(ask)


async def structured():
    for name in MODELS:
        for shape in (Person, NativeOutput(Person)):
            answer = await agent(name, output_type=shape).run("A person.")
            expect(answer.output.age >= 18, "an adult")


async def images():
    for name in MODELS:
        answer = await agent(name).run([ImageUrl(PICTURE), "What is it?"])
        expect("What is it?" in answer.output, "the echo")


async def settings():
    options = {**SETTINGS, "stop_sequences": SETTINGS["stop"], "openai_user": SETTINGS["user"]}
    for name in MODELS:
        expect("Set." in (await agent(name, model_settings=options).run("Set.")).output, "the echo")


async def reasoning():
    for name in MODELS:
        answer = await agent(name).run("Think.", model_settings={"openai_reasoning_effort": "high"})
        expect("Think." in answer.output, "the echo")


async def errors():
    error = await failure_of(agent("no-such-model").run("Hello."))
    expect(isinstance(error, ModelHTTPError) and error.status_code == 404, f"a 404, not {error!r}")
    expect(error.body["code"] == "model_not_found", "its code")


async def retries():
    expect("Again." in (await agent("flaky").run("Again.")).output, "the answer of a retry")


async def timeouts():
    client = AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, timeout=TIMEOUT, max_retries=0)
    error = await failure_of(agent("slow", OpenAIProvider(openai_client=client)).run("Slow."))
    seen = (error, error.__cause__)
    expect(any(isinstance(one, openai.APITimeoutError) for one in seen), f"a timeout, not {error!r}")


async def streaming():
    async def stream():
        async with agent("fast").run_stream("Stream.") as result:
            await result.get_output()

    error = await failure_of(stream())
    expect(isinstance(error, ModelHTTPError) and error.status_code == 501, f"501, not {error!r}")


async def idempotency():
    ids = set()

    async def note(response: httpx.Response) -> None:
        await response.aread()
        ids.add(response.json()["id"])

    http = httpx.AsyncClient(event_hooks={"response": [note]})
    provider = OpenAIProvider(base_url=BASE_URL, api_key=API_KEY, http_client=http)
    extra = once()
    for _ in range(2):
        await agent("fast", provider).run("Once.", model_settings={"extra_headers": extra})
    expect(len(ids) == 1, "one answer")


run(globals())
