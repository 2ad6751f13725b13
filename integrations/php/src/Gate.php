<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\ConflictException;
use Countersign\Exception\CountersignException;
use Countersign\Exception\InvalidRequestException;
use Countersign\Exception\StateException;
use InvalidArgumentException;

/**
 * Puts the tools of one agent behind the ledger: requests the calls of a model step, and runs each at most once.
 *
 * @example
 * $step = $gate->step('run-42', [['toolCallId' => 'call_1', 'toolName' => 'delete_file', 'arguments' => ['path' => '/etc/hosts']]]);
 * if ($step->hasPendingApprovals()) save($step->toArray());
 * // In another web request:
 * $step = $gate->resume(load());
 */
final class Gate
{
    /** @var array<string, Tool> */
    private readonly array $tools;
    private readonly Runner $runner;
    private bool $isProven = false;

    /**
     * @param list<Tool> $tools each with a name of its own
     * @param int $leaseMs how long a claim lasts, at most a day. Longer than your slowest tool takes, which may also call
     *   `Execution::keepAlive`. After a crash inside a tool its call becomes `unknown` when the lease ends
     */
    public function __construct(
        private readonly Client $client,
        private readonly string $agentId,
        array $tools,
        int $leaseMs = 60_000,
    ) {
        $this->tools = Tool::byName($tools);
        $this->runner = new Runner($client, $agentId, $leaseMs);
    }

    /**
     * Requests the calls of one model step, and runs those that may run. The same step again runs nothing twice.
     *
     * A `toolCallId` is unique in its run. Where the ids of a model repeat or are empty, put the step in front: `step-7/get_weather`.
     *
     * @param list<array{toolCallId: string, toolName: string, arguments: array<mixed>|object|string}> $calls arguments may be the JSON
     *   text of the model, which keeps `{}` and `[]` apart. A call whose arguments are missing, or no object with names, gets a failed result
     * @param int $waitMs how long to wait for people, and for another process that runs a call. 0: not at all
     * @param array<string, mixed> $batch `batchId`, `batchMode` (`independent`, `all-or-nothing` or `sequential`)
     * @param mixed $state and `$messages` are for `needsApproval`
     */
    public function step(
        string $runId,
        array $calls,
        int $waitMs = 0,
        array $batch = [],
        mixed $state = null,
        array $messages = [],
    ): Step {
        return $this->finished($this->request($runId, $calls, $batch, $state, $messages), $waitMs);
    }

    /**
     * Requests the calls like `step`, and runs none: not even those that may run. `resume` does. Read the answers of a user in between,
     * so that a denial comes before the run of what another person has approved.
     *
     * @param list<array{toolCallId: string, toolName: string, arguments: array<mixed>|object|string}> $calls
     * @param array<string, mixed> $batch
     */
    public function request(string $runId, array $calls, array $batch = [], mixed $state = null, array $messages = []): Step
    {
        [$asked, $refused] = [[], []];
        $calls = array_values($calls);
        $order = array_map(self::idOf(...), $calls, array_keys($calls));
        $uses = array_count_values($order);
        foreach ($calls as $index => $call) {
            [$id, $name] = [$order[$index], $call['toolName'] ?? null];
            $tool = is_string($name) ? $this->tools[$name] ?? null : null;
            if ($uses[$id] > 1) {
                // One result has room for one call only: a model that reads of the refused one would call the other one again.
                $refused[$id] = Result::refused($id, is_string($name) ? $name : '', 'toolCallId: two calls of the step have it');
                continue;
            }
            if ($tool === null || $id !== ($call['toolCallId'] ?? null)) {
                $refused[$id] = Result::refused($id, is_string($name) ? $name : '', self::whyOdd($call));
                continue;
            }
            try {
                $asked[] = $tool->call($call['arguments'] ?? null, new ApprovalContext($runId, $id, $state, $messages));
            } catch (InvalidArgumentException $error) {
                $refused[$id] = Result::refused($id, $tool->name, $error->getMessage());
            }
        }
        if ($refused !== [] && ($batch['batchMode'] ?? null) === 'all-or-nothing') {
            throw new InvalidArgumentException(reset($refused)->text);
        }
        $this->proveMayClaim();
        [$asked, $calls, $more] = $this->recorded($runId, $asked, $batch);
        return new Step($runId, $this->agentId, $asked, self::byId($calls), $refused + $more, $order);
    }

    /**
     * Goes on with a step, in this or another process: runs what was approved since. It requests nothing: a state that somebody forged
     * has no call that was not recorded before. The tools of this process judge the calls of a stored state again: what one of them asks
     * about does not run without a person, also where the process that requested it asked nobody. A `Step` in memory is not judged again.
     *
     * @param Step|array<string, mixed> $step or its `toArray`, as you stored it
     * @param mixed $state and `$messages` are for `needsApproval`, where a stored state is judged again
     * @param list<string> $withheld the `toolCallId` of each call that is not run now, such as one that the user has just denied
     * @throws StateException for a state that is damaged, or of another agent. Nothing runs
     */
    public function resume(mixed $step, int $waitMs = 0, mixed $state = null, array $messages = [], array $withheld = []): Step
    {
        // A step in memory is as old as a stored one: its calls are read again.
        $isStored = !$step instanceof Step;
        $step = Step::fromArray($isStored ? $step : $step->toArray(), $this->client);
        $step = $isStored ? $this->judged($step, $state, $messages) : $step;
        if ($step->agentId !== $this->agentId) {
            throw StateException::of('step', "it is of the agent {$step->agentId}, and this is the gate of {$this->agentId}");
        }
        $this->proveMayClaim();
        return $this->finished($step, $waitMs, $withheld);
    }

    /**
     * Submits what the user's client sent for its calls of a step, and goes on with the step. Only calls that the client may execute now
     * are taken, and the first output of each: a browser may send anything, and send it twice.
     *
     * @param array<string, mixed> $outputs by toolCallId
     * @param array<string, mixed> $errors why the client could not execute a call, by toolCallId: a text; anything else is recorded as JSON
     * @param list<string> $withheld as in `resume`: their outputs are not taken either
     */
    public function submitOutputs(Step $step, array $outputs, array $errors = [], array $withheld = []): Step
    {
        foreach ($step->clientCalls() as $call) {
            $id = $call->toolCallId;
            if (in_array($id, $withheld, true)) {
                continue;
            }
            try {
                if (array_key_exists($id, $outputs)) {
                    $this->client->submitOutput($call->callId, $outputs[$id]);
                } elseif (isset($errors[$id])) {
                    $this->client->submitError($call->callId, is_string($errors[$id]) ? $errors[$id] : Json::encode($errors[$id]));
                }
            } catch (ConflictException $error) {
                // It has an output or was cancelled since the step was read.
                if (!in_array($error->problem, ['already-settled', 'not-approved'], true)) {
                    throw $error;
                }
            }
        }
        return $this->resume($step, withheld: $withheld);
    }

    /** Attack: a process with a laxer tool requests a call, and one whose tool asks about it goes on with the state and runs it. */
    private function judged(Step $step, mixed $state, array $messages): Step
    {
        $asked = [];
        foreach ($step->asked as $call) {
            $tool = $this->tools[$call['toolName']] ?? null;
            if ($tool !== null && !($call['needsApproval'] ?? false)) {
                $context = new ApprovalContext($step->runId, $call['toolCallId'], $state, $messages);
                try {
                    // Attack: a state without arguments, of which a condition says nothing.
                    $own = isset($call['arguments']) ? $tool->call($call['arguments'], $context) : ['needsApproval' => true];
                    if ($own['needsApproval'] ?? false) {
                        $call = [...$call, ...array_intersect_key($own, ['needsApproval' => true, 'reason' => true])];
                    }
                } catch (InvalidArgumentException) {
                    // Arguments that this tool cannot get fail when it is run.
                }
            }
            $asked[] = $call;
        }
        return new Step($step->runId, $step->agentId, $asked, $step->recorded, $step->refused, $step->order);
    }

    /**
     * Runs what may run.
     *
     * @param list<string> $withheld
     */
    private function finished(Step $step, int $waitMs, array $withheld = []): Step
    {
        $endsAt = hrtime(true) + 1_000_000 * $waitMs;
        $recorded = [];
        // Before the first one runs.
        foreach (array_diff(array_column($step->asked, 'toolName'), array_keys($this->tools)) as $name) {
            throw new InvalidArgumentException("There is no tool $name any more: give it to the gate.");
        }
        foreach ($step->asked as $call) {
            [$id, $found] = [$call['toolCallId'], $step->recorded[$call['toolCallId']]];
            $isWithheld = in_array($id, $withheld, true);
            $recorded[$id] = $isWithheld ? $found : $this->runner->finish($call, $found, $this->tools[$call['toolName']], $endsAt);
        }
        return new Step($step->runId, $step->agentId, $step->asked, $recorded, $step->refused, $step->order);
    }

    /** The id of a call; its place in the step, where the model or its library gave none. */
    private static function idOf(array $call, int $index): string
    {
        $id = $call['toolCallId'] ?? null;
        return is_string($id) && $id !== '' ? $id : '(call ' . ($index + 1) . ')';
    }

    /** Why a call cannot be requested. */
    private static function whyOdd(array $call): string
    {
        foreach (['toolCallId', 'toolName'] as $member) {
            if (!is_string($call[$member] ?? null) || $call[$member] === '') {
                return "$member: a text is needed";
            }
        }
        return "there is no tool {$call['toolName']}";
    }

    /** Before a person is asked for nothing. */
    private function proveMayClaim(): void
    {
        if (!$this->isProven) {
            $this->client->proveMayClaim();
            $this->isProven = true;
        }
    }

    /** @param list<object> $calls @return array<string, object> */
    private static function byId(array $calls): array
    {
        return array_combine(array_map(fn (object $call) => $call->toolCallId, $calls), $calls);
    }

    /**
     * Requests the calls. One odd call never costs its step: it gets a failed result, and its siblings are requested again without it.
     *
     * @return array{list<array<string, mixed>>, list<object>, array<string, Result>}
     */
    private function recorded(string $runId, array $asked, array $batch): array
    {
        if ($asked === []) {
            return [[], [], []];
        }
        try {
            return [$asked, $this->client->request($runId, $asked, ['agentId' => $this->agentId, ...$batch]), []];
        } catch (InvalidRequestException $error) {
            $refused = self::refusedIn($error, $asked);
            if ($refused === [] || ($batch['batchMode'] ?? null) === 'all-or-nothing') {
                throw $error;
            }
        }
        $rest = array_values(array_filter($asked, fn (array $call) => !isset($refused[$call['toolCallId']])));
        [$taken, $calls, $more] = $this->recorded($runId, $rest, $batch);
        return [$taken, $calls, $refused + $more];
    }

    /** @return array<string, Result> of the calls that the problem names; none if it names anything else */
    private static function refusedIn(CountersignException $error, array $asked): array
    {
        $words = [];
        foreach ($error->errors as $one) {
            if (preg_match('/^calls\.(\d+)\./', $one->path ?? '', $found) !== 1 || !isset($asked[(int) $found[1]])) {
                return [];
            }
            $words[(int) $found[1]][] = substr($one->path, strlen($found[0])) . ": {$one->message}";
        }
        $refused = [];
        foreach ($words as $index => $texts) {
            $call = $asked[$index];
            $refused[$call['toolCallId']] = Result::refused($call['toolCallId'], $call['toolName'], implode('; ', $texts));
        }
        return $refused;
    }
}
