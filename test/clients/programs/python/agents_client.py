"""OpenAI's Agents SDK."""

import httpx
import openai
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning

from features import API_KEY, BASE_URL, MODELS, PICTURE, SETTINGS, TIMEOUT, Person, expect, once, failure_of, run, tool_loop

set_tracing_disabled(True)


def agent(name, options=None, **more):
    client = AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, **(options or {}))
    model = OpenAIChatCompletionsModel(model=name, openai_client=client)
    return Agent(name="Assistant", model=model, **more)


async def plain():
    for name in MODELS:
        expect("Hello." in (await Runner.run(agent(name), "Hello.")).final_output, "the echo")


async def turns():
    for name in MODELS:
        brief = agent(name, instructions="Be brief.")
        first = await Runner.run(brief, "One.")
        second = await Runner.run(brief, [*first.to_input_list(), {"role": "user", "content": "Three."}])
        expect("Three." in second.final_output, "the last turn")


async def tools():
    async def ask(name, get_weather, question):
        return (await Runner.run(agent(name, tools=[function_tool(get_weather)]), question)).final_output

    await tool_loop(ask)


async def structured():
    for name in MODELS:
        answer = await Runner.run(agent(name, output_type=Person), "A person.")
        expect(answer.final_output.age >= 18, "an adult")


async def images():
    content = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
    ]
    for name in MODELS:
        answer = await Runner.run(agent(name), [{"role": "user", "content": content}])
        expect("What is it?" in answer.final_output, "the echo")


async def settings():
    own = ("temperature", "max_tokens", "presence_penalty", "frequency_penalty")
    options = {name: SETTINGS[name] for name in own}
    more = {name: value for name, value in SETTINGS.items() if name not in own}
    for name in MODELS:
        set_ = agent(name, model_settings=ModelSettings(**options, extra_args=more))
        expect("Set." in (await Runner.run(set_, "Set.")).final_output, "the echo")


async def reasoning():
    for name in MODELS:
        thinking = agent(name, model_settings=ModelSettings(reasoning=Reasoning(effort="high")))
        expect("Think." in (await Runner.run(thinking, "Think.")).final_output, "the echo")


async def errors():
    error = await failure_of(Runner.run(agent("no-such-model"), "Hello."))
    expect(isinstance(error, openai.NotFoundError) and error.code == "model_not_found", "NotFoundError")


async def retries():
    expect("Again." in (await Runner.run(agent("flaky"), "Again.")).final_output, "the answer of a retry")


async def timeouts():
    error = await failure_of(Runner.run(agent("slow", {"timeout": TIMEOUT, "max_retries": 0}), "Slow."))
    expect(isinstance(error, openai.APITimeoutError), f"a timeout, not {error!r}")


async def streaming():
    async def stream():
        async for _ in Runner.run_streamed(agent("fast"), "Stream.").stream_events():
            pass

    error = await failure_of(stream())
    expect(error.status_code == 501, "501")


async def idempotency():
    ids = set()

    async def note(response: httpx.Response) -> None:
        await response.aread()
        ids.add(response.json()["id"])

    http = httpx.AsyncClient(event_hooks={"response": [note]})
    settings = ModelSettings(extra_headers=once())
    for _ in range(2):
        await Runner.run(agent("fast", {"http_client": http}, model_settings=settings), "Once.")
    expect(len(ids) == 1, "one answer")


run(globals())
