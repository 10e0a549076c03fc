//! async-openai. It prints one line per feature: its name, yes, no or none, a note.
use async_openai::{Client, config::OpenAIConfig, error::OpenAIError};
use serde_json::{Value, json};
use std::{env, process, time::Duration};

type Checked = Result<(), String>;

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A feature works when it works with all of these aliases.
fn aliases() -> Vec<String> {
    env::var("GATEWAY_MODELS").expect("GATEWAY_MODELS").split(',').map(String::from).collect()
}

fn config() -> OpenAIConfig {
    OpenAIConfig::new()
        .with_api_base(env::var("GATEWAY_URL").expect("GATEWAY_URL"))
        .with_api_key(env::var("GATEWAY_KEY").expect("GATEWAY_KEY"))
}

async fn chat(body: Value) -> Result<Value, OpenAIError> {
    Client::with_config(config()).chat().create_byot(body).await
}

fn question(model: &str, content: impl Into<Value>) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": content.into() }] })
}

fn echoes(answer: Result<Value, OpenAIError>, text: &str) -> Checked {
    let answer = answer.map_err(|error| error.to_string())?;
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    expect(content.contains(text), "the echo")
}

fn expect(holds: bool, what: &str) -> Checked {
    if holds { Ok(()) } else { Err(format!("expected {what}")) }
}

fn report(name: &str, result: Checked) {
    match result {
        Ok(()) => println!("{name}\tyes"),
        Err(note) => println!("{name}\tno\t{}", note.lines().next().unwrap_or_default()),
    }
}

#[tokio::main]
async fn main() {
    if wanted("plain") {
        report("plain", plain().await);
    }
    if wanted("turns") {
        report("turns", turns().await);
    }
    if wanted("tools") {
        report("tools", tools().await);
    }
    if wanted("structured") {
        report("structured", structured().await);
    }
    if wanted("images") {
        report("images", images().await);
    }
    if wanted("settings") {
        report("settings", settings().await);
    }
    if wanted("reasoning") {
        report("reasoning", reasoning().await);
    }
    // Only those depend on the model.
    if env::var("GATEWAY_FEATURES").is_ok() {
        return;
    }
    report("errors", errors().await);
    report("retries", echoes(chat(question("flaky", "Again.")).await, "Again."));
    report("timeouts", timeouts().await);
    report("models", models().await);
    report("streaming", streaming().await);
    println!("headers\tnone");
    report("idempotency", idempotency().await);
}

fn wanted(feature: &str) -> bool {
    env::var("GATEWAY_FEATURES").map_or(true, |features| features.split(',').any(|each| each == feature))
}

async fn plain() -> Checked {
    for model in &aliases() {
        echoes(chat(question(model, "Hello.")).await, "Hello.")?;
    }
    Ok(())
}

async fn turns() -> Checked {
    let messages = json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "One." },
        { "role": "assistant", "content": "Two." },
        { "role": "user", "content": "Three." },
    ]);
    for model in &aliases() {
        echoes(chat(json!({ "model": model, "messages": messages })).await, "Three.")?;
    }
    Ok(())
}

async fn tools() -> Checked {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    let tools = json!([{ "type": "function", "function": { "name": "get_weather", "parameters": parameters } }]);
    for model in &aliases() {
        let mut body = question(model, "Weather?");
        body["tools"] = tools.clone();
        body["tool_choice"] = json!("required");
        let first = chat(body.clone()).await.map_err(|error| error.to_string())?;
        let message = &first["choices"][0]["message"];
        let id = &message["tool_calls"][0]["id"];
        let result = json!({ "role": "tool", "tool_call_id": id, "content": "21 °C" });
        body["messages"] = json!([body["messages"][0], message, result]);
        body["tool_choice"] = json!("auto");
        echoes(chat(body).await, "Weather?")?;
    }
    Ok(())
}

async fn structured() -> Checked {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "integer", "minimum": 18 } },
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    for model in &aliases() {
        let mut body = question(model, "A person.");
        body["response_format"] =
            json!({ "type": "json_schema", "json_schema": { "name": "person", "strict": true, "schema": schema } });
        let answer = chat(body).await.map_err(|error| error.to_string())?;
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
        let person: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        expect(person["age"].as_i64() >= Some(18), "an adult")?;
    }
    Ok(())
}

async fn images() -> Checked {
    for model in &aliases() {
        let content = json!([
            { "type": "text", "text": "What is it?" },
            { "type": "image_url", "image_url": { "url": PICTURE } },
        ]);
        echoes(chat(question(model, content)).await, "What is it?")?;
    }
    Ok(())
}

async fn settings() -> Checked {
    for model in &aliases() {
        let mut body = question(model, "Set.");
        let settings = json!({
            "temperature": 0.2, "max_tokens": 60, "stop": ["END"], "seed": 7,
            "presence_penalty": 0.1, "frequency_penalty": 0.1, "user": "ann@example.com",
        });
        body.as_object_mut().expect("an object").extend(settings.as_object().expect("an object").clone());
        echoes(chat(body).await, "Set.")?;
    }
    Ok(())
}

async fn reasoning() -> Checked {
    for model in &aliases() {
        let mut body = question(model, "Think.");
        body["reasoning_effort"] = json!("high");
        echoes(chat(body).await, "Think.")?;
    }
    Ok(())
}

fn code_of(result: Result<Value, OpenAIError>) -> String {
    match result {
        Err(OpenAIError::ApiError(error)) => error.api_error.code.unwrap_or_default(),
        other => format!("{other:?}"),
    }
}

async fn errors() -> Checked {
    let code = code_of(chat(question("no-such-model", "Hello.")).await);
    expect(code == "model_not_found", &format!("model_not_found, not {code}"))
}

async fn timeouts() -> Checked {
    let http = reqwest::Client::builder()
        .timeout(Duration::from_millis(1500))
        .build()
        .map_err(|error| error.to_string())?;
    let client = Client::with_config(config()).with_http_client(http);
    // It repeats a request that timed out, so the caller sets the end.
    let answer: Result<Value, _> = client.chat().create_byot(question("slow", "Slow.")).await;
    match answer {
        Err(OpenAIError::Reqwest(error)) if error.is_timeout() => Ok(()),
        other => Err(format!("expected a timeout, not {other:?}")),
    }
}

async fn models() -> Checked {
    let client = Client::with_config(config());
    let list = client.models().list().await.map_err(|error| error.to_string())?;
    let has = |id: &str| list.data.iter().any(|model| model.id == id);
    expect(has("fast") && has("gpt-4o-mini"), "aliases and models")
}

async fn streaming() -> Checked {
    let mut body = question("fast", "Stream.");
    body["stream"] = json!(true);
    // Of an error of the server it keeps the status only.
    match chat(body).await {
        Err(OpenAIError::ApiError(error)) if error.status_code == 501 => Ok(()),
        other => Err(format!("expected 501, not {other:?}")),
    }
}

async fn idempotency() -> Checked {
    let key = format!("rust-{}", process::id());
    let config = config().with_header("Idempotency-Key", key.as_str()).map_err(|error| error.to_string())?;
    let client = Client::with_config(config);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer: Value =
            client.chat().create_byot(question("fast", "Once.")).await.map_err(|error| error.to_string())?;
        ids.push(answer["id"].clone());
    }
    expect(ids[0] == ids[1], "one answer")
}
