<?php

declare(strict_types=1);

namespace Countersign;

use InvalidArgumentException;

/**
 * The calls of one model step: those with a result, and those that wait. `toArray` is its state for the next web request. It holds no
 * authority: the ledger says what was approved.
 */
final class Step
{
    /**
     * @internal
     * @param list<array<string, mixed>> $asked
     * @param array<string, object> $recorded calls of the API by their toolCallId
     * @param array<string, Result> $refused
     * @param list<string> $order
     */
    public function __construct(
        public readonly string $runId,
        public readonly string $agentId,
        public readonly array $asked,
        public readonly array $recorded,
        public readonly array $refused,
        public readonly array $order,
    ) {
    }

    /** Why there is no result for each call yet, or null. */
    public function stopReason(): ?StopReason
    {
        $open = array_filter($this->recorded, fn (object $call) => !Call::isSettled($call));
        return match (true) {
            $open === [] => null,
            $this->hasPendingApprovals() => StopReason::AwaitingApproval,
            $this->stopDetail() !== null => StopReason::Stopped,
            array_filter($open, fn (object $call) => !($call->clientExecuted ?? false)) === [] => StopReason::AwaitingClient,
            // A member of a batch waits for its siblings.
            array_filter($open, fn (object $call) => $call->state === 'executing') === [] => StopReason::AwaitingApproval,
            default => StopReason::Executing,
        };
    }

    /** Which stop kept a call from running, who declared it, why, and who lifts it; null: none. `Gate::resume` later goes on. */
    public function stopDetail(): ?string
    {
        $stopped = array_filter($this->recorded, fn (object $call) => isset($call->stopped) && !Call::isSettled($call));
        return $stopped === [] ? null : reset($stopped)->stopped;
    }

    public function hasPendingApprovals(): bool
    {
        return $this->pendingApprovals() !== [];
    }

    /** @return list<ApprovalRequest> */
    public function pendingApprovals(): array
    {
        // A call that waits for its turn has no approval yet.
        $isAsked = fn (object $call) => $call->state === 'awaiting_approval' && !($call->waitsForTurn ?? false);
        $pending = array_filter($this->recorded, $isAsked);
        return array_values(array_map(fn (object $call) => ApprovalRequest::fromApproval($call->approval), $pending));
    }

    /**
     * Calls that the user's client may execute now: `callId`, `toolCallId`, `toolName`, `arguments`. Not one whose edited arguments have a
     * name that begins with U+0000: `json_encode` would leave it out. Cancel such a call.
     *
     * @return list<object>
     */
    public function clientCalls(): array
    {
        $mayRun = fn (object $call) => ($call->clientExecuted ?? false) && in_array($call->state, ['allowed', 'approved'], true)
            && Json::isWhole($call->arguments);
        return array_values(array_filter($this->recorded, $mayRun));
    }

    /** The results so far, in the order of the calls. @return array<string, Result> by toolCallId */
    public function results(): array
    {
        $results = [];
        foreach ($this->order as $id) {
            $result = $this->refused[$id] ?? Result::of($this->recorded[$id]);
            if ($result !== null) {
                $results[$id] = $result;
            }
        }
        return $results;
    }

    /** @return array<string, mixed> plain data for `json_encode`, a cache or a session; `Gate::resume` takes it in any process */
    public function toArray(): array
    {
        return [
            'version' => 1,
            'runId' => $this->runId,
            'agentId' => $this->agentId,
            'order' => $this->order,
            // As text: an array would lose the difference between `{}` and `[]`.
            'asked' => array_map(Json::encode(...), $this->asked),
            'callIds' => array_values(array_map(fn (object $call) => $call->callId, $this->recorded)),
            'refused' => array_map(fn (Result $result) => [$result->toolCallId, $result->toolName, $result->reason], array_values($this->refused)),
        ];
    }

    /** @internal Reads the calls of `toArray` from the ledger. */
    public static function fromArray(array $data, Client $client): self
    {
        if (($data['version'] ?? null) !== 1) {
            throw new InvalidArgumentException('The state is no step.');
        }
        [$asked, $recorded, $refused] = [[], [], []];
        foreach ($data['asked'] as $index => $text) {
            $call = get_object_vars(Json::answer($text));
            $found = $client->toolCall($data['callIds'][$index]);
            $own = [$data['runId'], $data['agentId'], $call['toolCallId'], $call['toolName']];
            if ([$found->runId, $found->agentId, $found->toolCallId, $found->toolName] !== $own) {
                throw new InvalidArgumentException("The state names another call than {$call['toolCallId']}.");
            }
            $asked[] = $call;
            $recorded[$call['toolCallId']] = $found;
        }
        foreach ($data['refused'] as [$id, $toolName, $reason]) {
            $refused[$id] = Result::refused($id, $toolName, $reason);
        }
        return new self($data['runId'], $data['agentId'], $asked, $recorded, $refused, $data['order']);
    }
}
