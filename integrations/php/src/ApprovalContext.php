<?php

declare(strict_types=1);

namespace Countersign;

/** What a `needsApproval` function gets besides the arguments of the call. Both are the words of a model: trust neither. */
final class ApprovalContext
{
    /** @param array<mixed> $messages */
    public function __construct(
        public readonly string $runId,
        public readonly string $toolCallId,
        public readonly mixed $state = null,
        public readonly array $messages = [],
    ) {
    }
}
