<?php

declare(strict_types=1);

namespace Countersign;

/** @internal The other calls of a step that runs together or not at all: the last approval releases them as well. */
final class Together
{
    /** @return list<string> the ids of the other calls that run with the one of an approval */
    public static function idsOf(object $approval): array
    {
        $isTogether = ($approval->batch->mode ?? null) === 'all-or-nothing';
        return $isTogether ? array_values(array_diff($approval->batch->callIds, [$approval->callId])) : [];
    }

    /**
     * Returns plain data of a call of the API: what is asked about now, or was approved.
     *
     * @return array{callId: string, toolCallId: string, toolName: string, argumentsJson: string, answerJson: ?string, state: string, labels: array<string, string>, approvedBy: list<string>, instructions: list<array<string, mixed>>, digest: string}
     */
    public static function otherOf(object $call): array
    {
        $approval = $call->approval ?? null;
        $isAnswer = ($approval->proposal->kind ?? 'run') === 'answer';
        return [
            'callId' => $call->callId,
            'toolCallId' => $call->toolCallId,
            'toolName' => $call->toolName,
            'argumentsJson' => Json::encode($approval->arguments ?? $call->arguments),
            'answerJson' => $isAnswer ? Json::encode($approval->proposal->output) : null,
            'state' => $call->state,
            'labels' => Json::toArray($approval->labels ?? $call->labels ?? []),
            'approvedBy' => array_merge(...array_map(fn (object $stage) => $stage->approvedBy, $approval->progress ?? [])),
            'instructions' => Json::toArray($approval->instructions ?? []),
            'digest' => $approval->shownDigest ?? $call->actionDigest,
        ];
    }

    /** @param list<array<string, mixed>> $others */
    public static function digestOf(array $others): ?string
    {
        return $others === [] ? null : 'sha256:' . hash('sha256', Json::encode(array_map(fn (array $one) => [$one['callId'], $one['digest']], $others)));
    }

    /**
     * @param list<array<string, mixed>> $others
     * @return list<string>
     */
    public static function lines(array $others): array
    {
        $lines = $others === [] ? [] : ['All or nothing: the last approval of this step also runs'];
        foreach ($others as $one) {
            $people = implode(', ', array_map(Visible::name(...), $one['approvedBy']));
            $state = str_replace('_', ' ', $one['state']) . ($people === '' ? '' : ", approved by $people");
            $labels = $one['labels'] === [] ? '' : ', labels: ' . Json::encode((object) $one['labels']);
            $answer = $one['answerJson'] === null ? '' : ", does not run, and its answer is {$one['answerJson']}";
            $lines[] = '- ' . Visible::name($one['toolName']) . " {$one['argumentsJson']} ($state)$answer$labels";
            foreach ($one['instructions'] as $told) {
                $when = isset($told['ifDenied']) ? ', if it is denied' : '';
                $lines[] = '  Instruction of ' . Visible::name($told['respondedBy']) . " to the agent$when: " . Json::encode($told['instruction']);
            }
        }
        return $lines;
    }
}
