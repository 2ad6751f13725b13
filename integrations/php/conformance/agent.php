<?php

// An agent without a framework that the conformance kit can try:
// `countersign conformance --no-forge --no-nested --no-streaming -- php agent.php`.

declare(strict_types=1);

use Countersign\{Client, Gate, Json, StopReason, Tool};

require_once __DIR__ . '/../autoload.php';

$say = function (array $event): void {
    fwrite(STDOUT, Json::encode($event) . "\n");
};
$body = function (string $toolName, ?string $toolCallId, object $arguments) use ($say): mixed {
    $say(['event' => 'tool', 'toolName' => $toolName, 'toolCallId' => $toolCallId, 'arguments' => $arguments]);
    return Json::decode(fgets(STDIN))->output;
};
$start = Json::decode(fgets(STDIN));
$schema = [
    'type' => 'object',
    'properties' => ['amount' => ['type' => 'integer']],
    'required' => ['amount'],
    'additionalProperties' => false,
];
$refund = new Tool(
    'refund',
    fn (array $_, $execution) => $body('refund', null, $execution->arguments),
    needsApproval: true,
    schema: $schema,
);
try {
    $client = new Client($start->url, $start->agentToken, $start->workerToken);
    $gate = new Gate($client, $start->agentId, [$refund], leaseMs: $start->leaseMs);
    // The ledger has the results of the calls behind the gate; the state has those of the others, so that they run once.
    $told = json_decode($start->state ?? '{}', true);
    foreach ($start->turns as $turn) {
        $gated = array_values(array_filter($turn, fn (object $call) => $call->toolName === 'refund'));
        foreach ($turn as $call) {
            if ($call->toolName === 'lookup' && !isset($told[$call->toolCallId])) {
                $told[$call->toolCallId] = Json::encode($body('lookup', $call->toolCallId, $call->arguments));
            }
        }
        $step = $gate->step($start->runId, array_map(get_object_vars(...), $gated));
        while ($step->stopReason() === StopReason::Executing) {
            usleep(200_000); // another process runs it, or was killed in it
            $step = $gate->resume($step);
        }
        foreach ($step->results() as $id => $result) {
            $told[$id] = $result->text;
        }
        foreach ($turn as $call) {
            if (!isset($told[$call->toolCallId])) {
                $say(['event' => 'paused', 'state' => Json::encode((object) $told)]);
                exit(0);
            }
        }
    }
    $say(['event' => 'finished', 'told' => (object) $told, 'final' => 'done']);
} catch (Throwable $error) {
    $say(['event' => 'failed', 'message' => $error->getMessage()]);
    exit(1);
}
