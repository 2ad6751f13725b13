<?php

declare(strict_types=1);

namespace Countersign;

/** One execution of a call: what a tool gets besides its arguments. */
final class Execution
{
    /**
     * @param string $idempotencyKey the same for all attempts of a call: hand it to the server that your tool calls
     * @param object $arguments the exact arguments, with objects as objects
     * @param ?string $receipt a JWS that the tool's own server can check (docs/receipts.md)
     */
    public function __construct(
        private readonly Client $client,
        public readonly string $callId,
        public readonly int $attempt,
        public readonly string $idempotencyKey,
        public readonly object $arguments,
        private readonly int $leaseMs,
        public readonly ?string $receipt = null,
    ) {
    }

    /**
     * Extends the lease. PHP does nothing beside a tool that runs, so a tool that takes longer than the lease calls this now and
     * then; otherwise the ledger records `unknown` when the lease ends. A later report still counts.
     *
     * @throws Exception\ConflictException when the claim is lost: stop, and report nothing
     */
    public function keepAlive(): void
    {
        $this->client->renew($this->callId, $this->attempt, $this->leaseMs);
    }
}
