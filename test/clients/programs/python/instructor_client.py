"""instructor."""

import instructor
import openai
from instructor.core.exceptions import InstructorRetryException
from openai import OpenAI
from pydantic import BaseModel, Field

from features import API_KEY, BASE_URL, MODELS, PICTURE_QUESTION, SETTINGS, TIMEOUT, Person, expect, failure, once, run


def client(mode=instructor.Mode.JSON_SCHEMA, **more):
    return instructor.from_openai(OpenAI(base_url=BASE_URL, api_key=API_KEY, **more), mode=mode)


def ask(model, content, mode=instructor.Mode.JSON_SCHEMA, options=None, **more):
    messages = [{"role": "user", "content": content}]
    shaped = client(mode, **(options or {}))
    return shaped.chat.completions.create(
        model=model, messages=messages, response_model=Person, max_retries=more.pop("max_retries", 0), **more
    )


def plain():
    for model in MODELS:
        expect(ask(model, "A person.").name, "a name")


def turns():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A person."},
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "Any."},
    ]
    for model in MODELS:
        answer = client().chat.completions.create(model=model, messages=messages, response_model=Person)
        expect(answer.name, "a name")


def tools():
    for model in MODELS:
        for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT):
            expect(ask(model, "A person.", mode).age >= 18, "an adult")


class Team(BaseModel):
    """With what a schema from Python has: references, bounds, optional fields."""

    lead: Person
    others: list[Person] = Field(min_length=2, max_length=4)
    motto: str | None = None


def structured():
    messages = [{"role": "user", "content": "A team."}]
    for model in MODELS:
        answer = client().chat.completions.create(model=model, messages=messages, response_model=Team)
        expect(len(answer.others) >= 2 and answer.lead.age >= 18, "a team")


def images():
    for model in MODELS:
        expect(ask(model, PICTURE_QUESTION).name, "a name")


def settings():
    for model in MODELS:
        expect(ask(model, "A person.", **SETTINGS).name, "a name")


def reasoning():
    for model in MODELS:
        expect(ask(model, "A person.", reasoning_effort="high").name, "a name")


def cause_of(error):
    """instructor wraps what the SDK raised."""
    while isinstance(error, InstructorRetryException) or not isinstance(error, openai.OpenAIError):
        if error.__cause__ is None:
            return error
        error = error.__cause__
    return error


def errors():
    error = cause_of(failure(ask, "no-such-model", "A person."))
    expect(isinstance(error, openai.NotFoundError), f"NotFoundError, not {error!r}")


def retries():
    expect(ask("flaky", "A person.").name, "the answer of a retry")


def timeouts():
    error = cause_of(failure(ask, "slow", "A person.", options={"timeout": TIMEOUT, "max_retries": 0}))
    expect(isinstance(error, openai.APITimeoutError), f"a timeout, not {error!r}")


def streaming():
    partial = client().chat.completions.create_partial
    messages = [{"role": "user", "content": "A person."}]
    error = failure(lambda: list(partial(model="fast", messages=messages, response_model=Person, max_retries=0)))
    expect("501" in str(cause_of(error)), f"501, not {error!r}")


def idempotency():
    extra = once()
    ids = set()
    for _ in range(2):
        _, completion = client().chat.completions.create_with_completion(
            model="fast",
            messages=[{"role": "user", "content": "Once."}],
            response_model=Person,
            extra_headers=extra,
        )
        ids.add(completion.id)
    expect(len(ids) == 1, "one answer")


run(globals())
