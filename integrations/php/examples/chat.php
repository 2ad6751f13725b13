<?php

// The two phases of a chat without a state, as Prism has them. The page of a signed-in user posts its messages to
// `php -S 127.0.0.1:8080 chat.php`. COUNTERSIGN_TOKEN has the roles agent and front-end, COUNTERSIGN_RESOLVER_TOKEN has resolver.

declare(strict_types=1);

use Countersign\{ApprovalRequest, ApprovalResponse, ApprovalState, Client, FrontEnd, Gate, Result, Tool};
use Countersign\Exception\{ConflictException, CountersignException, InvalidRequestException, NotFoundException};

require is_file('vendor/autoload.php') ? 'vendor/autoload.php' : __DIR__ . '/../autoload.php';

// The user and the conversation are those of your own session, never of the request of a browser.
session_start();
$isJson = preg_match('~^application/json\s*(?:;|$)~iD', $_SERVER['CONTENT_TYPE'] ?? '') === 1;
if (!isset($_SESSION['user'], $_SESSION['conversation']) || !$isJson) {
    http_response_code(403); // nobody is signed in, or it may be the form of another site
    exit;
}
[$user, $conversation] = [(string) $_SESSION['user'], (string) $_SESSION['conversation']];
session_write_close(); // a tool may take long, and the user has other pages
// The objects in arguments and outputs stay objects: for the ledger `{}` is not `[]`.
$asArrays = fn (mixed $list) => is_array($list) ? array_map(fn (mixed $one) => is_object($one) ? get_object_vars($one) : $one, $list) : $list;
$messages = $asArrays(json_decode(file_get_contents('php://input')));
$lists = ['toolCalls', 'toolApprovalResponses', 'toolResults'];
$read = fn (mixed $message) => is_array($message) ? [...$message, ...array_map($asArrays, array_intersect_key($message, array_flip($lists)))] : $message;
$messages = is_array($messages) ? array_map($read, $messages) : $messages;

// A browser may send anything.
$isText = fn (mixed $value) => is_string($value) && $value !== '';
$isTextOrNone = fn (mixed $value) => $value === null || is_string($value);
$areAll = fn (mixed $list, callable $isRight) => is_array($list) && array_is_list($list)
    && array_filter($list, fn (mixed $one) => !is_array($one) || !$isRight($one)) === [];
$isAnswer = fn (array $one) => $isText($one['approvalId'] ?? null) && $isTextOrNone($one['reason'] ?? null)
    && $isTextOrNone($one['digest'] ?? null) && is_int($one['shownRevision'] ?? 0) && $isTextOrNone($one['othersDigest'] ?? null);
$isMessage = fn (array $one) => $isText($one['role'] ?? null)
    && (!isset($one['toolCalls']) || $isText($one['id'] ?? null))
    && $areAll($one['toolCalls'] ?? [], fn (array $call) => $isText($call['name'] ?? null))
    && $areAll($one['toolApprovalResponses'] ?? [], $isAnswer)
    && $areAll($one['toolResults'] ?? [], fn (array $result) => $isText($result['toolCallId'] ?? null));
if (!$areAll($messages, $isMessage)) {
    http_response_code(400);
    exit;
}
set_exception_handler(function (Throwable $error): void {
    error_log((string) $error);
    if ($error instanceof ConflictException && $error->problem === 'stopped') {
        // New calls are requested once the stop is lifted, when the page posts again.
        http_response_code(503);
        echo json_encode(['stopReason' => 'stopped', 'stopDetail' => $error->detail]);
        return;
    }
    // Such as another call under the number of a recorded one.
    http_response_code($error instanceof ConflictException || $error instanceof InvalidRequestException ? 400 : 500);
});

$url = getenv('COUNTERSIGN_URL') ?: 'http://127.0.0.1:7400';
$client = new Client($url, getenv('COUNTERSIGN_TOKEN'), getenv('COUNTERSIGN_RESOLVER_TOKEN'));
$gate = new Gate($client, agentId: 'support-desk', tools: [
    new Tool(
        'transfer',
        fn (array $args) => "sent {$args['amount']}",
        needsApproval: fn (array $args) => $args['amount'] > 1000, // ->requiresApproval(fn (array $args): bool => …)
        schema: ['type' => 'object', 'properties' => ['amount' => ['type' => 'number']], 'required' => ['amount'], 'additionalProperties' => false],
    ),
    new Tool('get_location', null), // ->clientExecuted()
]);

// Both phases: the calls of the last assistant message. Calls that ran before have their recorded results.
$turn = array_key_last(array_filter($messages, fn (array $message) => $message['role'] === 'assistant'));
$calls = [];
foreach ($messages[$turn]['toolCalls'] ?? [] as $number => $call) {
    $id = "{$messages[$turn]['id']}/$number"; // stays the same when older messages are cut
    $calls[] = ['toolCallId' => $id, 'toolName' => $call['name'], 'arguments' => $call['arguments'] ?? null];
}
$step = $gate->request($conversation, $calls); // runs nothing before the answers are read

// Phase 2: the messages after it have the user's answers, and the outputs of the calls that the page executed.
$later = array_slice($messages, $turn === null ? 0 : $turn + 1);
$sentIn = fn (string $member) => array_merge(...array_map(fn (array $message) => $message[$member] ?? [], $later));
$sent = ['role' => end($later)['role'] ?? '', 'toolApprovalResponses' => $sentIn('toolApprovalResponses'), 'toolResults' => $sentIn('toolResults')];
$isYes = fn (array $answer) => ($answer['approved'] ?? false) === true;
$answers = [];
foreach ($sent['toolApprovalResponses'] as $answer) {
    // Of several answers to one question a "no" counts, or else the last "yes": those before it may be to what was asked before an edit.
    $before = $answers[$answer['approvalId']] ?? null;
    if ($before === null || $isYes($before) || !$isYes($answer)) {
        $answers[$answer['approvalId']] = $answer;
    }
}
$results = array_column(array_reverse($sent['toolResults']), null, 'toolCallId'); // of two outputs of one call the first counts
$person = (new FrontEnd($url, getenv('COUNTERSIGN_TOKEN')))->as(id: $user, groups: ['chat']);
$cancel = function (string $callId, string $why) use ($client): void {
    try {
        $client->cancel($callId, $why);
    } catch (ConflictException) {
        // It runs or has ended: the result says how.
    }
};
$callOf = function (string $approvalId) use ($step, $person): ?object {
    foreach ($step->recorded as $call) {
        if (($call->approval->approvalId ?? null) === $approvalId) {
            return $call;
        }
    }
    try {
        // A question that has expired may be an earlier one about a call of this message.
        return array_column($step->recorded, null, 'callId')[$person->approval($approvalId)->callId] ?? null;
    } catch (NotFoundException | InvalidRequestException) {
        return null;
    }
};
$idsOf = fn (array $requests) => array_column($requests, 'approvalId');
// What is asked now, with the other calls of a step that runs together.
$asked = $answers === [] ? [] : array_column($person->requests($idsOf($step->pendingApprovals())), null, 'approvalId');
[$refused, $denied, $stop] = [[], [], null];
foreach ($answers as $answer) {
    $approvalId = $answer['approvalId'];
    $call = $callOf($approvalId);
    if ($call === null) {
        $refused[$approvalId] = ['problem' => 'not-found']; // of no call of this message
        continue;
    }
    $isApproved = $isYes($answer);
    $areShown = !isset($asked[$approvalId]) || $asked[$approvalId]->othersDigest === ($answer['othersDigest'] ?? null);
    if ($isApproved && !$areShown && $person->isCounted($person->approval($approvalId)) !== true) {
        $refused[$approvalId] = ['problem' => 'digest-mismatch']; // it would release a call that the page did not show so
        continue;
    }
    // An approval is of what the page showed, and of nothing that comes later. A denial needs neither.
    $response = new ApprovalResponse(
        $approvalId,
        $isApproved,
        $answer['reason'] ?? null,
        digest: $answer['digest'] ?? ($isApproved ? '' : null),
        shownRevision: $isApproved ? $answer['shownRevision'] ?? 0 : null,
        // As they were when `othersDigest` was compared: the ledger refuses a "yes" after an edit since.
        shownOthersDigest: $isApproved ? ($asked[$approvalId] ?? null)?->shownOthersDigest : null,
    );
    try {
        // The key is that of the answer: a second tab, or a request that is sent again, is the same answer.
        $found = $person->respond($response, hash('sha256', "$conversation\n" . json_encode($response->body())));
        if ($isApproved && $person->isCounted($found) === false) {
            // Recorded, and ended since, such as by the edit of `by`: the page shows what is asked now.
            $refused[$approvalId] = ['problem' => 'vote-ended', 'by' => $found->proposal->proposedBy];
        }
    } catch (CountersignException $error) {
        // Such as `already-resolved`: `by` was faster.
        $refused[$approvalId] = ['problem' => $error->problem, 'by' => $error->body->respondedBy ?? null];
        $stop = $error->problem === 'stopped' ? $error->detail : $stop;
    }
    if (!$isApproved) {
        $denied[] = $call->toolCallId;
        // A "no" that did not count, or that others have outvoted by now, ends the call. Where only a reason is missing, the page asks for it,
        // until the user types on.
        $problem = $refused[$approvalId]['problem'] ?? null;
        $mayRun = in_array($client->toolCall($call->callId)->state, ['approved', 'allowed'], true);
        if ($mayRun || ($problem !== null && ($problem !== 'reason-required' || $sent['role'] === 'user'))) {
            $cancel($call->callId, 'the user said no');
        }
    }
}
foreach ($step->pendingApprovals() as $request) {
    if ($later !== [] && !isset($answers[$request->approvalId])) {
        $cancel($request->callId, 'the user did not respond, so it counts as denied');
    }
}
foreach ($step->clientCalls() as $call) {
    if (($sent['role'] ?? '') === 'user' && !isset($results[$call->toolCallId])) {
        $cancel($call->callId, 'the user went on without it');
    }
}
$step = $gate->resume($step, withheld: $denied); // runs what may run now
if ($results !== []) {
    [$outputs, $errors] = [array_column($results, 'result', 'toolCallId'), array_column($results, 'error', 'toolCallId')];
    $step = $gate->submitOutputs($step, $outputs, $errors, withheld: $denied);
}

// For the page. Where `stopReason` is null, each call has its result: give the texts of `$step->results()` to the model, which needs the arguments of an edit.
$clientCalls = array_values(array_filter($step->clientCalls(), fn (object $call) => !in_array($call->toolCallId, $denied, true)));
// As the user may see it: the agent reads its own calls with the values that are hidden from people.
$requests = array_filter($person->requests($idsOf($step->pendingApprovals())), fn (ApprovalRequest $request) => $request->state === ApprovalState::Pending);
$isEdited = fn (Result $result) => isset($step->recorded[$result->toolCallId]->originalArguments);
$textOf = fn (Result $result) => $isEdited($result) ? Result::of($person->toolCall($result->callId))->text : $result->text;
$clientCall = fn (object $call) => ['toolCallId' => $call->toolCallId, 'toolName' => $call->toolName, 'arguments' => $call->arguments];
echo json_encode([
    'toolApprovalRequests' => array_map(fn ($request) => [...$request->toArray(), 'text' => $request->text()], array_values($requests)),
    'clientCalls' => array_map($clientCall, $clientCalls),
    'toolResults' => (object) array_map($textOf, $step->results()),
    'refused' => (object) $refused,
    'stopReason' => $step->stopReason()?->value,
    'stopDetail' => $step->stopDetail() ?? $stop,
], JSON_THROW_ON_ERROR), "\n";
