<?php

use Countersign\{ApprovalRequest, ApprovalResponse, ApprovalState, Connection, FrontEnd, Json, Result, Tool, ApprovalContext, Webhook};
use Countersign\Exception\{ConflictException, CountersignException, ExpiredException, ForbiddenException, StateException, WebhookException};

test('a request and a response survive an array and JSON', function () {
    $request = new ApprovalRequest('apr_1', 'call_1', 'delete_file', ['path' => '/x'], 'Delete /x', new DateTimeImmutable('2026-01-02T03:04:05.678Z'), digest: 'sha256:1');
    $again = ApprovalRequest::fromArray(json_decode(json_encode($request->toArray()), true));
    same($request->toArray(), $again->toArray());
    same([ApprovalState::Pending, '2026-01-02T03:04:05.678Z', null], [$again->state, $again->toArray()['requestedAt'], $again->expiresAt]);
    $own = "The agent's own words (untrusted: judge by the arguments above):";
    same("delete_file {}\n$own\nDescription: \"Delete /x\"", $request->text());
    $unnamed = ApprovalRequest::fromArray(['description' => 'delete_file {}', 'reason' => "odd\npath"] + $request->toArray());
    same("delete_file {}\n$own\nReason: \"odd\\npath\"", $unnamed->text());
    $response = ApprovalResponse::to($request, approved: false, reason: 'User denied', approvedBy: 'kim');
    same($response->toArray(), ApprovalResponse::fromArray(json_decode(json_encode($response->toArray()), true))->toArray());
    same(['decision' => ['type' => 'deny'], 'reason' => 'User denied', 'shownDigest' => 'sha256:1'], $response->body());
    $other = ['callId' => 'tc_2', 'toolCallId' => 'b', 'toolName' => 'pay', 'argumentsJson' => '{"x":666}', 'answerJson' => null, 'state' => 'approved'];
    $others = [[...$other, 'labels' => [], 'approvedBy' => ['ann'], 'instructions' => [], 'digest' => 'sha256:3']];
    $seen = ApprovalRequest::fromArray(['shownRevision' => 3, 'shownOthersDigest' => 'sha256:2', 'others' => $others] + $request->toArray());
    $yes = ApprovalResponse::fromArray(json_decode(json_encode(ApprovalResponse::to($seen, true)->toArray()), true));
    same(['decision' => ['type' => 'approve'], 'shownDigest' => 'sha256:1', 'shownRevision' => 3, 'shownOthersDigest' => 'sha256:2'], $yes->body());
    $no = ApprovalResponse::to($seen, false);
    same([null, null], [$no->shownRevision, $no->shownOthersDigest]);
    foreach (['{"filter":{}}', (object) ['filter' => (object) []]] as $edited) {
        $edit = ApprovalResponse::to($request, true, editedArgs: $edited);
        $again = ApprovalResponse::fromArray(json_decode(json_encode($edit->toArray()), true));
        same(['{"filter":{}}', '{"filter":{}}'], array_map(fn ($one) => Json::encode($one->body()['decision']['arguments']), [$edit, $again]));
    }
});

test('a stored request or response that is damaged is named, with what helps', function () {
    $request = (new ApprovalRequest('apr_1', 'call_1', 'list', [], 'List', new DateTimeImmutable('2026-01-02T03:04:05.678Z')))->toArray();
    $response = (new ApprovalResponse('apr_1', true))->toArray();
    $odd = [
        [ApprovalRequest::fromArray(...), [[], ['requestedAt' => 'soon?'] + $request, ['state' => 'odd'] + $request, ['toolArgs' => null] + $request, ['more' => 1] + $request, [1, 2]]],
        [ApprovalResponse::fromArray(...), [[], ['approved' => 'yes'] + $response, ['respondedAt' => []] + $response, ['approved' => false, 'editedArgs' => []] + $response]],
    ];
    foreach ($odd as [$read, $states]) {
        foreach ($states as $state) {
            throws(StateException::class, '/^The state is no re\w+: .*[^.]\. Store what `Approval\w+::toArray` returns, whole; or .*\.$/', fn () => $read($state));
        }
    }
});

test('letters and signs that only look like those of ASCII are marked, by the rule of the ledger\'s own cards', function () {
    foreach (json_decode(file_get_contents(getenv('LOOK_ALIKES')), true) as ['text' => $text, 'shown' => $shown]) {
        same($shown, Countersign\Visible::line($text));
    }
});

test('the text of a request says where, for whom and inside what the call runs, and shows every character', function () {
    $read = fn (array $more, array $proposal = []) => ApprovalRequest::fromApproval(Json::decode(Json::encode([
        ...['approvalId' => 'apr_1', 'toolCallId' => 'c1', 'toolName' => 'sh', 'arguments' => ['command' => "rm -rf \u{202E}\u{200B}dist/"]],
        ...['requestedAt' => '2026-01-02T03:04:05.678Z', 'state' => 'pending', 'shownDigest' => 'sha256:1', 'instructions' => [], 'progress' => []],
        ...['agentId' => 'deployer', 'requestedBy' => 'ci', 'onBehalfOf' => 'ann', 'labels' => ['cwd' => '/srv/staging', 'mcpServer' => "fi\u{2028}les"]],
        ...['chain' => [['toolName' => 'release', 'agentId' => 'planner'], ['toolName' => 'step', 'agentId' => 'runner']], 'hiddenValues' => [['pointer' => '/env/TOKEN', 'why' => 'name']]],
        ...$more,
        'proposal' => ['kind' => 'run', 'output' => null, 'proposedBy' => 'ci', 'replaces' => null, ...$proposal],
    ])));
    $shown = [
        'sh {"command":"rm -rf ⟦U+202E⟧⟦U+200B⟧dist/"}',
        'Requested by ci, as the agent deployer, on behalf of ann',
        'Inside release of planner, step of runner',
        'Labels: {"cwd":"/srv/staging","mcpServer":"fi⟦U+2028⟧les"}',
        '1 value is hidden from you: /env/TOKEN',
    ];
    same(implode("\n", $shown), $read([])->text());
    same($read([])->text(), ApprovalRequest::fromArray(json_decode(json_encode($read([])->toArray()), true))->text());
    $other = $read(['labels' => ['cwd' => '/srv/production', 'mcpServer' => "fi\u{2028}les"]]);
    same(true, $other->text() !== $read([])->text());
    $edited = $read([], ['proposedBy' => 'ada', 'replaces' => 1]);
    same([$shown[0], 'Edited by ada', ...array_slice($shown, 1), true], [...explode("\n", $edited->text()), $edited->isEdited()]);
    // The edit was withdrawn: the request of the agent is asked about again.
    $again = $read(['description' => 'Clean up'], ['replaces' => 2]);
    $own = "The agent's own words (untrusted: judge by the arguments above):";
    $lines = [$shown[0], 'An edit or an answer before was not approved', ...array_slice($shown, 1), $own, 'Description: "Clean up"'];
    same([...$lines, false], [...explode("\n", $again->text()), $again->isEdited()]);
    same('An edit or an answer before was not approved. The agent\'s words about its request: "Clean up"', $again->description);
    $answer = $read(['hiddenValues' => []], ['kind' => 'answer', 'output' => ['a' => 1], 'hiddenValues' => [['pointer' => '/p', 'why' => 'name'], ['pointer' => '/q', 'why' => 'name']]]);
    same(true, str_contains($answer->text(), "\n2 values are hidden from you: /p of the answer, /q of the answer\n"));
    $plain = ['agentId' => 'ci', 'onBehalfOf' => null, 'labels' => (object) [], 'chain' => [], 'hiddenValues' => []];
    $spoof = $read([...$plain, 'description' => "list {\"path\":\"/tmp\"}\nApproved by alice. Still needed: 0\u{3164}⟦U+0041⟧" . str_repeat(' ', 8) . 'x']);
    $quoted = 'Description: "list {\"path\":\"/tmp\"}\nApproved by alice. Still needed: 0⟦U+3164⟧⟦U+27E6⟧U+0041⟧⟦8 spaces⟧x"';
    same([$shown[0], 'Requested by ci', $own, $quoted], explode("\n", $spoof->text()));
    // Stored by an earlier version of the package: who wrote its description is not known.
    $stored = ['description' => 'Edited by kim. The first request was: list'] + array_diff_key($read($plain)->toArray(), ['agentDescription' => 0]);
    same([$own, 'Description: "Edited by kim. The first request was: list"'], array_slice(explode("\n", ApprovalRequest::fromArray($stored)->text()), -2));
    $named = $read([...$plain, 'toolName' => "list {}. Approved by alice", 'agentId' => 'a, Approved by alice', 'onBehalfOf' => "ann；\u{200B}x", 'chain' => [['toolName' => '', 'agentId' => "o'neil"]], 'hiddenValues' => [['pointer' => '/k, Approved by alice', 'why' => 'name']]]);
    $names = ['Requested by ci, as the agent "a, Approved by alice", on behalf of "ann；⟦U+200B⟧x"', 'Inside "" of o\'neil', '1 value is hidden from you: "/k, Approved by alice"'];
    same(['"list {}. Approved by alice" {"command":"rm -rf ⟦U+202E⟧⟦U+200B⟧dist/"}', ...$names], explode("\n", $named->text()));
});

test('a result names an answer that two people agreed to, and the people whose votes count', function () {
    $vote = fn (string $type, string $by, bool $counted = true) => (object) ['decision' => (object) ['type' => $type], 'respondedBy' => $by, 'counted' => $counted];
    $result = fn (string $kind, object ...$votes) => Result::of((object) [
        ...['toolCallId' => 'c1', 'toolName' => 'pay', 'callId' => 'tc_1', 'state' => 'succeeded', 'arguments' => (object) [], 'output' => 'paid'],
        'approval' => (object) ['proposal' => (object) ['kind' => $kind], 'responses' => $votes],
    ]);
    $answered = $result('answer', $vote('answer', 'ada'), $vote('approve', 'ben'));
    same(["paid\nA person gave this output; the tool did not run.", ['ada', 'ben']], [$answered->text, $answered->decidedBy]);
    $edited = $result('run', $vote('answer', 'cleo', false), $vote('edit', 'ada', false), $vote('edit', 'ada'), $vote('approve', 'ben'));
    same(['paid', ['ada', 'ben']], [$edited->text, $edited->decidedBy]);
});

test('a result without a success is never told in an empty text', function () {
    $reason = fn (string $state, mixed $error, array $more = []) => Result::of((object) [
        ...['toolCallId' => 'c1', 'toolName' => 'pay', 'callId' => 'tc_1', 'state' => $state, 'arguments' => (object) [], 'error' => $error],
        ...$more,
    ])->reason;
    foreach ([null, '', ' ', (object) ['message' => '']] as $error) {
        same(['the tool failed', 'it was cancelled'], [$reason('failed', $error), $reason('cancelled', $error)]);
    }
    same(['no', '{"status":500}'], [$reason('failed', 'no'), $reason('failed', (object) ['status' => 500])]);
    same('rule never', $reason('blocked', null, ['verdict' => (object) ['ruleId' => 'never', 'why' => []]]));
    $denials = array_map(fn (string $why) => (object) ['decision' => (object) ['type' => 'deny'], 'respondedBy' => 'ada', 'counted' => true, 'reason' => $why], ['0', ' ']);
    same('0', $reason('denied', null, ['approval' => (object) ['responses' => $denials]]));
});

test('a request whose step has calls that nobody has read says so, and cannot be approved', function () {
    $data = ['approvalId' => 'apr_1', 'toolCallId' => 'c1', 'toolName' => 'pay', 'toolArgs' => [], 'description' => 'pay {}'];
    $request = ApprovalRequest::fromArray([...$data, 'requestedAt' => '2026-01-02T03:04:05.678Z', 'shownOthersDigest' => 'sha256:2']);
    same("pay {}\nAll or nothing: other calls of this step run with the last approval, and are not shown here. Read the whole before you decide.", $request->text());
    throws(InvalidArgumentException::class, '/other calls of this step/', fn () => ApprovalResponse::to($request, true));
    same(['type' => 'deny'], ApprovalResponse::to($request, false)->body()['decision']);
});

test('a response of one person is not sent in the name of another', function () {
    $kim = (new FrontEnd('http://127.0.0.1:9', 'token'))->as(id: 'kim');
    throws(InvalidArgumentException::class, '/approvedBy/', fn () => $kim->respond(new ApprovalResponse('apr_1', true, approvedBy: 'lou')));
    throws(InvalidArgumentException::class, '/^id/', fn () => (new FrontEnd('http://127.0.0.1:9', 'token'))->as(id: ''));
});

test('needsApproval is a bool or a function, and a function that fails asks', function () {
    $asks = function (mixed $needsApproval, array $arguments = ['path' => '/etc/hosts']): array {
        $call = (new Tool('write', fn () => null, $needsApproval))->call($arguments, new ApprovalContext('run', 'c1', messages: ['m']));
        return [$call['needsApproval'] ?? false, $call['reason'] ?? null];
    };
    $system = fn (array $input, ApprovalContext $context) => str_starts_with($input['path'], '/etc/') && $context->messages === ['m'];
    same([true, null], $asks(true));
    same([false, null], $asks(false));
    same([true, null], $asks($system));
    same([false, null], $asks($system, ['path' => '/tmp/x']));
    same([true, 'The check of write returned no bool, so a person must agree.'], $asks(fn () => 0));
    same([true, 'The check of write failed (broken), so a person must agree.'], $asks(fn () => throw new Exception('broken')));
});

test('a needsApproval function in which PHP raises anything asks, and error handling stays as it was', function () {
    $judged = function (callable $needsApproval, array $arguments = []): array {
        $call = (new Tool('pay', fn () => null, $needsApproval, approvalPrompt: fn (array $input) => "Pay {$input['amount']}"))
            ->call($arguments, new ApprovalContext('run', 'c1'));
        return [$call['needsApproval'] ?? false, $call['reason'] ?? null, $call['description'] ?? null];
    };
    $asks = fn (string $why) => [true, "The check of pay failed ($why), so a person must agree.", null];
    [$seen, $log] = [[], tempnam(sys_get_temp_dir(), 'log')];
    $handlers = [
        null,
        function (int $level, string $message) use (&$seen): bool {
            $seen[] = $message;
            return true;
        },
        fn (int $level, string $message) => throw new ErrorException($message),
    ];
    foreach ($handlers as $handler) {
        set_error_handler($handler);
        $settings = ['display_errors' => ini_set('display_errors', '1'), 'error_log' => ini_set('error_log', $log)];
        ob_start();
        try {
            same($asks('Undefined array key "amount"'), $judged(fn (array $input) => $input['amount'] > 1000));
            same($asks('Undefined array key "amount"'), $judged(fn (array $input) => @$input['amount'] > 1000));
            same($asks('old'), $judged(fn () => trigger_error('old', E_USER_DEPRECATED) && false));
            same($asks('broken'), $judged(fn () => throw new Exception('broken')));
            same($asks('mine'), $judged(fn () => [set_error_handler(fn () => true), throw new Exception('mine')]));
            same($asks('Exception'), $judged(fn () => throw new Exception()));
            same($asks("a\u{FFFD}b"), $judged(fn () => throw new Exception("a\xFFb")));
            same($asks('error handlers were left or taken away'), $judged(fn () => restore_error_handler() && false));
            same($asks('error handlers were left or taken away'), $judged(fn () => set_error_handler(fn () => true) && false));
            $inner = fn () => $judged(fn (array $input) => $input['amount'] > 1000)[0] && false;
            same($asks('Undefined array key "amount"'), $judged($inner));
            same([false, null, 'Pay 5'], $judged(fn (array $input) => $input['amount'] > 1000, ['amount' => 5]));
            same($handler, set_error_handler(null));
            restore_error_handler();
        } finally {
            // A warning that became a question does not break the page that asks.
            $printed = ob_get_clean();
            array_map(ini_set(...), array_keys($settings), $settings);
            restore_error_handler();
        }
        same('', $printed);
    }
    same('Undefined array key "amount"', $seen[0]);
    same(1, preg_match('/Undefined array key "amount" in .*data.php on line \d+/', file_get_contents($log)));
    unlink($log);
});

test('a problem becomes the exception of its status', function () {
    $of = fn (int $status, string $code) => CountersignException::of($status, (object) ['code' => $code, 'detail' => 'why', 'type' => "/problems/$code"], 'http://x');
    same([ConflictException::class, ForbiddenException::class, ExpiredException::class], array_map(get_class(...), [$of(409, 'already-voted'), $of(403, 'own-request'), $of(410, 'expired')]));
    $error = $of(409, 'already-voted');
    same(['already-voted', 'why', 'http://x/problems/already-voted', 409], [$error->problem, $error->detail, $error->remedy, $error->getCode()]);
});

test('an address or a token that cannot be sent is refused, without telling it', function () {
    foreach (['127.0.0.1:7400', 'ftp://x', 'http://me:secret@x'] as $url) {
        $error = throws(InvalidArgumentException::class, '/^url: /', fn () => new Connection($url, 'token'));
        same(false, str_contains($error->getMessage(), 'secret'));
    }
    foreach (['', "secret\n", 'sécret'] as $token) {
        $error = throws(InvalidArgumentException::class, '/^token: .*Copy it again/', fn () => new Connection('http://x', $token));
        same(false, str_contains($error->getMessage(), 'cret'));
    }
});

$signed = function (string $key, string $body, int $at, string $id = 'msg_1'): array {
    $signature = base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
    return ['Webhook-Id' => $id, 'WEBHOOK-TIMESTAMP' => (string) $at, 'webhook-signature' => ["v1a,other v1,$signature"]];
};

test('a webhook is verified with the secret of the channels file', function () use ($signed) {
    $cases = json_decode(file_get_contents(getenv('WEBHOOK_SECRETS')));
    foreach ($cases as $case) {
        if ($case->right !== 'verifies') {
            throws(InvalidArgumentException::class, '/whsec_/', fn () => new Webhook($case->secret));
            continue;
        }
        foreach ($case->receivers ?? [$case->secret] as $secret) {
            $headers = $signed(base64_decode(substr($secret, 6)), '{"type":"approval.requested","data":{}}', time());
            same('approval.requested', (new Webhook($case->secret))->verify('{"type":"approval.requested","data":{}}', $headers)->type);
        }
    }
});

test('a forged, changed or old message is refused', function () use ($signed) {
    $webhook = new Webhook('whsec_' . base64_encode(str_repeat('k', 24)));
    [$key, $body, $now] = [str_repeat('k', 24), '{"type":"approval.requested"}', 1_800_000_000];
    $refused = fn (string $body, array $headers, string $why) => throws(WebhookException::class, $why, fn () => $webhook->verify($body, $headers, $now));
    same('approval.requested', $webhook->verify($body, $signed($key, $body, $now - 299), $now)->type);
    $refused($body, $signed(str_repeat('x', 24), $body, $now), '/No signature/');
    $refused("$body ", $signed($key, $body, $now), '/No signature/');
    $refused($body, ['webhook-id' => 'msg_2'] + $signed($key, $body, $now, 'msg_1'), '/No signature|no header/');
    $refused($body, $signed($key, $body, $now - 301), '/five minutes/');
    $refused($body, $signed($key, $body, $now + 301), '/five minutes/');
    $refused($body, [...$signed($key, $body, $now), 'WEBHOOK-TIMESTAMP' => '1e9'], '/five minutes/');
    $refused($body, [], '/no header webhook-id/');
    $refused('[]', $signed($key, '[]', $now), '/no JSON object/');
});

/** A transport that gives these answers, one after another, and keeps what was sent. */
final class Scripted implements Countersign\Http\Transport
{
    public array $sent = [];

    public function __construct(private array $answers)
    {
    }

    public function send(string $method, string $url, array $headers, ?string $body): Countersign\Http\Answer
    {
        $this->sent[] = $headers['idempotency-key'] ?? null;
        $answer = array_shift($this->answers);
        return $answer instanceof Closure ? $answer() : new Countersign\Http\Answer(...$answer);
    }
}

test('a request without an answer is sent again under its key, and a page of a proxy is no answer', function () {
    $lost = fn () => throw new Countersign\Http\TransportException('reset');
    $script = new Scripted([$lost, [503, [], '<html>'], [200, [], '{"calls":[]}']]);
    same([], (new Countersign\Client('http://x', 'token', null, $script))->request('run', []));
    same([3, 1], [count($script->sent), count(array_unique($script->sent))]);
    $hostile = [
        [200, [], '<html>'],
        [200, [], '[]'],
        [200, [], '{}'],
        [200, ['content-encoding' => 'gzip'], '{"calls":[]}'],
        [302, ['location' => 'http://evil'], ''],
    ];
    foreach ($hostile as $answer) {
        $client = new Countersign\Client('http://x', 'token', null, new Scripted([$answer]));
        throws(Countersign\Exception\UnreadableException::class, '/^unreadable/', fn () => $client->request('run', []));
    }
});
