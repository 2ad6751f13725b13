<?php

// Against a real server: URL, AGENT_TOKEN, WORKER_TOKEN, DESK_TOKEN (a front end with the groups support and ops), NUMBERS (cases).

use Countersign\{ApprovalRequest, ApprovalResponse, ApprovalsHandler, Approver, Client, FrontEnd, Gate, Json, StopReason, Tool, Worker};
use Countersign\Exception\{ConflictException, ForbiddenException, InvalidRequestException, StateException, UnavailableException};
use Countersign\Http\{CurlTransport, Psr18Transport};

[$url, $agentToken, $workerToken] = [getenv('URL'), getenv('AGENT_TOKEN'), getenv('WORKER_TOKEN')];
$client = new Client($url, $agentToken, $workerToken);
$desk = new FrontEnd($url, getenv('DESK_TOKEN'));
$kim = $desk->as(id: 'kim', groups: ['support'], name: 'Kim');
$run = fn () => 'php-' . bin2hex(random_bytes(6));
$ran = [];
$unlink = function (array $input) use (&$ran): string {
    $ran[] = $input['path'];
    return "deleted {$input['path']}";
};
$prompt = fn (array $input) => "Delete {$input['path']}?";
$delete = fn (mixed $needsApproval = true, array $schema = ['type' => 'object']) => new Tool('delete_file', $unlink, $needsApproval, $schema, approvalPrompt: $prompt);
$gateOf = fn (Tool ...$tools) => new Gate($client, 'php-agent', $tools);
$call = fn (string $path, string $id = 'c1') => ['toolCallId' => $id, 'toolName' => 'delete_file', 'arguments' => ['path' => $path]];

test('a call of another program with a name that begins with U+0000 stops nobody, and is run by no tool', function () use ($url, $agentToken, $client, $gateOf, $run, $kim) {
    // It is the oldest call of the agent: each gate and each list of this file meets it.
    $runId = $run();
    $poison = fn (string $id, string $asks) => "{\"toolCallId\":\"$id\",\"toolName\":\"poison\",\"arguments\":{\"a\":1,\"\\u0000x\":2}$asks}";
    $body = "{\"runId\":\"$runId\",\"calls\":[{$poison('c1', ',"needsApproval":true')},{$poison('c2', '')}]}";
    $headers = ['authorization' => "Bearer $agentToken", 'content-type' => 'application/json'];
    same(201, (new CurlTransport())->send('POST', "$url/v1/tool-calls", $headers, $body)->status);
    [$request] = array_values(array_filter([...$kim->approvals()], fn (ApprovalRequest $one) => $one->runId === $runId));
    same(true, str_starts_with($request->text(), 'poison {"a":1,"\u0000x":2}'));
    same('approved', $kim->respond(ApprovalResponse::to($request, true))->state);
    $ran = 0;
    $tool = new Tool('poison', function () use (&$ran): void { $ran++; });
    same(2, (new Worker($client, [$tool]))->work());
    [$first, $second] = $client->callsOfRun($runId);
    same([['failed', 'failed'], 0], [[$first->state, $second->state], $ran]);
    same(1, preg_match('/U\+0000/', $first->error->message));
    $own = $gateOf($tool)->step($run(), [['toolCallId' => 'c1', 'toolName' => 'poison', 'arguments' => '{"\u0000x":1}']])->results()['c1'];
    same(1, preg_match('/did not run: arguments: .*U\+0000/', $own->text));
});

test('a call waits for a person in one process, and runs once in another', function () use ($gateOf, $delete, $call, $run, $kim, &$ran) {
    $runId = $run();
    $step = $gateOf($delete())->step($runId, [$call('/etc/hosts')]);
    same([StopReason::AwaitingApproval, []], [$step->stopReason(), $step->results()]);
    [$request] = $step->pendingApprovals();
    same(['delete_file', ['path' => '/etc/hosts'], 'Delete /etc/hosts?'], [$request->toolName, $request->toolArgs, $request->description]);
    $state = json_decode(json_encode($step->toArray()), true);
    same([], $gateOf($delete())->resume($state)->results());
    same('approved', $kim->respond(ApprovalResponse::to($request, true, approvedBy: 'kim'))->state);
    foreach ([1, 2] as $_) {
        $done = $gateOf($delete())->resume($state);
        same([null, 'deleted /etc/hosts', ['support-desk#kim']], [$done->stopReason(), $done->results()['c1']->text, $done->results()['c1']->decidedBy]);
    }
    same('succeeded', $gateOf($delete())->step($runId, [$call('/etc/hosts')])->results()['c1']->status);
    same(['/etc/hosts'], $ran);
    throws(ConflictException::class, '/tool-call-mismatch/', fn () => $gateOf($delete())->step($runId, [$call('/etc/passwd')]));
});

test('a state goes on under the tools of the process that has it: what one of them asks about waits for a person', function () use ($gateOf, $delete, $call, $run, $kim, &$ran) {
    [$state, $before] = [json_decode(json_encode($gateOf($delete(false))->request($run(), [$call('/a')])->toArray()), true), $ran];
    $strict = $gateOf($delete(fn (array $input) => $input['path'] === '/a'));
    $step = $strict->resume($state);
    same([StopReason::AwaitingApproval, $before], [$step->stopReason(), $ran]);
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], true));
    same(['deleted /a', [...$before, '/a']], [$strict->resume($state)->results()['c1']->text, $ran]);
});

test('a call that is withheld does not run, and its siblings go on', function () use ($gateOf, $delete, $call, $run, $kim, &$ran) {
    [$gate, $before] = [$gateOf($delete()), $ran];
    $step = $gate->step($run(), [$call('/a', 'c1'), $call('/b', 'c2')]);
    foreach ($step->pendingApprovals() as $request) {
        $kim->respond(ApprovalResponse::to($request, true));
    }
    same(['c2'], array_keys($gate->resume($step, withheld: ['c1'])->results()));
    same([...$before, '/b'], $ran);
    same('deleted /a', $gate->resume($step)->results()['c1']->text);
});

test('a denied call does not run, an edited one runs as edited, and {} stays {}', function () use ($client, $run, $kim) {
    $seen = [];
    $search = new Tool('search', function (array $_, $execution) use (&$seen): object {
        $seen[] = Json::encode($execution->arguments);
        return (object) [];
    }, true, ['type' => 'object', 'properties' => ['filter' => ['type' => 'object'], 'tags' => ['type' => 'array']]]);
    $gate = new Gate($client, 'php-agent', [$search]);
    $calls = array_map(fn (int $n) => ['toolCallId' => "c$n", 'toolName' => 'search', 'arguments' => ['filter' => [], 'tags' => []]], [1, 2, 3]);
    $step = $gate->step($run(), $calls);
    [$first, $second, $third] = $step->pendingApprovals();
    $kim->respond(ApprovalResponse::to($first, false, 'not on a Friday'));
    $kim->respond(ApprovalResponse::to($second, true, editedArgs: ['filter' => (object) [], 'tags' => ['x']], instruction: 'be brief'));
    $kim->respond(ApprovalResponse::to($third, true));
    $results = $gate->resume($step->toArray())->results();
    same(['{"filter":{},"tags":["x"]}', '{"filter":{},"tags":[]}'], $seen);
    same('The call was denied by support-desk#kim and did not run: not on a Friday', $results['c1']->text);
    same("{}\nAn approver changed the arguments before it ran; these are the ones it ran with.\n"
        . "Arguments: {\"filter\":{},\"tags\":[\"x\"]}\nInstruction of the approver: be brief", $results['c2']->text);
    same('{}', $results['c3']->text);
});

test('each number of a model arrives exactly, or the call is refused', function () use ($client, $run) {
    $echo = new Tool('echo', fn (array $input) => $input['n'], idempotent: true);
    $gate = new Gate($client, 'php-agent', [$echo]);
    $cases = array_filter(json_decode(file_get_contents(getenv('NUMBERS'))), fn (object $case) => !isset($case->where));
    $calls = array_map(fn (object $case) => ['toolCallId' => $case->text, 'toolName' => 'echo', 'arguments' => "{\"n\":$case->text}"], $cases);
    $results = $gate->step($run(), array_values($calls))->results();
    foreach ($cases as $case) {
        same([$case->text, $case->taken ? 'succeeded' : 'failed'], [$case->text, $results[$case->text]->status]);
        if ($case->taken) {
            same((float) $case->text, (float) $results[$case->text]->output);
        }
    }
});

test('a bound beyond 2^53 in a schema does not keep a call from running', function () use ($client, $run) {
    $schema = ['type' => 'object', 'properties' => ['n' => ['type' => 'integer', 'maximum' => PHP_INT_MAX]]];
    $gate = new Gate($client, 'php-agent', [new Tool('bounded', fn () => 'ran', schema: $schema)]);
    same('ran', $gate->step($run(), [['toolCallId' => '1', 'toolName' => 'bounded', 'arguments' => ['n' => 1]]])->results()['1']->text);
});

test('one odd call does not cost its step', function () use ($gateOf, $delete, $call, $run) {
    $schema = ['type' => 'object', 'properties' => ['path' => ['type' => 'string']]];
    $step = $gateOf($delete(false, $schema))->step($run(), [
        $call('/a', 'c1'),
        ['toolCallId' => 'c2', 'toolName' => 'delete_file', 'arguments' => ['path' => 7]],
        ['toolCallId' => 'c3', 'toolName' => 'unheard_of', 'arguments' => []],
        ['toolCallId' => 'c4', 'toolName' => 'delete_file', 'arguments' => '{"path":'],
        ['toolName' => 'delete_file', 'arguments' => ['path' => '/b']],
        ['toolCallId' => 7, 'toolName' => 'delete_file', 'arguments' => ['path' => '/b']],
        ['toolCallId' => 'c7', 'arguments' => []],
        ['toolCallId' => '', 'toolName' => ['x'], 'arguments' => []],
    ]);
    $statuses = array_map(fn ($result) => $result->status, $step->results());
    $failed = array_fill_keys(['c2', 'c3', 'c4', '(call 5)', '(call 6)', 'c7', '(call 8)'], 'failed');
    same(['c1' => 'succeeded', ...$failed], $statuses);
    same(1, preg_match('/did not run: arguments.path/', $step->results()['c2']->text));
    same('The call was refused and did not run: toolCallId: a text is needed', $step->results()['(call 5)']->text);
    same('The call was refused and did not run: toolName: a text is needed', $step->results()['c7']->text);
    same(array_keys($statuses), array_keys($gateOf($delete(false, $schema))->resume($step->toArray())->results()));
});

test('a gate with two tools of one name is refused: which of them asks people would be chance', function () use ($client, $run) {
    $tool = fn (bool $needsApproval) => new Tool('pay', fn () => 'paid', $needsApproval);
    foreach ([fn (array $tools) => new Gate($client, 'php-agent', $tools), fn (array $tools) => new Worker($client, $tools)] as $open) {
        throws(InvalidArgumentException::class, '/two tools of the name pay/', fn () => $open([$tool(true), $tool(false)]));
    }
    same('awaiting_approval', (new Gate($client, 'php-agent', [$tool(true)]))->step($run(), [['toolCallId' => 'c1', 'toolName' => 'pay', 'arguments' => []]])->stopReason()?->value);
});

test('a forged state runs nothing', function () use ($gateOf, $delete, $call, $run, &$ran) {
    $before = $ran;
    $state = $gateOf($delete())->step($run(), [$call('/a')])->toArray();
    $other = $gateOf($delete())->step($run(), [$call('/b')])->toArray();
    throws(StateException::class, '/another call/', fn () => $gateOf($delete())->resume(['callIds' => $other['callIds']] + $state));
    $forged = ['asked' => ['{"toolCallId":"c1","toolName":"delete_file","arguments":{"path":"/a"}}']] + $state;
    same(StopReason::AwaitingApproval, $gateOf($delete())->resume($forged)->stopReason());
    throws(StateException::class, '/no step/', fn () => $gateOf($delete())->resume(['version' => 2] + $state));
    same($before, $ran);
});

test('a damaged state is named before anything runs', function () use ($gateOf, $delete, $call, $run, $kim, &$ran) {
    $before = $ran;
    $step = $gateOf($delete())->step($run(), [$call('/a'), $call('/b', 'c2'), ['toolCallId' => 'c3']]);
    foreach ($step->pendingApprovals() as $request) {
        $kim->respond(ApprovalResponse::to($request, true));
    }
    $state = $step->toArray();
    [$asked, $callIds] = [$state['asked'], $state['callIds']];
    $odd = [
        null, 'a text', [], ['version' => '1'] + $state, ['runId' => 7] + $state, ['agentId' => null] + $state, ['agentId' => 'other'] + $state,
        ['asked' => [], 'callIds' => []] + $state, ['callIds' => []] + $state, ['callIds' => [[], []]] + $state, ['callIds' => 'x'] + $state,
        ['asked' => [$asked[0], '{"cut']] + $state, ['asked' => ['[]', $asked[1]]] + $state, ['asked' => ['{"toolCallId":[]}', $asked[1]]] + $state,
        ['order' => ['c1']] + $state, ['order' => ['c1', 'c2', 'c3', 'c4']] + $state, ['refused' => []] + $state, ['refused' => [['c3']]] + $state, ['refused' => null] + $state,
        ['callIds' => array_reverse($callIds)] + $state, array_diff_key($state, ['order' => 0]),
    ];
    foreach ($odd as $one) {
        throws(StateException::class, '/^The state is no step: .*[^.]\. Store what `Step::toArray` returns, whole; or request /', fn () => $gateOf($delete())->resume($one));
    }
    throws(InvalidArgumentException::class, '/no tool delete_file any more/', fn () => $gateOf(new Tool('other', fn () => 1))->resume($state));
    same($before, $ran);
    same([...$before, '/a', '/b'], [$gateOf($delete())->resume($state)->stopReason(), $ran][1]);
});

test('a tool that changed since the approval does not run', function () use ($gateOf, $delete, $call, $run, $kim, &$ran) {
    $before = $ran;
    $step = $gateOf($delete())->step($run(), [$call('/a')]);
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], true));
    $result = $gateOf($delete(true, ['type' => 'object', 'title' => 'another']))->resume($step->toArray())->results()['c1'];
    same(['failed', 'tool-schema-changed', $before], [$result->status, $result->error->code, $ran]);
});

test('a call that was allowed without the approval that its worker needs waits for people', function () use ($gateOf, $delete, $client, $run, &$ran) {
    $before = $ran;
    $runId = $run();
    $client->request($runId, [['toolCallId' => 'c1', 'toolName' => 'delete_file', 'arguments' => ['path' => '/etc/x'], 'toolSchema' => ['type' => 'object']]], ['agentId' => 'php-agent']);
    same(0, (new Worker(new Client(getenv('URL'), getenv('WORKER_TOKEN')), [$delete()], 'php-agent'))->work());
    $step = $gateOf($delete())->step($runId, [['toolCallId' => 'c1', 'toolName' => 'delete_file', 'arguments' => ['path' => '/etc/x']]]);
    same([StopReason::AwaitingApproval, $before], [$step->stopReason(), $ran]);
});

test('people of a front end have one vote each, their own groups, and can be ended', function () use ($client, $run, $desk, $kim) {
    $gate = new Gate($client, 'php-agent', [new Tool('refund', fn () => 'refunded')]);
    $step = $gate->step($run(), [['toolCallId' => 'c1', 'toolName' => 'refund', 'arguments' => ['amount' => 50]]]);
    [$request] = $step->pendingApprovals();
    $lou = $desk->as(id: 'Lou Ö', groups: ['ops']);
    same('support-desk#Lou Ö', $lou->me()->principal);
    $ids = fn (Approver $person) => array_map(fn ($one) => $one->approvalId, [...$person->approvals(['mine' => true, 'limit' => 1])]);
    same(true, in_array($request->approvalId, $ids($lou), true));
    $yes = ApprovalResponse::to($request, true);
    same('pending', $kim->respond($yes)->state);
    same('already-voted', throws(ConflictException::class, '/already-voted/', fn () => $kim->respond($yes))->problem);
    throws(ForbiddenException::class, '/forbidden/', fn () => $desk->as(id: 'eve', groups: ['admins'])->respond($yes));
    throws(ForbiddenException::class, '/forbidden/', fn () => $desk->as(id: 'eve', assurance: 'medium')->me());
    same([$request->approvalId], $desk->end('kim'));
    // A vote that ends or is withdrawn makes another question: who answers looks again.
    throws(ConflictException::class, '/digest-mismatch/', fn () => $lou->respond($yes));
    $now = fn () => ApprovalResponse::to(ApprovalRequest::fromApproval($lou->approval($request->approvalId)), true);
    same('pending', $lou->respond($now())->state);
    same('pending', $lou->withdraw($request->approvalId, 'key-1')->state);
    same('pending', $lou->respond($now(), 'key-2')->state);
    // A withdrawal that comes again takes no later vote back.
    $lou->withdraw($request->approvalId, 'key-1');
    same('approved', $kim->respond($now(), 'key-3')->state);
    same('refunded', $gate->resume($step)->results()['c1']->text);
});

test('a request shows all that its approval approves', function () use ($client, $run, $desk, $url) {
    $gate = new Gate($client, 'php-agent', [new Tool('refund', fn (array $input) => $input['amount'], approvalPrompt: fn (array $input) => "Refund {$input['amount']}")]);
    $ada = $desk->as(id: 'ada', groups: ['support']);
    $ben = $desk->as(id: 'ben', groups: ['support']);
    $step = $gate->step($run(), array_map(fn (string $id) => ['toolCallId' => $id, 'toolName' => 'refund', 'arguments' => ['amount' => 5000]], ['c1', 'c2']));
    [$first, $second] = $step->pendingApprovals();
    same(['run', false, 'Refund 5000'], [$first->kind, $first->isEdited(), $first->description]);
    $ada->respond(ApprovalResponse::to($first, true, editedArgs: ['amount' => 500], instruction: "then\nask BOB"));
    same('digest-mismatch', throws(ConflictException::class, '/digest-mismatch/', fn () => $ben->respond(ApprovalResponse::to($first, true)))->problem);
    $connection = new Countersign\Connection($url, getenv('DESK_TOKEN'));
    $answer = ['decision' => ['type' => 'answer', 'output' => ['paid' => (object) []]]];
    $connection->with(headers: ['countersign-person' => 'ada', 'countersign-person-groups' => 'support'])->post("/v1/approvals/{$second->approvalId}/responses", $answer);
    same('{"paid":{}}', json_encode($ben->revealAll($second->approvalId)->output));
    [$edited, $answered] = $gate->resume($step->toArray())->pendingApprovals();
    $own = "The agent's own words (untrusted: judge by the arguments above):\nDescription: \"Refund 5000\"";
    same("refund {\"amount\":500}\nEdited by support-desk#ada\nRequested by agent, as the agent php-agent\n"
        . "Instruction of support-desk#ada to the agent: \"then\\nask BOB\"\nApproved by support-desk#ada. Still needed: 1 of support, ops\n$own", $edited->text());
    same("refund {\"amount\":5000}\nAnswered by support-desk#ada, and the tool does not run\nRequested by agent, as the agent php-agent\n"
        . "Answer of support-desk#ada in place of the tool, which does not run: {\"paid\":{}}\nApproved by support-desk#ada. Still needed: 1 of support, ops\n$own", $answered->text());
    foreach ([$edited, $answered] as $request) {
        $again = ApprovalRequest::fromArray(json_decode(json_encode($request->toArray()), true));
        same([$request->text(), $request->toArray()], [$again->text(), $again->toArray()]);
        same('approved', $ben->respond(ApprovalResponse::to($again, true))->state);
    }
    ['c1' => $ran, 'c2' => $notRun] = $gate->resume($step->toArray())->results();
    same([500, "{\"paid\":{}}\nA person gave this output; the tool did not run."], [$ran->output, $notRun->text]);
    same([['support-desk#ada', 'support-desk#ben'], "then\nask BOB"], [$ran->decidedBy, $ran->instruction]);
});

test('the user\'s client executes a call, and submits its output', function () use ($client, $run, $kim) {
    $gate = new Gate($client, 'php-agent', [new Tool('ask_location', null), new Tool('ask_contact', null, true)]);
    $call = fn (string $id, string $name) => ['toolCallId' => $id, 'toolName' => $name, 'arguments' => []];
    $calls = [$call('c1', 'ask_location'), $call('c2', 'ask_location'), $call('c3', 'ask_contact')];
    $step = $gate->step($runId = $run(), $calls);
    $waiting = fn ($step) => array_map(fn ($call) => $call->toolCallId, $step->clientCalls());
    same([['c1', 'c2'], StopReason::AwaitingApproval], [$waiting($step), $step->stopReason()]);
    // A browser may send an output too early, for another call, or twice.
    $sent = ['c1' => ['city' => 'Bern'], 'c3' => 'too early', 'c4' => 'none'];
    $stale = $step;
    $step = $gate->submitOutputs($step, $sent, ['c2' => 'the user said no']);
    same([[], ['c1' => '{"city":"Bern"}', 'c2' => 'the user said no']], [$waiting($step), array_map(fn ($result) => $result->text, $step->results())]);
    same(['succeeded', 'failed'], array_column($gate->submitOutputs($stale, ['c1' => 'other', 'c2' => 'other'])->results(), 'status'));
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], true));
    $step = $gate->resume($step);
    same([['c3'], StopReason::AwaitingClient], [$waiting($step), $step->stopReason()]);
    $client->submitOutput($step->clientCalls()[0]->callId, 'kim@example.com');
    same([null, 'kim@example.com'], [$gate->resume($step)->stopReason(), $gate->resume($step->toArray())->results()['c3']->text]);
});

test('a worker runs what is approved, and its tool can extend the lease', function () use ($client, $url, $workerToken, $run) {
    $send = new Tool('send', function (array $input, $execution): array {
        $execution->keepAlive();
        return [$input['to'], $execution->idempotencyKey !== ''];
    }, fn (array $input) => $input['to'] !== 'kim');
    $runId = $run();
    $client->request($runId, [['toolCallId' => 'c1', 'toolName' => 'send', 'arguments' => ['to' => 'kim']]]);
    $worker = new Worker(new Client($url, $workerToken), [$send]);
    same([1, 0], [$worker->work(), $worker->work()]);
    same(['kim', true], $client->callsOfRun($runId)[0]->output);
    same([], $client->callsOfRun('no such run'));
});

test('a PSR-18 client sends the same requests', function () use ($url, $agentToken, $workerToken, $run) {
    require_once '/usr/share/php/GuzzleHttp/autoload.php';
    $factory = new GuzzleHttp\Psr7\HttpFactory();
    $transport = fn (array $more = []) => new Psr18Transport(new GuzzleHttp\Client(['timeout' => 60, ...$more]), $factory, $factory);
    $client = new Client($url, $agentToken, $workerToken, $transport());
    $gate = new Gate($client, 'php-agent', [new Tool('ping', fn () => 'pong')]);
    same('pong', $gate->step($run(), [['toolCallId' => 'c1', 'toolName' => 'ping', 'arguments' => []]])->results()['c1']->text);
    $away = new Client('http://127.0.0.1:9', $agentToken, null, $transport(['timeout' => 2]), 1);
    throws(UnavailableException::class, '/^unreachable: .*Is Countersign running there/', fn () => $away->callsOfRun('x'));
});

test('a wrong request names its members, and a server that is away is named', function () use ($client, $agentToken) {
    $error = throws(InvalidRequestException::class, '/invalid-request/', fn () => $client->request('r', [['toolCallId' => 'c', 'toolName' => '', 'arguments' => []]]));
    same(['calls.0.toolName', 400], [$error->errors[0]->path, $error->status]);
    same(1, preg_match('~^http://127.*/problems/invalid-request$~', $error->remedy));
    $away = new Client('http://127.0.0.1:9', $agentToken, null, new CurlTransport(2000), 2);
    throws(UnavailableException::class, '/^unreachable/', fn () => $away->callsOfRun('x'));
});

test('a token of the agent that may not claim is refused before a person is asked', function () use ($url, $agentToken, $delete, $call, $run, $client) {
    $runId = $run();
    $gate = new Gate(new Client($url, $agentToken), 'php-agent', [$delete()]);
    throws(ForbiddenException::class, '/forbidden/', fn () => $gate->step($runId, [$call('/a')]));
    same([], $client->callsOfRun($runId));
});

test('a card of a bot has the content, and what its buttons stand for', function () use ($gateOf, $delete, $call, $run, $kim) {
    [$request] = $gateOf($delete())->step($run(), [$call('/card')])->pendingApprovals();
    $card = $kim->card($request->approvalId, 'telegram');
    same(1, preg_match('~/card~', $card->card->text));
    same(true, in_array('approve', array_map(fn (object $press) => $press->decision, $card->presses), true));
    same('pending', $kim->card($request->approvalId)->state);
});

test('the pages of an application list, read and decide in the name of the person of its session', function () use ($url, $kim, $gateOf, $delete, $call, $run) {
    require_once '/usr/share/php/GuzzleHttp/autoload.php';
    if (!interface_exists('Psr\\Http\\Server\\RequestHandlerInterface')) {
        // As in psr/http-server-handler, which the system may not have.
        eval('namespace Psr\\Http\\Server; interface RequestHandlerInterface {
            public function handle(\\Psr\\Http\\Message\\ServerRequestInterface $request): \\Psr\\Http\\Message\\ResponseInterface; }');
    }
    $factory = new GuzzleHttp\Psr7\HttpFactory();
    $handlerOf = fn (?Approver $person, ?array $origins = null) => new ApprovalsHandler(fn () => $person, $factory, $factory, $origins);
    $send = function (ApprovalsHandler $handler, string $method, string $path, array $headers = [], string $body = '') {
        $answer = $handler->handle(new GuzzleHttp\Psr7\ServerRequest($method, "https://desk.example/api/v1/countersign$path", $headers, $body));
        same(['no-store', 'nosniff'], [$answer->getHeaderLine('cache-control'), $answer->getHeaderLine('x-content-type-options')]);
        return [$answer->getStatusCode(), json_decode((string) $answer->getBody())];
    };
    $runId = $run();
    [$request] = $gateOf($delete())->step($runId, [$call('/page')])->pendingApprovals();
    $handler = $handlerOf($kim);
    $page = ['sec-fetch-site' => 'same-origin', 'content-type' => 'application/json', 'countersign-person' => 'mallory'];
    $path = "/v1/approvals/{$request->approvalId}";

    [$status, $list] = $send($handler, 'GET', "/v1/approvals?runId=$runId&mine=true&values=clear&label.a=b");
    same([200, $request->approvalId], [$status, $list->approvals[0]->approvalId]);
    same('pending', $send($handler, 'GET', $path)[1]->state);
    same('support-desk#kim', $send($handler, 'GET', '/v1/me')[1]->principal);

    $deny = json_encode(['decision' => ['type' => 'deny']]);
    same(404, $send($handler, 'GET', '/v1/audit/events')[0]);
    same(404, $send($handler, 'POST', $path, $page, $deny)[0]);
    same(404, $send($handler, 'GET', "$path/../../grants")[0]);
    same(401, $send($handlerOf(null), 'GET', $path)[0]);
    foreach ([['sec-fetch-site' => 'same-site'], ['origin' => 'https://evil.example'], []] as $foreign) {
        same(403, $send($handler, 'POST', "$path/responses", [...$foreign, 'content-type' => 'application/json'], $deny)[0]);
    }
    same(403, $send($handlerOf($kim, ['https://desk.example']), 'POST', "$path/responses", [...$page, 'origin' => 'https://other.example'], $deny)[0]);
    same(415, $send($handler, 'POST', "$path/responses", [...$page, 'content-type' => 'text/plain'], $deny)[0]);
    same(415, $send($handler, 'POST', "$path/responses", $page, str_repeat(' ', 2 ** 20 + 1))[0]);
    $away = (new FrontEnd('http://127.0.0.1:9', 'x', new CurlTransport(1000)))->as(id: 'kim');
    same([502, 'unreachable'], [$send($handlerOf($away), 'GET', $path)[0], $send($handlerOf($away), 'GET', $path)[1]->code]);
    $unknown = (new FrontEnd($url, 'no-token'))->as(id: 'kim');
    same(502, $send($handlerOf($unknown), 'GET', $path)[0]);

    [$status, $denied] = $send($handler, 'POST', "$path/responses", $page, $deny);
    same([200, 'denied', 'support-desk#kim'], [$status, $denied->state, $denied->responses[0]->respondedBy]);
    same(409, $send($handler, 'POST', "$path/responses", ['origin' => 'https://desk.example', 'content-type' => 'application/json; charset=utf-8'], $deny)[0]);
});

test('a call under a stop waits by itself: its step says so, and workers go on with the others', function () use ($url, $client, $run) {
    $ran = [];
    $tool = new Tool('halted', function (array $input) use (&$ran): string {
        $ran[] = $input['of'];
        return 'done';
    });
    $other = new Tool('going', fn () => 'done');
    $gates = array_map(fn (string $agent) => new Gate($client, $agent, [$tool, $other]), ['bad' => 'bad-agent', 'good' => 'good-agent']);
    $call = fn (string $id, string $name, string $of) => ['toolCallId' => $id, 'toolName' => $name, 'arguments' => ['of' => $of]];
    [$bad, $good] = [$gates['bad']->request($run(), [$call('c1', 'halted', 'bad'), $call('c2', 'going', 'bad')]), $gates['good']->request($run(), [$call('c1', 'halted', 'good')])];
    $admin = new Countersign\Connection($url, getenv('ADMIN_TOKEN'));
    $stop = $admin->post('/v1/stops', ['agentId' => 'bad-agent', 'toolName' => 'halted', 'reason' => 'it runs wild']);
    same(1, (new Worker($client, [$tool]))->work());
    $step = $gates['bad']->resume($bad);
    same([['good'], ['c2'], StopReason::Stopped], [$ran, array_keys($step->results()), $step->stopReason()]);
    same(1, preg_match('/it runs wild/', $step->stopDetail()));
    throws(ConflictException::class, '/^stopped/', fn () => $gates['bad']->request($run(), [$call('c1', 'halted', 'bad')]));
    $asking = new Gate($client, 'bad-agent', [new Tool('halted', fn () => 'done', true), $other]);
    same(StopReason::Stopped, $asking->resume($bad->toArray())->stopReason());
    $admin->post("/v1/stops/{$stop->stop->stopId}/lift", ['reason' => 'it is mended']);
    $step = $gates['bad']->resume($bad);
    same([['good', 'bad'], null, null], [$ran, $step->stopReason(), $step->stopDetail()]);
});

test('sequential calls are asked about one after another', function () use ($gateOf, $delete, $call, $run, $kim) {
    $gate = $gateOf($delete());
    $step = $gate->step($run(), [$call('/one', 'c1'), $call('/two', 'c2')], batch: ['batchMode' => 'sequential']);
    $asked = fn ($step) => array_map(fn ($request) => $request->toolCallId, $step->pendingApprovals());
    same([['c1'], StopReason::AwaitingApproval], [$asked($step), $step->stopReason()]);
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], true));
    for ($tries = 0; $asked($step = $gate->resume($step->toArray())) === [] && $tries < 50; $tries++) {
        usleep(100_000);
    }
    same([['c2'], 'deleted /one'], [$asked($step), $step->results()['c1']->text]);
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], false));
    same('denied', $gate->resume($step->toArray())->results()['c2']->status);
});
