<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\StateException;
use DateTimeImmutable;

/**
 * A question to people. It is plain data: keep it in a session, a cache or a queue. An approval agrees to all that `text` shows, and not
 * to the description alone.
 */
final class ApprovalRequest
{
    /**
     * @param array<string, mixed> $toolArgs for code. A member `{}` is `[]` in it
     * @param string $argumentsJson the exact arguments as JSON: show these
     * @param string $description what the agent says of the call, for a dialog that shows the rest itself. Where the arguments were edited, or a
     *   person answers, it begins with that
     * @param ?string $digest of what this request shows. A response that carries it is refused once that has changed
     * @param ?int $shownRevision counts what was shown. Unlike the digest it never comes back: a response that was refused stays so after a withdrawal
     * @param ?string $mayNotDecide why the reader cannot decide, or null
     * @param string $kind `run`: the tool runs with the arguments. `answer`: the agent gets `answerJson`, and the tool does not run
     * @param ?string $answerJson the exact answer as JSON; null for a run
     * @param ?string $proposedBy who proposed this: the agent's principal, or the person who edited or answered
     * @param ?int $replaces the number of the proposal before an edit or an answer; null for the agent's own request
     * @param list<array{respondedBy: string, instruction: string, ifDenied?: true}> $instructions what the agent is told with an approval, or with a denial
     * @param list<array{approvedBy: list<string>, deniedBy: list<string>, missing: int, missingOf: ?list<string>}> $progress by stage
     * @param bool $isPreview parts are cut: `Approver::approval` has the whole
     * @param array<string, string> $labels what the call is relative to, such as its folder and its server
     * @param ?string $requestedBy the principal that asked
     * @param ?string $agentId the agent, where it has another name than the principal
     * @param ?string $onBehalfOf the person for whom the agent says that it acts
     * @param list<array{toolName: string, agentId: string}> $chain the calls inside which this one runs, the outermost first
     * @param list<string> $hidden the places of the values that the reader does not see
     * @param ?string $agentDescription the agent's own description, of its first request; '' if it gave none. Null: all of `description`
     * @param list<array<string, mixed>> $others the other calls of a step that runs together or not at all, as `Approver::requests` reads them: a "yes" may
     *   release them, also those that are decided
     * @param ?string $othersDigest of what `others` propose. Null: the call is decided alone, or nobody has read them
     * @param ?string $shownOthersDigest the ledger's digest of what the other calls propose. A "yes" that carries it is refused once that has changed. Null:
     *   the call is decided alone
     */
    public function __construct(
        public readonly string $approvalId,
        public readonly string $toolCallId,
        public readonly string $toolName,
        public readonly array $toolArgs,
        public readonly string $description,
        public readonly DateTimeImmutable $requestedAt,
        public readonly ?DateTimeImmutable $expiresAt = null,
        public readonly ApprovalState $state = ApprovalState::Pending,
        public readonly string $argumentsJson = '{}',
        public readonly ?string $digest = null,
        public readonly ?string $reason = null,
        public readonly ?string $runId = null,
        public readonly ?string $callId = null,
        public readonly ?string $mayNotDecide = null,
        public readonly string $kind = 'run',
        public readonly ?string $answerJson = null,
        public readonly ?string $proposedBy = null,
        public readonly ?int $replaces = null,
        public readonly array $instructions = [],
        public readonly array $progress = [],
        public readonly bool $isPreview = false,
        public readonly array $labels = [],
        public readonly ?string $requestedBy = null,
        public readonly ?string $agentId = null,
        public readonly ?string $onBehalfOf = null,
        public readonly array $chain = [],
        public readonly array $hidden = [],
        public readonly ?int $shownRevision = null,
        public readonly ?string $agentDescription = null,
        public readonly array $others = [],
        public readonly ?string $othersDigest = null,
        public readonly ?string $shownOthersDigest = null,
    ) {
    }

    /** Whether a person put other arguments in the place of the requested ones. */
    public function isEdited(): bool
    {
        // After an edit that has ended, the request of the agent is asked about again.
        return $this->kind === 'run' && $this->replaces !== null && $this->proposedBy !== $this->requestedBy;
    }

    /** Whether a "yes" may release other calls of the step that nobody has read: `Approver::requests` reads them. */
    public function hasUnreadOthers(): bool
    {
        return $this->shownOthersDigest !== null && $this->others === [];
    }

    /**
     * Returns all that an approval with this digest approves, in lines for people: what the ledger has recorded, and then the agent's own words,
     * quoted. What is not seen, or moves other text, is marked, such as `⟦U+202E⟧`. In HTML, escape it and show it with `white-space: pre-wrap`.
     */
    public function text(): string
    {
        $change = self::changeOf($this->kind, $this->replaces, $this->proposedBy, $this->requestedBy);
        $lines = [$this->plain(), ...($change === null ? [] : [$change]), ...$this->placeLines()];
        if ($this->kind === 'answer') {
            $lines[] = 'Answer of ' . Visible::name((string) $this->proposedBy) . " in place of the tool, which does not run: {$this->answerJson}";
        }
        foreach ($this->instructions as $one) {
            $when = isset($one['ifDenied']) ? ', if it is denied' : '';
            $lines[] = 'Instruction of ' . Visible::name($one['respondedBy']) . " to the agent$when: " . Json::encode($one['instruction']);
        }
        $named = fn (array $people) => implode(', ', array_map(Visible::name(...), $people));
        foreach ($this->progress as ['approvedBy' => $approved, 'deniedBy' => $denied, 'missing' => $missing, 'missingOf' => $groups]) {
            $lines[] = implode('. ', array_filter([
                $approved === [] ? '' : "Approved by {$named($approved)}",
                $denied === [] ? '' : "Denied by {$named($denied)}",
                "Still needed: $missing" . ($groups === null || $groups === [] ? '' : " of {$named($groups)}"),
            ]));
        }
        $unread = 'All or nothing: other calls of this step run with the last approval, and are not shown here. Read the whole before you decide.';
        $lines = [...$lines, ...($this->hasUnreadOthers() ? [$unread] : Together::lines($this->others)), ...($this->isPreview ? ['Parts are cut. Read the whole before you decide.'] : []), ...$this->agentLines()];
        return implode("\n", array_map(Visible::line(...), $lines));
    }

    private function plain(): string
    {
        return Visible::name($this->toolName) . " {$this->argumentsJson}";
    }

    /**
     * Attack: an agent describes its call in the words of the ledger, such as another tool with other arguments, "Approved by alice".
     *
     * @return list<string>
     */
    private function agentLines(): array
    {
        $description = $this->agentDescription ?? $this->description;
        $hasDescription = $description !== '' && !in_array($description, [$this->plain(), "{$this->toolName} {$this->argumentsJson}"], true);
        $words = [
            ...($hasDescription ? ['Description: ' . Json::encode($description)] : []),
            ...($this->reason === null ? [] : ['Reason: ' . Json::encode($this->reason)]),
        ];
        return $words === [] ? [] : ["The agent's own words (untrusted: judge by the arguments above):", ...$words];
    }

    /** @return list<string> who asks, where the call runs, and what of it is not shown */
    private function placeLines(): array
    {
        $asked = array_filter([
            $this->requestedBy === null ? null : 'Requested by ' . Visible::name($this->requestedBy),
            $this->agentId === null || $this->agentId === $this->requestedBy ? null : 'as the agent ' . Visible::name($this->agentId),
            $this->onBehalfOf === null ? null : 'on behalf of ' . Visible::name($this->onBehalfOf),
        ]);
        $outer = array_map(fn (array $call) => Visible::name($call['toolName']) . ' of ' . Visible::name($call['agentId']), $this->chain);
        $count = count($this->hidden);
        $end = ' of the answer';
        $placeOf = fn (string $one) => str_ends_with($one, $end) ? Visible::name(substr($one, 0, -strlen($end))) . $end : Visible::name($one);
        return array_values(array_filter([
            implode(', ', $asked),
            $outer === [] ? '' : 'Inside ' . implode(', ', $outer),
            $this->labels === [] ? '' : 'Labels: ' . Json::encode((object) $this->labels),
            $count === 0 ? '' : ($count === 1 ? '1 value is' : "$count values are") . ' hidden from you: ' . implode(', ', array_map($placeOf, $this->hidden)),
        ]));
    }

    /**
     * Reads an `Approval` of the API.
     *
     * @param list<object> $calls the other calls of its step, where they run together. `Approver::requests` reads them
     */
    public static function fromApproval(object $approval, array $calls = []): self
    {
        $others = array_map(Together::otherOf(...), $calls);
        $json = Json::encode($approval->arguments);
        $proposal = $approval->proposal;
        $words = $approval->description ?? $approval->title ?? null;
        $change = self::changeOf($proposal->kind, $proposal->replaces, $proposal->proposedBy, $approval->requestedBy ?? null);
        return new self(
            approvalId: $approval->approvalId,
            toolCallId: $approval->toolCallId,
            toolName: $approval->toolName,
            toolArgs: Json::toArray($approval->arguments),
            description: match (true) {
                $change === null => $words ?? "{$approval->toolName} $json",
                $words === null => $change,
                // The words of the agent are about its first request.
                default => "$change. The agent's words about its request: " . Json::encode($words),
            },
            requestedAt: new DateTimeImmutable($approval->requestedAt),
            expiresAt: isset($approval->expiresAt) ? new DateTimeImmutable($approval->expiresAt) : null,
            state: ApprovalState::from($approval->state),
            argumentsJson: $json,
            digest: $approval->shownDigest,
            reason: $approval->reason ?? null,
            runId: $approval->runId ?? null,
            callId: $approval->callId ?? null,
            mayNotDecide: ($approval->mayDecide->now ?? true) ? null : ($approval->mayDecide->detail ?? $approval->mayDecide->why),
            kind: $proposal->kind,
            answerJson: $proposal->kind === 'answer' ? Json::encode($proposal->output) : null,
            proposedBy: $proposal->proposedBy,
            replaces: $proposal->replaces,
            instructions: Json::toArray($approval->instructions),
            progress: Json::toArray($approval->progress),
            isPreview: $approval->isPreview ?? false,
            labels: Json::toArray($approval->labels ?? []),
            requestedBy: $approval->requestedBy ?? null,
            agentId: $approval->agentId ?? null,
            onBehalfOf: $approval->onBehalfOf ?? null,
            chain: Json::toArray($approval->chain ?? []),
            shownRevision: $approval->shownRevision ?? null,
            agentDescription: $words ?? '',
            others: $others,
            othersDigest: Together::digestOf($others),
            shownOthersDigest: $approval->shownOthersDigest ?? null,
            hidden: [
                ...array_map(fn (object $one) => $one->pointer, $approval->hiddenValues ?? []),
                ...array_map(fn (object $one) => "{$one->pointer} of the answer", $proposal->hiddenValues ?? []),
            ],
        );
    }

    /** @return array<string, mixed> plain data for `json_encode`, a cache or a session */
    public function toArray(): array
    {
        return [
            ...get_object_vars($this),
            'requestedAt' => Dates::text($this->requestedAt),
            'expiresAt' => $this->expiresAt === null ? null : Dates::text($this->expiresAt),
            'state' => $this->state->value,
        ];
    }

    /**
     * @param array<string, mixed> $data of `toArray`
     * @throws StateException for anything else
     */
    public static function fromArray(array $data): self
    {
        return StateException::unless('request', function () use ($data): self {
            $data['requestedAt'] = new DateTimeImmutable($data['requestedAt']);
            $data['expiresAt'] = isset($data['expiresAt']) ? new DateTimeImmutable($data['expiresAt']) : null;
            $data['state'] = ApprovalState::from($data['state'] ?? 'pending');
            return new self(...$data);
        });
    }

    /** What people made of the request of the agent; null: nothing. */
    private static function changeOf(string $kind, ?int $replaces, ?string $proposedBy, ?string $requestedBy): ?string
    {
        return match (true) {
            $replaces === null => null,
            $proposedBy === $requestedBy => 'An edit or an answer before was not approved',
            $kind === 'answer' => 'Answered by ' . Visible::name((string) $proposedBy) . ', and the tool does not run',
            default => 'Edited by ' . Visible::name((string) $proposedBy),
        };
    }
}
