// The official SDK of Go. It prints one line per feature: its name, yes, no or none, a note.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

type message = openai.ChatCompletionMessageParamUnion
type fields = map[string]any

const picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// A feature works when it works with all of these aliases.
var models = strings.Split(os.Getenv("GATEWAY_MODELS"), ",")

// The only features to try, if there is such a list.
var only = os.Getenv("GATEWAY_FEATURES")
var client = openai.NewClient(
	option.WithBaseURL(os.Getenv("GATEWAY_URL")),
	option.WithAPIKey(os.Getenv("GATEWAY_KEY")),
)

func main() {
	run("plain", eachModel(plain))
	run("turns", eachModel(turns))
	run("tools", eachModel(tools))
	run("structured", eachModel(structured))
	run("images", eachModel(images))
	run("settings", eachModel(settings))
	run("reasoning", eachModel(reasoning))
	run("errors", failures)
	run("retries", retries)
	run("timeouts", timeouts)
	run("models", modelList)
	run("streaming", streaming)
	run("headers", headers)
	run("idempotency", idempotency)
}

func run(name string, feature func() error) {
	if only != "" && !slices.Contains(strings.Split(only, ","), name) {
		return
	}
	if err := feature(); err != nil {
		note, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Printf("%s\tno\t%s\n", name, note)
		return
	}
	fmt.Printf("%s\tyes\n", name)
}

func eachModel(feature func(model string) error) func() error {
	return func() error {
		for _, model := range models {
			if err := feature(model); err != nil {
				return fmt.Errorf("%s: %w", model, err)
			}
		}
		return nil
	}
}

func chat(model string, messages []message, options ...option.RequestOption) (*openai.ChatCompletion, error) {
	params := openai.ChatCompletionNewParams{Model: model, Messages: messages}
	return client.Chat.Completions.New(context.Background(), params, options...)
}

func ask(model, text string, options ...option.RequestOption) (*openai.ChatCompletion, error) {
	return chat(model, []message{openai.UserMessage(text)}, options...)
}

func echoes(completion *openai.ChatCompletion, err error, text string) error {
	if err == nil && !strings.Contains(completion.Choices[0].Message.Content, text) {
		return errors.New("expected the echo")
	}
	return err
}

func plain(model string) error {
	completion, err := ask(model, "Hello.")
	return echoes(completion, err, "Hello.")
}

func turns(model string) error {
	completion, err := chat(model, []message{
		openai.SystemMessage("Be brief."),
		openai.UserMessage("One."),
		openai.AssistantMessage("Two."),
		openai.UserMessage("Three."),
	})
	return echoes(completion, err, "Three.")
}

func tools(model string) error {
	parameters := fields{
		"type":       "object",
		"properties": fields{"city": fields{"type": "string"}},
		"required":   []string{"city"},
	}
	weather := openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: parameters})
	params := openai.ChatCompletionNewParams{
		Model:      model,
		Messages:   []message{openai.UserMessage("Weather?")},
		Tools:      []openai.ChatCompletionToolUnionParam{weather},
		ToolChoice: openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: openai.String("required")},
	}
	first, err := client.Chat.Completions.New(context.Background(), params)
	if err != nil {
		return err
	}
	call := first.Choices[0].Message.ToolCalls[0]
	var arguments struct{ City string }
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || arguments.City == "" {
		return errors.New("expected arguments")
	}
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("21 °C", call.ID))
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
	last, err := client.Chat.Completions.New(context.Background(), params)
	return echoes(last, err, "Weather?")
}

func structured(model string) error {
	schema := fields{
		"type": "object",
		"properties": fields{
			"name": fields{"type": "string"},
			"age":  fields{"type": "integer", "minimum": 18},
		},
		"required":             []string{"name", "age"},
		"additionalProperties": false,
	}
	format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "person", Strict: openai.Bool(true), Schema: schema}
	completion, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []message{openai.UserMessage("A person.")},
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: format},
		},
	})
	if err != nil {
		return err
	}
	var person struct{ Age int }
	if err := json.Unmarshal([]byte(completion.Choices[0].Message.Content), &person); err != nil {
		return err
	}
	if person.Age < 18 {
		return errors.New("expected an adult")
	}
	return nil
}

func images(model string) error {
	completion, err := chat(model, []message{openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What is it?"),
		openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: picture}),
	})})
	return echoes(completion, err, "What is it?")
}

func settings(model string) error {
	completion, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:            model,
		Messages:         []message{openai.UserMessage("Set.")},
		Temperature:      openai.Float(0.2),
		MaxTokens:        openai.Int(60),
		Stop:             openai.ChatCompletionNewParamsStopUnion{OfStringArray: []string{"END"}},
		Seed:             openai.Int(7),
		PresencePenalty:  openai.Float(0.1),
		FrequencyPenalty: openai.Float(0.1),
		User:             openai.String("ann@example.com"),
	})
	return echoes(completion, err, "Set.")
}

func reasoning(model string) error {
	completion, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:           model,
		Messages:        []message{openai.UserMessage("Think.")},
		ReasoningEffort: openai.ReasoningEffortHigh,
	})
	return echoes(completion, err, "Think.")
}

func failures() error {
	_, err := ask("no-such-model", "Hello.")
	return hasStatus(err, 404, "model_not_found")
}

func hasStatus(err error, status int, code string) error {
	var failure *openai.Error
	if !errors.As(err, &failure) || failure.StatusCode != status || failure.Code != code {
		return fmt.Errorf("expected %d %s, not %v", status, code, err)
	}
	return nil
}

func retries() error {
	completion, err := ask("flaky", "Again.")
	return echoes(completion, err, "Again.")
}

func timeouts() error {
	_, err := ask("slow", "Slow.", option.WithRequestTimeout(1500*time.Millisecond), option.WithMaxRetries(0))
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("expected a timeout, not %v", err)
	}
	return nil
}

func modelList() error {
	list, err := client.Models.List(context.Background())
	if err != nil {
		return err
	}
	for _, id := range []string{"fast", "gpt-4o-mini"} {
		if !slices.ContainsFunc(list.Data, func(model openai.Model) bool { return model.ID == id }) {
			return fmt.Errorf("expected %s", id)
		}
	}
	return nil
}

func streaming() error {
	stream := client.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{
		Model:    "fast",
		Messages: []message{openai.UserMessage("Stream.")},
	})
	for stream.Next() {
	}
	return hasStatus(stream.Err(), 501, "not_implemented")
}

func headers() error {
	var response *http.Response
	if _, err := ask("fast", "Who?", option.WithResponseInto(&response)); err != nil {
		return err
	}
	if response.Header.Get("x-gateway-provider") != "openai" {
		return errors.New("expected x-gateway-provider")
	}
	return nil
}

func idempotency() error {
	once := option.WithHeader("Idempotency-Key", fmt.Sprintf("go-%d-%d", os.Getpid(), time.Now().UnixNano()))
	first, err := ask("fast", "Once.", once)
	if err != nil {
		return err
	}
	second, err := ask("fast", "Once.", once)
	if err == nil && first.ID != second.ID {
		return errors.New("expected one answer")
	}
	return err
}
