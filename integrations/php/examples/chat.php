<?php

// The two phases of a chat without a state, as Prism has them: `php chat.php RUN USER < messages.json` prints the new messages.
// COUNTERSIGN_TOKEN has the roles agent and front-end, COUNTERSIGN_RESOLVER_TOKEN has resolver.

declare(strict_types=1);

use Countersign\{ApprovalResponse, Client, FrontEnd, Gate, Tool};
use Countersign\Exception\ConflictException;

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

[, $conversation, $user] = $argv;
$url = getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400';
$client = new Client($url, getenv('COUNTERSIGN_TOKEN'), getenv('COUNTERSIGN_RESOLVER_TOKEN'));
$messages = json_decode(stream_get_contents(STDIN), true);

$gate = new Gate($client, agentId: 'support-desk', tools: [
    // ->requiresApproval(fn (array $args): bool => $args['amount'] > 1000)
    new Tool('transfer', fn (array $args) => "sent {$args['amount']}", needsApproval: fn (array $args) => $args['amount'] > 1000),
    new Tool('get_location', null), // ->clientExecuted()
]);

// Phase 2: the answers of the user go to the ledger, in the user's own name. A forged `approved` approves nothing, and with its digest an
// answer is about what the user saw: if something else is asked by now, it is refused, and phase 1 has the new request.
$last = end($messages);
$person = (new FrontEnd($url, getenv('COUNTERSIGN_TOKEN')))->as(id: $user, groups: ['support']);
$refused = [];
foreach ($last['toolApprovalResponses'] ?? [] as $answer) {
    try {
        $response = new ApprovalResponse($answer['approvalId'], $answer['approved'], $answer['reason'] ?? null, digest: $answer['digest'] ?? '');
        $person->respond($response, key: hash('sha256', json_encode([$user, $answer]))); // a browser may send it again
    } catch (ConflictException $error) {
        if ($error->problem !== 'digest-mismatch') {
            throw $error;
        }
        $refused[$answer['approvalId']] = 'What is asked has changed. Please look again.';
    }
}

// Both phases: the calls of the last assistant message. Calls that ran before have their recorded results.
$assistants = array_filter($messages, fn (array $message) => $message['role'] === 'assistant');
$turn = array_key_last($assistants);
$calls = array_map(fn (array $call) => [
    'toolCallId' => "$turn/{$call['id']}", // the ids of some models repeat in a conversation
    'toolName' => $call['name'],
    'arguments' => $call['arguments'],
], $assistants[$turn]['toolCalls']);
$step = $gate->step($conversation, $calls);

// Phase 1 ends here, with requests for the client.
echo json_encode([
    'toolApprovalRequests' => array_map(
        fn ($request) => [
            'approvalId' => $request->approvalId,
            'toolCallId' => $request->toolCallId,
            'digest' => $request->digest, // it comes back with the answer
            'text' => $request->text(),
        ],
        $step->pendingApprovals(),
    ),
    'refused' => (object) $refused,
    'toolResults' => array_map(fn ($result) => $result->text, $step->results()),
    'stopReason' => $step->stopReason()?->value,
], JSON_UNESCAPED_SLASHES), "\n";
