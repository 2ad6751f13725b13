<?php

// An agent that stops for people, and goes on in another process: `php agent.php RUN` twice, with a decision between. COUNTERSIGN_TOKEN
// has the roles agent and front-end, COUNTERSIGN_RESOLVER_TOKEN has resolver.

declare(strict_types=1);

use Countersign\{ApprovalContext, Client, Gate, StopReason, Tool};

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

$deleteFile = new Tool(
    'delete_file',
    fn (array $input) => "deleted {$input['path']}",
    needsApproval: true,
    schema: ['type' => 'object', 'properties' => ['path' => ['type' => 'string']], 'required' => ['path']],
    approvalPrompt: fn (array $input) => "Delete {$input['path']}",
);
$writeFile = new Tool(
    'write_file',
    fn (array $input) => "wrote {$input['path']}",
    needsApproval: fn (array $input, ApprovalContext $context) => str_starts_with($input['path'], '/etc/'),
);

$url = getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400';
$client = new Client($url, getenv('COUNTERSIGN_TOKEN'), getenv('COUNTERSIGN_RESOLVER_TOKEN'));
$gate = new Gate($client, agentId: 'support-desk', tools: [$deleteFile, $writeFile]);
$runId = $argv[1] ?? 'run-1';
$file = sys_get_temp_dir() . "/countersign-$runId.json";

// What the model asks for. Arguments may also be the JSON text of the model.
$toolCalls = [
    ['toolCallId' => 'call_1', 'toolName' => 'write_file', 'arguments' => ['path' => '/tmp/notes']],
    ['toolCallId' => 'call_2', 'toolName' => 'delete_file', 'arguments' => '{"path":"/etc/hosts"}'],
];

if (!is_file($file)) {
    // The first web request.
    $step = $gate->step($runId, $toolCalls, batch: ['batchId' => 'step-1']);
    if ($step->stopReason() === StopReason::AwaitingApproval) {
        file_put_contents($file, json_encode($step->toArray()));
        foreach ($step->pendingApprovals() as $request) {
            echo "{$request->approvalId}: {$request->text()}\n";
        }
        exit;
    }
} else {
    // Another one, when a webhook says that people have decided, or when the user comes back.
    $step = $gate->resume(json_decode(file_get_contents($file), true));
    if ($step->stopReason() !== null) {
        exit("{$step->stopReason()->value}\n");
    }
}
foreach ($step->results() as $toolCallId => $result) {
    echo "$toolCallId: {$result->text}\n"; // for the model
}
