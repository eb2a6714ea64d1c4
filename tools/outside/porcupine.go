// Checks histories with Porcupine: each line of the input is one history, each line of the output its verdict.
// tools/outside_judges.py starts this program. The models are those of models.py, written a second time.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

type Args map[string]interface{}

type Op struct {
	F     string      `json:"f"`
	Args  Args        `json:"args"`
	How   string      `json:"how"` // ok; info: it may have happened; refused
	Value interface{} `json:"value"`
	Call  int64       `json:"call"`
	End   int64       `json:"end"`
	Times []int64     `json:"times_ms"`
}

type Flags struct {
	Ttl     int64 `json:"default_ttl_ms"`
	Bytes   int   `json:"bytes_max"`
	Entries int   `json:"entry_count_max"`
}

type History struct {
	Model string `json:"model"`
	Flags Flags  `json:"flags"`
	Ops   []Op   `json:"ops"`
}

type Entry struct {
	Value interface{}
	End   int64 // the deadline
}

type Version struct {
	Session  string
	Messages []interface{}
	Changes  int
}

type State struct {
	Entries  map[string]Entry
	Expired  int
	Messages map[string][]interface{}
	Changes  map[string]int
	Seen     map[string]Version
}

type Outcome struct {
	Answer interface{}
	After  State
}

const (
	forever    = math.MaxInt64
	week       = 7 * 24 * 3_600_000
	valueBytes = 65_536
)

type Word string

const (
	anything Word = "anything"
	refusal  Word = "refusal"
)

func (s State) copy() State {
	c := State{map[string]Entry{}, s.Expired, map[string][]interface{}{}, map[string]int{}, map[string]Version{}}
	for k, v := range s.Entries {
		c.Entries[k] = v
	}
	for k, v := range s.Messages {
		c.Messages[k] = v
	}
	for k, v := range s.Changes {
		c.Changes[k] = v
	}
	for k, v := range s.Seen {
		c.Seen[k] = v
	}
	return c
}

func whole(value interface{}) (int64, bool) {
	number, ok := value.(json.Number)
	n, err := number.Int64()
	return n, ok && err == nil
}

func num(n int) interface{} {
	return json.Number(strconv.Itoa(n))
}

func deadline(now int64, ttl interface{}, otherwise int64) int64 {
	if ms, ok := whole(ttl); ok {
		return now + ms
	}
	if otherwise > 0 {
		return now + otherwise
	}
	return forever
}

func text(value interface{}) string {
	held, _ := value.(map[string]interface{})
	data, _ := base64.StdEncoding.DecodeString(held["bytes"].(string))
	return string(data)
}

func asBytes(text string) interface{} {
	return map[string]interface{}{"bytes": base64.StdEncoding.EncodeToString([]byte(text))}
}

var number = regexp.MustCompile(`^[+-]?[0-9]{1,20}$`)

// A key-value store, or the working tier.
func entries(s State, op Op, now int64, flags Flags, isTier bool) []Outcome {
	key, _ := op.Args["key"].(string)
	for k, e := range s.Entries {
		if e.End <= now {
			delete(s.Entries, k)
			s.Expired++
		}
	}
	found, exists := s.Entries[key]
	renewed := now + flags.Ttl
	if exists && renewed < found.End {
		renewed = found.End
	}
	keys, size := []interface{}{}, 0
	for k, e := range s.Entries {
		keys = append(keys, k)
		if isTier {
			size += len(k) + len(text(e.Value))
		}
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].(string) < keys[j].(string) })
	refused := []Outcome{{refusal, s.copy()}}
	var answer interface{} = anything
	put := func(value interface{}, end int64) bool {
		if isTier {
			after, count := size+len(key)+len(text(value)), len(keys)+1
			if exists {
				after, count = size-len(text(found.Value))+len(text(value)), len(keys)
			}
			if after > flags.Bytes || count > flags.Entries || len(text(value)) > valueBytes {
				return false
			}
		}
		s.Entries[key] = Entry{value, end}
		return true
	}
	switch op.F {
	case "put":
		put(op.Args["value"], deadline(now, op.Args["ttl"], 0))
	case "set":
		answer = nil
		end := deadline(now, op.Args["ttl_ms"], flags.Ttl)
		if end <= now || end > now+week || !put(op.Args["value"], end) {
			return refused
		}
	case "put_many":
		for k, v := range op.Args["pairs"].(map[string]interface{}) {
			s.Entries[k] = Entry{v, deadline(now, op.Args["ttl"], 0)}
		}
	case "add":
		answer = !exists
		if !exists {
			put(op.Args["value"], deadline(now, op.Args["ttl"], 0))
		}
	case "get":
		answer = found.Value
	case "get_many":
		some := map[string]interface{}{}
		for _, k := range op.Args["keys"].([]interface{}) {
			if e, ok := s.Entries[k.(string)]; ok {
				some[k.(string)] = e.Value
			}
		}
		answer = some
	case "has", "exists":
		answer = exists
	case "keys":
		answer = keys
	case "count", "len":
		answer = num(len(keys))
	case "bytes":
		answer = num(size)
	case "sweep":
		answer = num(s.Expired)
		s.Expired = 0
	case "delete", "pop":
		answer = exists
		if op.F == "pop" {
			answer = found.Value
		}
		delete(s.Entries, key)
	case "clear":
		if isTier {
			answer = num(len(keys))
		}
		s.Entries = map[string]Entry{}
	case "crash":
		s.Entries, s.Expired = map[string]Entry{}, 0
	case "touch":
		answer = exists
		if isTier && !exists {
			return refused
		}
		if isTier {
			answer = nil
			s.Entries[key] = Entry{found.Value, renewed}
		} else if exists {
			put(found.Value, deadline(now, op.Args["ttl"], 0))
		}
	case "append":
		answer = nil
		old := ""
		if exists {
			old = text(found.Value)
		}
		if !put(asBytes(old+text(op.Args["value"])), renewed) {
			return refused
		}
	case "incr":
		old, end := int64(0), int64(forever)
		if exists {
			end = found.End
			n, ok := whole(found.Value)
			if isTier {
				n, ok = parsed(text(found.Value))
			}
			if !ok {
				return refused
			}
			old = n
		}
		by, ok := whole(op.Args["by"])
		if !ok {
			by = 1
		}
		if isTier {
			by, _ = whole(op.Args["delta"])
			end = renewed
		}
		total := old + by
		if (by > 0) != (total > old) && by != 0 {
			return refused // it does not fit into 64 bits
		}
		sum := strconv.FormatInt(total, 10)
		answer = json.Number(sum)
		var stored interface{} = answer
		if isTier {
			stored = asBytes(sum)
		}
		if !put(stored, end) {
			return refused
		}
	}
	return []Outcome{{answer, s}}
}

func parsed(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && number.MatchString(text) && len(text) <= 20
}

func sessions(s State, op Op) []Outcome {
	name, _ := op.Args["session"].(string)
	own, known := s.Messages[name]
	items, _ := op.Args["items"].([]interface{})
	version := Version{name, own, s.Changes[name]}
	var answer interface{} = anything
	change := func(messages []interface{}) {
		s.Messages[name] = messages
		s.Changes[name]++
	}
	plus := append(append([]interface{}{}, own...), items...)
	switch op.F {
	case "add":
		change(plus)
	case "replace":
		change(items)
	case "clear":
		if known {
			change(nil)
		}
	case "delete":
		change(nil)
		delete(s.Messages, name)
	case "get":
		first := 0
		if limit, ok := whole(op.Args["limit"]); ok {
			first = len(own) - int(limit)
			if limit <= 0 {
				first = len(own)
			}
		}
		if first < 0 {
			first = 0
		}
		answer = append([]interface{}{}, own[first:]...)
	case "pop":
		answer = nil
		if len(own) > 0 {
			answer = own[len(own)-1]
			change(own[:len(own)-1])
		}
	case "count":
		answer = num(len(own))
	case "version":
		s.Seen[op.Args["version"].(string)] = version
	case "append":
		seen, ok := s.Seen[op.Args["version"].(string)]
		isOther := !ok || seen.Session != name
		isAlike := fmt.Sprint(seen.Messages) == fmt.Sprint(own)
		found := []Outcome{}
		if isOther || !isAlike || seen.Changes != version.Changes {
			found = append(found, Outcome{refusal, s.copy()})
		}
		if isOther || isAlike {
			change(plus)
			found = append(found, Outcome{anything, s})
		}
		return found
	}
	return []Outcome{{answer, s}}
}

// Sessions share nothing, so each is checked alone; in a key-value store some operations concern all keys.
func parts(all []porcupine.Operation) [][]porcupine.Operation {
	sort.SliceStable(all, func(i, j int) bool { return nameOf(all[i]) < nameOf(all[j]) })
	found := [][]porcupine.Operation{}
	for i, op := range all {
		if i == 0 || nameOf(op) != nameOf(all[i-1]) {
			found = append(found, nil)
		}
		found[len(found)-1] = append(found[len(found)-1], op)
	}
	return found
}

func nameOf(op porcupine.Operation) string {
	name, _ := op.Input.(Op).Args["session"].(string)
	return name
}

func model(history History) porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Partition: parts,
		Init:      func() []interface{} { return []interface{}{State{}.copy()} },
		Step: func(state, input, _ interface{}) []interface{} {
			op, found := input.(Op), []interface{}{}
			for _, now := range op.Times {
				outcomes := []Outcome{}
				if history.Model == "sessions" {
					outcomes = sessions(state.(State).copy(), op)
				} else {
					outcomes = entries(state.(State).copy(), op, now, history.Flags, history.Model == "working")
				}
				for _, each := range outcomes {
					isRight := each.Answer == anything && op.How == "ok" || reflect.DeepEqual(each.Answer, op.Value)
					if op.How == "info" || op.How == "ok" && isRight || op.How == "refused" && each.Answer == refusal {
						found = append(found, each.After)
					}
				}
			}
			if op.How == "info" {
				found = append(found, state)
			}
			return found
		},
		Equal: reflect.DeepEqual,
	}
	return nondeterministic.ToModel()
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(lines)
	decoder.UseNumber()
	for decoder.More() {
		var history History
		if err := decoder.Decode(&history); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		operations := []porcupine.Operation{}
		for _, op := range history.Ops {
			operations = append(operations, porcupine.Operation{Input: op, Call: op.Call, Return: op.End})
		}
		fmt.Println(porcupine.CheckOperationsTimeout(model(history), operations, time.Minute))
	}
}
