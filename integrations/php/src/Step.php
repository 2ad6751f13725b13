<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\StateException;
use JsonException;

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

    /**
     * @internal Reads the calls of `toArray` from the ledger.
     * @throws StateException for anything else
     */
    public static function fromArray(mixed $data, Client $client): self
    {
        $asked = self::storedCalls($data);
        $recorded = [];
        foreach ($asked as $index => $call) {
            $found = $client->toolCall($data['callIds'][$index]);
            $own = [$data['runId'], $data['agentId'], $call['toolCallId'], $call['toolName']];
            if ([$found->runId, $found->agentId, $found->toolCallId, $found->toolName] !== $own) {
                throw StateException::of('step', "it names another call than {$call['toolCallId']}");
            }
            $recorded[$call['toolCallId']] = $found;
        }
        $refused = [];
        foreach ($data['refused'] as [$id, $toolName, $reason]) {
            $refused[$id] = Result::refused($id, $toolName, $reason);
        }
        if (array_diff($data['order'], $ids = array_map(strval(...), array_keys($recorded + $refused))) !== [] || array_diff($ids, $data['order']) !== []) {
            throw StateException::of('step', '`order` does not name its calls');
        }
        return new self($data['runId'], $data['agentId'], $asked, $recorded, $refused, $data['order']);
    }

    /**
     * Before the first call is read, and long before one runs.
     *
     * @return list<array<string, mixed>>
     */
    private static function storedCalls(mixed $data): array
    {
        if (!is_array($data) || ($data['version'] ?? null) !== 1) {
            throw StateException::of('step', is_array($data) ? '`version` is not 1' : 'it is ' . get_debug_type($data) . ' and no array');
        }
        $areTexts = fn (mixed $list) => is_array($list) && array_is_list($list) && array_filter($list, is_string(...)) === $list;
        $isRefused = fn (mixed $one) => $areTexts($one) && count($one) === 3;
        $isRight = [
            ...array_fill_keys(['runId', 'agentId'], is_string(...)),
            ...array_fill_keys(['order', 'asked', 'callIds'], $areTexts),
            'refused' => fn (mixed $list) => is_array($list) && array_filter($list, $isRefused) === $list,
        ];
        foreach ($isRight as $member => $check) {
            if (!$check($data[$member] ?? null)) {
                throw StateException::of('step', "`$member` is missing or damaged");
            }
        }
        if (count($data['asked']) !== count($data['callIds'])) {
            throw StateException::of('step', '`asked` and `callIds` differ in number');
        }
        return array_map(self::storedCall(...), $data['asked']);
    }

    /** @return array<string, mixed> */
    private static function storedCall(string $text): array
    {
        try {
            $call = Json::answer($text);
        } catch (JsonException $error) {
            throw StateException::of('step', '`asked` has a text that is no JSON', $error);
        }
        if (!is_object($call) || !is_string($call->toolCallId ?? null) || !is_string($call->toolName ?? null)) {
            throw StateException::of('step', '`asked` has a call without a `toolCallId` and a `toolName`');
        }
        return get_object_vars($call);
    }
}
