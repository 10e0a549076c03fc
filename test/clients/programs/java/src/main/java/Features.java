import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.RequestOptions;
import com.openai.core.http.HttpResponseFor;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIIoException;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.ReasoningEffort;
import com.openai.models.ResponseFormatJsonSchema;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionToolChoiceOption;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The official SDK of Java. It prints one line per feature: its name, yes, no or none, a note. */
public class Features {
    private static final String PICTURE =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
            + "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    /** A feature works when it works with all of these aliases. */
    private static final List<String> MODELS = List.of(System.getenv("GATEWAY_MODELS").split(","));
    /** The only features to try, if there is such a list. */
    private static final String ONLY = System.getenv("GATEWAY_FEATURES");

    private static final OpenAIClient CLIENT = client().build();

    private interface Feature {
        void check() throws Exception;
    }

    private interface ModelFeature {
        void check(String model) throws Exception;
    }

    private static OpenAIOkHttpClient.Builder client() {
        return OpenAIOkHttpClient.builder()
            .baseUrl(System.getenv("GATEWAY_URL"))
            .apiKey(System.getenv("GATEWAY_KEY"));
    }

    public static void main(String[] args) {
        run("plain", each(model -> echo(create(ask(model, "Hello.")), "Hello.")));
        run("turns", each(Features::turns));
        run("tools", each(Features::tools));
        run("structured", each(Features::structured));
        run("images", each(Features::images));
        run("settings", each(Features::settings));
        run("reasoning", each(Features::reasoning));
        run("errors", Features::errors);
        run("retries", () -> echo(create(ask("flaky", "Again.")), "Again."));
        run("timeouts", Features::timeouts);
        run("models", Features::models);
        run("streaming", Features::streaming);
        run("headers", Features::headers);
        run("idempotency", Features::idempotency);
        System.exit(0);
    }

    private static void run(String name, Feature feature) {
        if (ONLY != null && !List.of(ONLY.split(",")).contains(name)) return;
        try {
            feature.check();
            System.out.println(name + "\tyes");
        } catch (Throwable error) {
            System.out.println(name + "\tno\t" + String.valueOf(error).split("\n")[0]);
        }
    }

    private static Feature each(ModelFeature feature) {
        return () -> {
            for (String model : MODELS) feature.check(model);
        };
    }

    private static ChatCompletionCreateParams.Builder ask(String model, String text) {
        return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
    }

    private static ChatCompletion create(ChatCompletionCreateParams.Builder params) {
        return CLIENT.chat().completions().create(params.build());
    }

    private static String textOf(ChatCompletion completion) {
        return completion.choices().get(0).message().content().orElse("");
    }

    private static void echo(ChatCompletion completion, String text) {
        expect(textOf(completion).contains(text), "the echo");
    }

    private static void expect(boolean holds, String what) {
        if (!holds) throw new AssertionError("expected " + what);
    }

    private static void turns(String model) {
        echo(
            create(ChatCompletionCreateParams.builder()
                .model(model)
                .addSystemMessage("Be brief.")
                .addUserMessage("One.")
                .addAssistantMessage("Two.")
                .addUserMessage("Three.")),
            "Three.");
    }

    private static void tools(String model) {
        FunctionParameters parameters = FunctionParameters.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(Map.of("city", Map.of("type", "string"))))
            .putAdditionalProperty("required", JsonValue.from(List.of("city")))
            .build();
        ChatCompletionFunctionTool weather = ChatCompletionFunctionTool.builder()
            .function(FunctionDefinition.builder().name("get_weather").parameters(parameters).build())
            .build();
        ChatCompletionCreateParams.Builder params = ask(model, "Weather?").addTool(weather);
        ChatCompletionMessage first =
            create(params.toolChoice(ChatCompletionToolChoiceOption.Auto.REQUIRED)).choices().get(0).message();
        var call = first.toolCalls().orElseThrow().get(0).asFunction();
        expect(call.function().arguments().contains("city"), "arguments");
        params.addMessage(first)
            .addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("21 °C").build())
            .toolChoice(ChatCompletionToolChoiceOption.Auto.AUTO);
        echo(create(params), "Weather?");
    }

    private static void structured(String model) {
        Map<String, Object> properties =
            Map.of("name", Map.of("type", "string"), "age", Map.of("type", "integer", "minimum", 18));
        ResponseFormatJsonSchema.JsonSchema.Schema schema = ResponseFormatJsonSchema.JsonSchema.Schema.builder()
            .putAdditionalProperty("type", JsonValue.from("object"))
            .putAdditionalProperty("properties", JsonValue.from(properties))
            .putAdditionalProperty("required", JsonValue.from(List.of("name", "age")))
            .putAdditionalProperty("additionalProperties", JsonValue.from(false))
            .build();
        ResponseFormatJsonSchema format = ResponseFormatJsonSchema.builder()
            .jsonSchema(ResponseFormatJsonSchema.JsonSchema.builder()
                .name("person")
                .strict(true)
                .schema(schema)
                .build())
            .build();
        String text = textOf(create(ask(model, "A person.").responseFormat(format)));
        expect(text.contains("\"age\":18"), "an adult, not " + text);
    }

    private static void images(String model) {
        ChatCompletionContentPartImage image = ChatCompletionContentPartImage.builder()
            .imageUrl(ChatCompletionContentPartImage.ImageUrl.builder().url(PICTURE).build())
            .build();
        ChatCompletionContentPartText text = ChatCompletionContentPartText.builder().text("What is it?").build();
        echo(
            create(ChatCompletionCreateParams.builder()
                .model(model)
                .addUserMessageOfArrayOfContentParts(List.of(
                    ChatCompletionContentPart.ofText(text), ChatCompletionContentPart.ofImageUrl(image)))),
            "What is it?");
    }

    @SuppressWarnings("deprecation")
    private static void settings(String model) {
        echo(
            create(ask(model, "Set.")
                .temperature(0.2)
                .maxTokens(60)
                .stopOfStrings(List.of("END"))
                .seed(7)
                .presencePenalty(0.1)
                .frequencyPenalty(0.1)
                .user("ann@example.com")),
            "Set.");
    }

    private static void reasoning(String model) {
        echo(create(ask(model, "Think.").reasoningEffort(ReasoningEffort.HIGH)), "Think.");
    }

    private static void errors() {
        try {
            create(ask("no-such-model", "Hello."));
        } catch (NotFoundException error) {
            expect(error.code().orElse("").equals("model_not_found"), "model_not_found");
            return;
        }
        expect(false, "NotFoundException");
    }

    private static void timeouts() {
        OpenAIClient patient = client().maxRetries(0).build();
        RequestOptions quick = RequestOptions.builder().timeout(Duration.ofMillis(1500)).build();
        try {
            patient.chat().completions().create(ask("slow", "Slow.").build(), quick);
        } catch (OpenAIIoException error) {
            return;
        }
        expect(false, "a timeout");
    }

    private static void models() {
        List<String> ids = CLIENT.models().list().autoPager().stream().map(model -> model.id()).toList();
        expect(ids.contains("fast") && ids.contains("gpt-4o-mini"), "aliases and models");
    }

    private static void streaming() {
        try (var stream = CLIENT.chat().completions().createStreaming(ask("fast", "Stream.").build())) {
            stream.stream().forEach(chunk -> {});
        } catch (OpenAIServiceException error) {
            expect(error.statusCode() == 501, "501");
            return;
        }
        expect(false, "501");
    }

    private static void headers() {
        HttpResponseFor<ChatCompletion> response =
            CLIENT.chat().completions().withRawResponse().create(ask("fast", "Who?").build());
        expect(response.headers().values("x-gateway-provider").contains("openai"), "x-gateway-provider");
    }

    private static void idempotency() {
        String key = "java-" + System.nanoTime();
        String first = create(ask("fast", "Once.").putAdditionalHeader("Idempotency-Key", key)).id();
        String second = create(ask("fast", "Once.").putAdditionalHeader("Idempotency-Key", key)).id();
        expect(first.equals(second), "one answer");
    }
}
