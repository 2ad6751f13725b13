<?php

declare(strict_types=1);

namespace Countersign;

use DateTimeImmutable;

/** A question to people. It is plain data: keep it in a session, a cache or a queue. */
final class ApprovalRequest
{
    /**
     * @param array<string, mixed> $toolArgs for code. A member `{}` is `[]` in it
     * @param string $argumentsJson the exact arguments as JSON: show these
     * @param string $digest of what this request shows. A response that carries it is refused once the arguments were edited
     * @param ?string $mayNotDecide why the reader cannot decide, or null
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
    ) {
    }

    /** Reads an `Approval` of the API. */
    public static function fromApproval(object $approval): self
    {
        $json = Json::encode($approval->arguments);
        return new self(
            approvalId: $approval->approvalId,
            toolCallId: $approval->toolCallId,
            toolName: $approval->toolName,
            toolArgs: Json::toArray($approval->arguments),
            description: $approval->description ?? $approval->title ?? "{$approval->toolName} $json",
            requestedAt: new DateTimeImmutable($approval->requestedAt),
            expiresAt: isset($approval->expiresAt) ? new DateTimeImmutable($approval->expiresAt) : null,
            state: ApprovalState::from($approval->state),
            argumentsJson: $json,
            digest: $approval->proposal->digest ?? null,
            reason: $approval->reason ?? null,
            runId: $approval->runId ?? null,
            callId: $approval->callId ?? null,
            mayNotDecide: ($approval->mayDecide->now ?? true) ? null : ($approval->mayDecide->detail ?? $approval->mayDecide->why),
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

    /** @param array<string, mixed> $data of `toArray` */
    public static function fromArray(array $data): self
    {
        $data['requestedAt'] = new DateTimeImmutable($data['requestedAt']);
        $data['expiresAt'] = isset($data['expiresAt']) ? new DateTimeImmutable($data['expiresAt']) : null;
        $data['state'] = ApprovalState::from($data['state'] ?? 'pending');
        return new self(...$data);
    }
}
