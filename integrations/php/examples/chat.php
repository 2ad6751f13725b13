<?php

// The two phases of a chat without a state, as Prism has them. The page of a signed-in user posts its messages to
// `php -S 127.0.0.1:8080 chat.php`. COUNTERSIGN_TOKEN has the roles agent and front-end, COUNTERSIGN_RESOLVER_TOKEN has resolver.

declare(strict_types=1);

use Countersign\{ApprovalResponse, Client, FrontEnd, Gate, Tool};
use Countersign\Exception\CountersignException;

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

// The user and the conversation are those of your own session, never of the request of a browser.
session_start();
if (!isset($_SESSION['user'], $_SESSION['conversation']) || ($_SERVER['CONTENT_TYPE'] ?? '') !== 'application/json') {
    http_response_code(403); // nobody is signed in, or it may be the form of another site
    exit;
}
$messages = json_decode(file_get_contents('php://input'), true);

$url = getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400';
$client = new Client($url, getenv('COUNTERSIGN_TOKEN'), getenv('COUNTERSIGN_RESOLVER_TOKEN'));
$gate = new Gate($client, agentId: 'support-desk', tools: [
    new Tool(
        'transfer',
        fn (array $args) => "sent {$args['amount']}",
        needsApproval: fn (array $args) => $args['amount'] > 1000, // ->requiresApproval(fn (array $args): bool => …)
        schema: ['type' => 'object', 'properties' => ['amount' => ['type' => 'number']], 'required' => ['amount']],
    ),
    new Tool('get_location', null), // ->clientExecuted()
]);

// Both phases: the calls of the last assistant message. Calls that ran before have their recorded results.
$turn = array_key_last(array_filter($messages, fn (array $message) => $message['role'] === 'assistant'));
$calls = [];
foreach ($messages[$turn]['toolCalls'] ?? [] as $number => $call) {
    $id = "{$messages[$turn]['id']}/$number"; // stays the same when older messages are cut
    $calls[] = ['toolCallId' => $id, 'toolName' => $call['name'], 'arguments' => $call['arguments']];
}
$step = $gate->step($_SESSION['conversation'], $calls);

// Phase 2: the next message has the user's answers, and the outputs of the calls that the page executed.
$refused = [];
if ($turn !== array_key_last($messages)) {
    $sent = end($messages) + ['toolApprovalResponses' => [], 'toolResults' => []];
    $answers = array_column($sent['toolApprovalResponses'], null, 'approvalId');
    $person = (new FrontEnd($url, getenv('COUNTERSIGN_TOKEN')))->as(id: $_SESSION['user'], groups: ['support']);
    foreach ($step->pendingApprovals() as $request) {
        $answer = $answers[$request->approvalId] ?? null;
        try {
            $answer === null
                ? $client->cancel($request->callId, 'the user did not respond, so it counts as denied')
                : $person->respond(new ApprovalResponse($request->approvalId, ($answer['approved'] ?? false) === true, $answer['reason'] ?? null, digest: $answer['digest'] ?? ''));
        } catch (CountersignException $error) {
            $refused[$request->approvalId] = $error->problem; // such as `already-resolved`: another person was faster
        }
    }
    $step = $gate->submitOutputs(
        $step,
        array_column($sent['toolResults'], 'result', 'toolCallId'),
        array_column($sent['toolResults'], 'error', 'toolCallId'),
    );
}

// For the page. Where `stopReason` is null, each call has its result: the next request to the model has them.
$clientCall = fn (object $call) => ['toolCallId' => $call->toolCallId, 'toolName' => $call->toolName, 'arguments' => $call->arguments];
echo json_encode([
    'toolApprovalRequests' => array_map(fn ($request) => [...$request->toArray(), 'text' => $request->text()], $step->pendingApprovals()),
    'clientCalls' => array_map($clientCall, $step->clientCalls()),
    'toolResults' => (object) array_map(fn ($result) => $result->text, $step->results()),
    'refused' => (object) $refused,
    'stopReason' => $step->stopReason()?->value,
], JSON_THROW_ON_ERROR), "\n";
