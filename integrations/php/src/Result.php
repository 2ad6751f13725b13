<?php

declare(strict_types=1);

namespace Countersign;

/** The one result of a call. Only `succeeded` is a success. */
final class Result
{
    private function __construct(
        public readonly string $toolCallId,
        public readonly string $toolName,
        public readonly string $status,
        public readonly mixed $output,
        public readonly mixed $error,
        /** Why there is no output; null after a success. */
        public readonly ?string $reason,
        /** For the model: the output, or a sentence about why there is none, and the approver's instruction. */
        public readonly string $text,
        /** @var list<string> the people whose votes count */
        public readonly array $decidedBy,
        /** An approver's instruction to the agent for afterwards. */
        public readonly ?string $instruction = null,
        /** Null for a call that was never recorded. */
        public readonly ?string $callId = null,
    ) {
    }

    /** Returns the result of a call of the API; null while it has none. */
    public static function of(object $call): ?self
    {
        if (!Call::isSettled($call)) {
            return null;
        }
        $responses = $call->approval->responses ?? [];
        $wanted = $call->state === 'denied' ? ['deny'] : ['approve', 'edit', 'answer'];
        $votes = array_values(array_filter($responses, fn (object $vote) => $vote->counted && in_array($vote->decision->type, $wanted, true)));
        $people = array_map(fn (object $vote) => $vote->respondedBy, $votes);
        $reason = $call->state === 'succeeded' ? null : self::reasonOf($call, $votes);
        return new self(
            toolCallId: $call->toolCallId,
            toolName: $call->toolName,
            status: $call->state,
            output: $call->state === 'succeeded' ? ($call->output ?? null) : null,
            error: $call->state === 'failed' ? ($call->error ?? null) : null,
            reason: $reason,
            text: self::textOf($call, $reason, $people),
            decidedBy: $people,
            instruction: $call->instruction ?? null,
            callId: $call->callId,
        );
    }

    /** @internal A call that could not be requested. */
    public static function refused(string $toolCallId, string $toolName, string $reason): self
    {
        $text = "The call was refused and did not run: $reason";
        return new self($toolCallId, $toolName, 'failed', null, (object) ['message' => $reason], $reason, $text, []);
    }

    /** @param list<string> $people */
    private static function textOf(object $call, ?string $reason, array $people): string
    {
        $isEdited = isset($call->originalArguments);
        $output = $call->output ?? null;
        $parts = [$reason === null ? (is_string($output) ? $output : Json::encode($output)) : self::failure($call, $reason, $people)];
        if ($reason === null && ($call->approval->proposal->kind ?? null) === 'answer') {
            $parts[] = 'A person gave this output; the tool did not run.';
        } elseif ($isEdited) {
            $parts[] = $reason === null
                ? 'An approver changed the arguments before it ran; these are the ones it ran with.'
                : 'An approver changed the arguments.';
        }
        if ($isEdited) {
            // The model must see which arguments ran: its own history still has the old ones.
            $parts[] = 'Arguments: ' . Json::encode($call->arguments);
        }
        if (isset($call->instruction)) {
            $parts[] = "Instruction of the approver: {$call->instruction}";
        }
        return implode("\n", $parts);
    }

    /** @param list<object> $votes */
    private static function reasonOf(object $call, array $votes): string
    {
        $reasons = array_filter(array_map(fn (object $vote) => trim($vote->reason ?? ''), $votes), fn (string $words) => $words !== '');
        $why = $call->verdict->why ?? [];
        return match ($call->state) {
            'failed' => self::words($call->error ?? null) ?? 'the tool failed',
            'denied' => $reasons === [] ? 'User denied' : end($reasons),
            'blocked' => implode('; ', self::isInCode($call) ? array_slice($why, -1) : $why) ?: "rule {$call->verdict->ruleId}",
            'expired' => ($call->approval->state ?? null) === 'approved' ? 'it was approved but not run in time' : 'no person answered in time',
            'cancelled' => self::words($call->error ?? null) ?? 'it was cancelled',
            default => 'it was started and never reported back',
        };
    }

    /** @param list<string> $people */
    private static function failure(object $call, string $reason, array $people): string
    {
        $by = $people === [] ? '' : ' by ' . implode(', ', $people);
        return match ($call->state) {
            'denied' => "The call was denied$by and did not run: $reason",
            'blocked' => self::isInCode($call)
                ? "The call was denied and did not run: $reason"
                : "The policy does not allow this call, it did not run: $reason",
            'expired' => "The call did not run: $reason. It may be asked for again.",
            'cancelled' => "The call was cancelled before it ran: $reason",
            'unknown' => 'The tool was started and its outcome is not known. It may or may not have taken effect; it is not run again.',
            default => $reason,
        };
    }

    /** Whether the agent's own code denied the call, and not the policy. */
    private static function isInCode(object $call): bool
    {
        return ($call->verdict->ruleId ?? null) === 'deniedInCode';
    }

    private static function words(mixed $error): ?string
    {
        if ($error === null) {
            return null;
        }
        $words = is_string($error) ? $error : $error->message ?? null;
        // An empty text would be read as the output of a tool that worked.
        return is_string($words) ? (trim($words) === '' ? null : $words) : Json::encode($error);
    }
}
