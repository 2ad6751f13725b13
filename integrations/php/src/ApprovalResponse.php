<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Exception\StateException;
use DateTimeImmutable;
use InvalidArgumentException;

/** What a person decided. `Approver::respond` sends it to the ledger; alone it approves nothing. */
final class ApprovalResponse
{
    /**
     * @param ?string $approvedBy the person who answered. The ledger records the person of the token or of the front end; if both are
     *   there and differ, the response is not sent
     * @param ?string $digest of the `ApprovalRequest` that the person saw
     * @param array<string, mixed>|object|string|null $editedArgs the arguments that the person put in the place of the requested ones. JSON text
     *   or an object keeps each `{}`
     * @param ?string $instruction what the agent is told afterwards
     * @param ?int $shownRevision of the `ApprovalRequest`. With it, a response that is sent again later decides nothing but what its person saw
     * @param ?string $shownOthersDigest of the `ApprovalRequest`. With it, a "yes" releases the other calls of its step only as they were then
     */
    public function __construct(
        public readonly string $approvalId,
        public readonly bool $approved,
        public readonly ?string $reason = null,
        public readonly ?string $approvedBy = null,
        public readonly DateTimeImmutable $respondedAt = new DateTimeImmutable(),
        public readonly ?string $digest = null,
        public readonly array|object|string|null $editedArgs = null,
        public readonly ?string $instruction = null,
        public readonly ?int $shownRevision = null,
        public readonly ?string $shownOthersDigest = null,
    ) {
        if (!$approved && $editedArgs !== null) {
            throw new InvalidArgumentException('editedArgs: a denial has none.');
        }
    }

    /**
     * Answers a request as its person saw it.
     *
     * @throws InvalidArgumentException for an approval of a request whose step has calls that nobody has read
     */
    public static function to(
        ApprovalRequest $request,
        bool $approved,
        ?string $reason = null,
        ?string $approvedBy = null,
        array|object|string|null $editedArgs = null,
        ?string $instruction = null,
    ): self {
        if ($approved && $request->hasUnreadOthers()) {
            throw new InvalidArgumentException('An approval may release other calls of this step: read the request with Approver::requests, and show all of it.');
        }
        return new self(
            $request->approvalId,
            $approved,
            $reason,
            $approvedBy,
            digest: $request->digest,
            editedArgs: $editedArgs,
            instruction: $instruction,
            // A denial only restricts: it counts as long as the same is asked.
            shownRevision: $approved ? $request->shownRevision : null,
            shownOthersDigest: $approved ? $request->shownOthersDigest : null,
        );
    }

    /** @return array<string, mixed> plain data for `json_encode`, a cache or a session */
    public function toArray(): array
    {
        $editedArgs = is_object($this->editedArgs) ? Json::encode($this->editedArgs) : $this->editedArgs;
        return [...get_object_vars($this), 'editedArgs' => $editedArgs, 'respondedAt' => Dates::text($this->respondedAt)];
    }

    /**
     * @param array<string, mixed> $data of `toArray`
     * @throws StateException for anything else
     */
    public static function fromArray(array $data): self
    {
        return StateException::unless('response', function () use ($data): self {
            $data['respondedAt'] = new DateTimeImmutable($data['respondedAt'] ?? 'now');
            return new self(...$data);
        });
    }

    /** @internal @return array<string, mixed> the body of the request */
    public function body(): array
    {
        $decision = match (true) {
            !$this->approved => ['type' => 'deny'],
            $this->editedArgs !== null => ['type' => 'edit', 'arguments' => Call::normal(['arguments' => $this->editedArgs])['arguments']],
            default => ['type' => 'approve'],
        };
        $optional = [
            'reason' => $this->reason,
            'instruction' => $this->instruction,
            'shownDigest' => $this->digest,
            'shownRevision' => $this->shownRevision,
            'shownOthersDigest' => $this->shownOthersDigest,
        ];
        return ['decision' => $decision, ...array_filter($optional, fn (string|int|null $value) => $value !== null)];
    }
}
