// go run examples/main.go
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

type completion struct {
	Choices []struct {
		Message struct{ Content string }
	}
	Error struct{ Code, Message string }
}

func main() {
	body := `{"model": "fast", "messages": [{"role": "user", "content": "Say hello."}]}`
	request, err := http.NewRequest("POST", os.Getenv("GATEWAY_URL")+"/chat/completions", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("GATEWAY_KEY"))
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 300 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var answer completion
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%d %s: %s", response.StatusCode, answer.Error.Code, answer.Error.Message)
	}
	fmt.Println(answer.Choices[0].Message.Content)
	fmt.Printf("Served by %s.\n", response.Header.Get("x-gateway-provider"))
}
