<?php

declare(strict_types=1);

namespace Countersign\Exception;

use RuntimeException;

/** A refusal of the ledger, from its `application/problem+json`, or the reason why there is no answer. */
class CountersignException extends RuntimeException
{
    /**
     * @param string $problem the stable code, such as `tool-call-mismatch`, or `unreachable` or `unreadable`
     * @param string $detail what happened and what helps
     * @param ?string $remedy the address of a page with cause and remedy
     * @param list<object{path: string, message: string}> $errors the offending members
     * @param ?object $body the whole problem: `already-resolved` has the `resolution`, `digest-mismatch` the current `proposal`
     */
    final public function __construct(
        public readonly string $problem,
        public readonly string $detail,
        public readonly ?int $status = null,
        public readonly ?string $remedy = null,
        public readonly array $errors = [],
        public readonly ?object $body = null,
        ?\Throwable $previous = null,
    ) {
        parent::__construct("$problem: $detail", $status ?? 0, $previous);
    }

    /** @internal Returns the exception of a problem. */
    public static function of(int $status, object $problem, string $url): self
    {
        $class = match (true) {
            $status === 401, $status === 403 => ForbiddenException::class,
            $status === 404 => NotFoundException::class,
            $status === 409 => ConflictException::class,
            $status === 410 => ExpiredException::class,
            $status === 429, $status >= 500 => UnavailableException::class,
            default => InvalidRequestException::class,
        };
        $type = $problem->type ?? null;
        $remedy = is_string($type) && str_starts_with($type, '/') ? $url . $type : $type;
        $errors = is_array($problem->errors ?? null) ? $problem->errors : [];
        return new $class($problem->code, $problem->detail ?? $problem->code, $status, $remedy, $errors, $problem);
    }
}
