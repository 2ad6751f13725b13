<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\CountersignException;
use Countersign\Exception\NotFoundException;
use Countersign\Exception\UnreadableException;
use Countersign\Http\Transport;

/**
 * The HTTP API as an agent and its worker need it. The answers are objects in the words of the API (docs/openapi.json).
 */
final class Client
{
    private const WAIT_MS_MAX = 50_000;
    /** A read that waits takes at least this long. The ledger waits by itself; a proxy in front of it may answer at once. */
    private const LOOK_MS_MIN = 200;
    /** A tool that ran must not stay unreported: these attempts take ten minutes. */
    private const REPORT_ATTEMPTS = 60;

    private readonly Connection $agent;
    private readonly Connection $worker;

    /**
     * @param string $token of the role agent
     * @param ?string $resolverToken of the role resolver. Null: the token has both roles, or this process only requests
     */
    public function __construct(
        string $url,
        string $token,
        ?string $resolverToken = null,
        ?Transport $transport = null,
        int $attempts = 9,
    ) {
        $this->agent = new Connection($url, $token, $transport, $attempts);
        $this->worker = $this->agent->with($resolverToken);
    }

    /**
     * Requests the calls of one model step, and returns them in order. The same step again is the same request.
     *
     * @param list<array<string, mixed>> $calls in the words of `POST /v1/tool-calls`
     * @param array<string, mixed> $step `agentId`, `batchId`, `batchMode`
     * @return list<object>
     */
    public function request(string $runId, array $calls, array $step = []): array
    {
        $calls = array_map(Call::normal(...), $calls);
        $answer = $this->agent->post('/v1/tool-calls', ['runId' => $runId, 'calls' => $calls, ...$step]);
        $recorded = $answer->calls ?? null;
        if (!is_array($recorded) || count($recorded) !== count($calls)) {
            throw new UnreadableException('unreadable', 'the answer has not as many calls as were requested');
        }
        return array_map(self::asCall(...), $recorded);
    }

    /**
     * Returns a call. Waits up to `$waitMs` until it is `decided` or `settled`, in one long poll after another.
     */
    public function toolCall(string $callId, string $until = 'decided', int $waitMs = 0): object
    {
        $endsAt = self::nowMs() + $waitMs;
        for (;;) {
            $askedAt = self::nowMs();
            $leftMs = max(0, (int) ($endsAt - $askedAt));
            $query = ['waitMs' => min($leftMs, self::WAIT_MS_MAX), 'until' => $until];
            $call = self::asCall($this->agent->get('/v1/tool-calls/' . rawurlencode($callId), $query));
            if ($leftMs === 0 || !in_array($call->state, Call::openStates($until), true)) {
                return $call;
            }
            Connection::pause((int) max(0, $askedAt + self::LOOK_MS_MIN - self::nowMs()));
        }
    }

    /** Returns all calls of a run; none for a run that the ledger does not know. @return list<object> */
    public function callsOfRun(string $runId): array
    {
        try {
            return array_map(self::asCall(...), $this->agent->get('/v1/runs/' . rawurlencode($runId))->calls);
        } catch (NotFoundException) {
            return [];
        }
    }

    /**
     * Returns one page of calls: `calls` and `nextCursor`.
     *
     * @param array<string, mixed> $query such as `['state' => 'approved,allowed', 'toolName' => 'refund']`
     */
    public function toolCalls(array $query = []): object
    {
        return $this->agent->get('/v1/tool-calls', $query);
    }

    /** Opens the next approval of an expired call, or one for a call that is allowed and not claimed. */
    public function askAgain(string $callId, array $question = []): object
    {
        return $this->agent->post(self::path($callId, '/approvals'), $question);
    }

    /** Cancels a call that is not claimed. */
    public function cancel(string $callId, string $reason): object
    {
        return $this->agent->post(self::path($callId, '/cancel'), ['reason' => $reason]);
    }

    /** Cancels all open calls of a run. */
    public function cancelRun(string $runId, string $reason): object
    {
        return $this->agent->post('/v1/runs/' . rawurlencode($runId) . '/cancel', ['reason' => $reason]);
    }

    /** Submits what the user's client returned for a client-executed call. */
    public function submitOutput(string $callId, mixed $output): object
    {
        return $this->agent->post(self::path($callId, '/output'), ['status' => 'succeeded', 'output' => $output]);
    }

    /** Submits that the user's client could not execute a client-executed call. */
    public function submitError(string $callId, string $message): object
    {
        return $this->agent->post(self::path($callId, '/output'), ['status' => 'failed', 'error' => ['message' => $message]]);
    }

    /**
     * Claims the right to run a call once.
     *
     * @throws Exception\ConflictException such as `already-claimed` or `not-approved`
     */
    public function claim(string $callId, string $resolverId, int $leaseMs = 60_000, ?string $key = null): object
    {
        $claim = $this->worker->post(self::path($callId, '/claim'), ['resolverId' => $resolverId, 'leaseMs' => $leaseMs], $key);
        $isClaim = is_int($claim->attempt ?? null) && is_object($claim->arguments ?? null)
            && is_string($claim->actionDigest ?? null) && is_object($claim->digestInput ?? null);
        return $isClaim ? $claim : throw new UnreadableException('unreadable', 'the answer is no claim');
    }

    /** Extends the lease of a claim. Returns it with `leaseUntil`. */
    public function renew(string $callId, int $attempt, int $leaseMs = 60_000): object
    {
        return $this->worker->post(self::path($callId, '/claim/renew'), ['attempt' => $attempt, 'leaseMs' => $leaseMs]);
    }

    /**
     * Reports how a tool ended. It is retried for ten minutes, also when a proxy answers in the place of Countersign.
     *
     * @param array<string, mixed> $outcome `attempt`, `status`, and `output` or `error`
     */
    public function report(string $callId, array $outcome): object
    {
        for ($attempt = 1; ; $attempt++) {
            try {
                return $this->worker->post(self::path($callId, '/outcome'), $outcome, attempts: self::REPORT_ATTEMPTS);
            } catch (UnreadableException $error) {
                if ($attempt >= self::REPORT_ATTEMPTS) {
                    throw $error;
                }
                Connection::pause(1000);
            }
        }
    }

    /**
     * Throws like `claim` while the resolver's token may not claim. Claims nothing.
     *
     * @throws CountersignException `forbidden`, `unauthenticated`, or `not-found` for a token of another tenant than the agent's
     */
    public function proveMayClaim(): void
    {
        try {
            // A renewal needs the same role. No call has this id.
            $this->renew('tc_none', 1);
        } catch (NotFoundException) {
        }
        foreach ($this->toolCalls(['order' => 'oldest', 'limit' => 1])->calls ?? [] as $call) {
            try {
                $this->worker->get(self::path($call->callId));
            } catch (NotFoundException $error) {
                $why = "the resolver token is of another tenant than the agent's token. Make both tokens for one tenant.";
                throw new NotFoundException($error->problem, $why, $error->status, previous: $error);
            }
        }
    }

    private static function path(string $callId, string $rest = ''): string
    {
        return '/v1/tool-calls/' . rawurlencode($callId) . $rest;
    }

    private static function asCall(mixed $call): object
    {
        $isCall = is_object($call) && is_string($call->callId ?? null) && is_string($call->state ?? null);
        return $isCall ? $call : throw new UnreadableException('unreadable', 'the answer is no call');
    }

    private static function nowMs(): float
    {
        return hrtime(true) / 1e6;
    }
}
