<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\ConflictException;
use Countersign\Exception\ExpiredException;
use Countersign\Exception\InvalidRequestException;
use Countersign\Exception\NotApprovedException;
use Throwable;

/** @internal Claims, checks, runs and reports one call. */
final class Runner
{
    /** Another worker has the call, it ended, or a stop covers it: it is read, and nothing runs here. */
    private const NOT_OURS = ['already-claimed', 'already-settled', 'not-approved', 'approval-lapsed', 'batch-incomplete', 'stale-claim', 'stopped'];
    private const LOOK_MS = 5000;

    private readonly string $resolverId;

    /** @param ?string $agentId whose calls these are. Null: those of any agent */
    public function __construct(
        private readonly Client $client,
        private readonly ?string $agentId,
        private readonly int $leaseMs,
    ) {
        $this->resolverId = 'php/' . bin2hex(random_bytes(8));
    }

    /**
     * Returns the call once it is settled, or as it is at the end of the wait: people have not decided, or another process runs it.
     *
     * @param array<string, mixed> $asked
     */
    public function finish(array $asked, object $call, Tool $tool, int $endsAt): object
    {
        while (!Call::isSettled($call)) {
            $leftMs = (int) max(0, ($endsAt - hrtime(true)) / 1_000_000);
            if (self::isUnasked($asked, $call)) {
                $call = $this->askPeople($asked, $call);
                if (isset($call->stopped)) {
                    if ($leftMs === 0) {
                        return $call;
                    }
                    Connection::pause(min($leftMs, self::LOOK_MS));
                }
            } elseif ($call->state === 'awaiting_approval') {
                $call = $this->client->toolCall($call->callId, 'decided', min($leftMs, self::LOOK_MS));
                if ($call->state === 'awaiting_approval' && $leftMs === 0) {
                    return $call;
                }
            } elseif ($call->clientExecuted ?? false) {
                return $call;
            } elseif ($call->state !== 'executing' && $this->hasRun($asked, $call, $tool)) {
                $call = $this->client->toolCall($call->callId, 'settled');
            } elseif ($call->state !== 'executing' && $leftMs === 0) {
                // Another call of its batch is pending, or another process was faster.
                $stopped = $call->stopped ?? null;
                $call = $this->client->toolCall($call->callId, 'settled');
                if (in_array($call->state, ['allowed', 'approved'], true)) {
                    return self::withStop($call, $stopped);
                }
            } elseif ($leftMs === 0) {
                return $call;
            } else {
                // Looked at again now and then: an idempotent call whose worker is gone can be claimed once more.
                $call = $this->client->toolCall($call->callId, 'settled', min($leftMs, self::LOOK_MS));
            }
        }
        return $call;
    }

    /**
     * Whether a call needs an approval here, and has none.
     *
     * Attack: a process with the agent's token alone requests the call without `needsApproval`, the policy allows it, and the worker
     * that finds it would run it. A standing grant is an approval by a person.
     */
    public static function isUnasked(array $asked, object $call): bool
    {
        return ($asked['needsApproval'] ?? false) && $call->state === 'allowed' && ($call->verdict->grantId ?? null) === null;
    }

    /** Keeps with the call which stop covers it, for `Step::stopDetail`. */
    private static function withStop(object $call, ?string $detail): object
    {
        if ($detail !== null) {
            $call->stopped = $detail;
        }
        return $call;
    }

    private function askPeople(array $asked, object $call): object
    {
        $names = ['reason', 'description', 'expiresInMs', 'allowedDecisions'];
        try {
            $this->client->askAgain($call->callId, array_intersect_key($asked, array_flip($names)));
        } catch (ConflictException $error) {
            if ($error->problem === 'stopped') {
                return self::withStop($call, $error->detail);
            }
            if (!in_array($error->problem, ['already-pending', 'already-resolved', ...self::NOT_OURS], true)) {
                throw $error;
            }
        }
        $call = $this->client->toolCall($call->callId);
        if (self::isUnasked($asked, $call)) {
            throw new NotApprovedException('not-approved', "{$asked['toolCallId']} needs an approval, and people cannot be asked");
        }
        return $call;
    }

    /**
     * @param array<string, mixed> $asked the worker's own view of the call
     * @param ?callable(object): bool $mayRun looks at the arguments of the claim, in which nothing is hidden
     * @return bool whether this process ran it and reported
     */
    public function hasRun(array $asked, object $call, Tool $tool, ?callable $mayRun = null): bool
    {
        $claimedAt = hrtime(true);
        try {
            $claim = $this->client->claim($call->callId, $this->resolverId, $this->leaseMs);
            if (hrtime(true) - $claimedAt >= 1_000_000 * $this->leaseMs) {
                // The answer took longer than the lease, so the tool starts only if the claim can still be renewed.
                $this->client->renew($call->callId, $claim->attempt, $this->leaseMs);
            }
        } catch (ConflictException | ExpiredException $error) {
            self::withStop($call, $error->problem === 'stopped' ? $error->detail : null);
            return in_array($error->problem, [...self::NOT_OURS, 'expired'], true) ? false : throw $error;
        }
        // The schema of the code that runs now, not the one in the state.
        $own = [...$asked, 'toolSchema' => $tool->schema];
        $problem = Claim::problem($claim, $call, $own, $this->agentId ?? $call->agentId);
        if ($problem === null && $mayRun !== null && !$mayRun($claim->arguments)) {
            $problem = ['code' => 'not-approved', 'message' => 'The tool needs an approval for these arguments, and has none'];
        }
        $outcome = $problem === null ? $this->outcome($tool, $call, $claim) : ['status' => 'failed', 'error' => $problem];
        $this->report($call->callId, ['attempt' => $claim->attempt, ...$outcome]);
        return true;
    }

    /** @return array<string, mixed> */
    private function outcome(Tool $tool, object $call, object $claim): array
    {
        $execution = new Execution(
            $this->client,
            $call->callId,
            $claim->attempt,
            $claim->idempotencyKey,
            $claim->arguments,
            $this->leaseMs,
            $claim->receipt ?? null,
        );
        try {
            $output = $tool->run($claim->arguments, $execution);
        } catch (Throwable $error) {
            return ['status' => 'failed', 'error' => ['code' => 'tool-error', 'name' => $error::class, 'message' => Faults::text($error->getMessage()) ?: $error::class]];
        }
        try {
            Json::canonical($output);
            return ['status' => 'succeeded', 'output' => $output];
        } catch (Throwable $error) {
            return ['status' => 'succeeded', 'output' => ['unrecorded' => "The tool succeeded; its output cannot be written as JSON: {$error->getMessage()}"]];
        }
    }

    private function report(string $callId, array $outcome): void
    {
        try {
            $this->client->report($callId, $outcome);
        } catch (ConflictException $error) {
            if ($error->problem !== 'stale-claim') {
                throw $error;
            }
        } catch (InvalidRequestException $error) {
            // The tool did run: the refusal of its output must not turn the success into a failure.
            $this->client->report($callId, $outcome['status'] === 'failed'
                ? [...$outcome, 'error' => ['code' => 'tool-error', 'message' => "The tool failed; its error was refused: {$error->getMessage()}"]]
                : [...$outcome, 'output' => ['unrecorded' => "The tool succeeded; its output was refused: {$error->getMessage()}"]]);
        }
    }
}
