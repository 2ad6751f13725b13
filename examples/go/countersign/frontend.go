package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// FrontEnd is an application that speaks for its own people, with a token of role front-end (docs/front-ends.md). Keep the
// token on your server, and take the person from your own session, never from the request of a browser.
type FrontEnd struct{ URL, Token string }

// Person is one of the people of a front end.
type Person struct {
	// ID has 1 to 256 characters. It never changes, and never becomes the id of another person.
	ID string
	// Groups are of those that the token lists.
	Groups []string
	// Name is what the person is called. It is never compared.
	Name string
	// Assurance is how sure the front end is of the person: low, which is the default, or medium.
	Assurance string
}

// Approval is a question, as a dialog shows it.
type Approval struct {
	ApprovalID  string          `json:"approvalId"`
	RunID       string          `json:"runId"`
	ToolCallID  string          `json:"toolCallId"`
	ToolName    string          `json:"toolName"`
	Arguments   json.RawMessage `json:"arguments"`
	Description *string         `json:"description"`
	Reason      *string         `json:"reason"`
	State       string          `json:"state"`
	// Proposal is what people are asked to agree to: of kind answer, Output in place of the run.
	Proposal struct {
		Digest     string          `json:"digest"`
		Number     int             `json:"number"`
		Kind       string          `json:"kind"`
		Output     json.RawMessage `json:"output"`
		ProposedBy string          `json:"proposedBy"`
	} `json:"proposal"`
	// Instructions are what the agent is told with the decision.
	Instructions []struct {
		RespondedBy string `json:"respondedBy"`
		Instruction string `json:"instruction"`
		IfDenied    bool   `json:"ifDenied"`
	} `json:"instructions"`
	// ShownDigest covers the proposal and the instructions.
	ShownDigest string `json:"shownDigest"`
	// ShownRevision counts the changes of what is shown, and never comes back.
	ShownRevision int `json:"shownRevision"`
	// ShownOthersDigest is of what the other calls of the step propose, where they run together: an approval may release them.
	ShownOthersDigest string `json:"shownOthersDigest"`
}

// Response is what a person decided.
type Response struct {
	Decision Vote `json:"decision"`
	// ProposalDigest, ShownDigest, ShownRevision and ShownOthersDigest say what the person saw. A denial needs the first one alone.
	ProposalDigest    string `json:"proposalDigest,omitempty"`
	ShownDigest       string `json:"shownDigest,omitempty"`
	ShownRevision     int    `json:"shownRevision,omitempty"`
	ShownOthersDigest string `json:"shownOthersDigest,omitempty"`
	Reason            string `json:"reason,omitempty"`
	Instruction       string `json:"instruction,omitempty"`
	// Key is an Idempotency-Key of yours, such as that of the update in which a bot got the press. Default: a new one.
	Key string `json:"-"`
}

// Vote is approve, deny, edit with Arguments, or answer with Output.
type Vote struct {
	Type      string          `json:"type"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// Revealed is what is hidden in an approval: Output of a proposed answer, which is nil where none is proposed.
type Revealed struct{ Arguments, Output json.RawMessage }

// Card is an approval as a message of a bot of your own (docs/front-ends.md).
type Card struct {
	ApprovalID string
	// State is pending, or how the approval ended.
	State          string
	ProposalDigest string
	ShownDigest    string
	// Card is what to send, as it is.
	Card json.RawMessage
	// Presses are one for each button. Without approve, the card does not show everything.
	Presses []Press
	// MayDecide says whether the person may decide now.
	MayDecide struct {
		Now         bool
		Why, Detail string
	}
}

// Press is a button of a card, and the response that a press on it stands for.
type Press struct {
	// Value is what the button carries. It is no secret and no proof.
	Value    string
	Decision string
	Request  Response
}

// As returns the client of one person. Two people never share one.
func (f *FrontEnd) As(person Person) *PersonClient {
	return &PersonClient{client: &Client{URL: f.URL, AgentToken: f.Token}, person: person}
}

// End ends a person who has left: their votes on pending approvals no longer count. It returns the ids of these approvals.
func (f *FrontEnd) End(ctx context.Context, id string) ([]string, error) {
	client := &Client{URL: f.URL, AgentToken: f.Token}
	var me struct{ Principal string }
	if err := client.send(ctx, "GET", "/v1/me", f.Token, nil, nil, &me); err != nil {
		return nil, err
	}
	var ended struct{ ApprovalIDs []string }
	err := client.send(ctx, "DELETE", "/v1/people/"+escaped(me.Principal+"#"+id), f.Token, nil, nil, &ended)
	return ended.ApprovalIDs, err
}

// PersonClient sends requests in the name of a person. Each is retried until its context ends.
type PersonClient struct {
	client *Client
	person Person
}

// Approvals returns the questions that the person may decide now, oldest first.
func (p *PersonClient) Approvals(ctx context.Context) ([]Approval, error) {
	var all []Approval
	for cursor := ""; ; {
		var page struct {
			Approvals  []Approval
			NextCursor string
		}
		query := url.Values{"mine": {"true"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if err := p.send(ctx, "GET", "/v1/approvals?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Approvals...)
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
}

// Approval returns one question.
func (p *PersonClient) Approval(ctx context.Context, approvalID string) (Approval, error) {
	var approval Approval
	err := p.send(ctx, "GET", "/v1/approvals/"+escaped(approvalID), nil, &approval)
	return approval, err
}

// Reveal returns the values that are hidden. It is recorded.
func (p *PersonClient) Reveal(ctx context.Context, approvalID string) (Revealed, error) {
	var revealed Revealed
	err := p.send(ctx, "POST", "/v1/approvals/"+escaped(approvalID)+"/reveal", struct{}{}, &revealed)
	return revealed, err
}

// Card returns an approval as a message of a bot of your own. format is telegram, slack, teams or text.
func (p *PersonClient) Card(ctx context.Context, approvalID, format string) (Card, error) {
	var card Card
	err := p.send(ctx, "GET", "/v1/approvals/"+escaped(approvalID)+"/card?format="+url.QueryEscape(format), nil, &card)
	return card, err
}

// Respond responds in the name of the person. A refusal is a *Refusal with the code, such as already-voted.
func (p *PersonClient) Respond(ctx context.Context, approvalID string, response Response) (Approval, error) {
	var answered Approval
	err := p.sendAs(ctx, response.Key, "POST", "/v1/approvals/"+escaped(approvalID)+"/responses", response, &answered)
	return answered, err
}

// Withdraw takes the vote back while the approval is pending.
func (p *PersonClient) Withdraw(ctx context.Context, approvalID string) (Approval, error) {
	var withdrawn Approval
	err := p.send(ctx, "DELETE", "/v1/approvals/"+escaped(approvalID)+"/responses/mine", nil, &withdrawn)
	return withdrawn, err
}

func (p *PersonClient) send(ctx context.Context, method, path string, body, answer any) error {
	return p.sendAs(ctx, "", method, path, body, answer)
}

func (p *PersonClient) sendAs(ctx context.Context, key, method, path string, body, answer any) error {
	if p.person.ID == "" {
		// Without a person, the request would be that of the front end itself.
		return errors.New("the ID of the person is empty")
	}
	groups := make([]string, len(p.person.Groups))
	for index, group := range p.person.Groups {
		groups[index] = escaped(group)
	}
	return p.client.send(ctx, method, path, p.client.AgentToken, map[string]string{
		"countersign-person":           escaped(p.person.ID),
		"countersign-person-groups":    strings.Join(groups, ", "),
		"countersign-person-name":      escaped(p.person.Name),
		"countersign-person-assurance": p.person.Assurance,
		"idempotency-key":              key,
	}, body, answer)
}

// escaped is percent-encoded for a header or a part of a path.
func escaped(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
