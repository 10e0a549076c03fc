module clients

go 1.24

require (
	github.com/coder/websocket v1.8.15
	github.com/openai/openai-go/v3 v3.91.0
	github.com/tidwall/gjson v1.19.0
	github.com/tidwall/match v1.1.1
	github.com/tidwall/pretty v1.2.1
	github.com/tidwall/sjson v1.2.5
)
