<?php

// What a model may send in place of arguments, and a wait for another process. Against a real server, with the variables of server.php.

use Countersign\{ApprovalResponse, Client, FrontEnd, Gate, StopReason, Tool, Worker};

require_once __DIR__ . '/../examples/adapter.php';

$client = new Client(getenv('URL'), getenv('AGENT_TOKEN'), getenv('WORKER_TOKEN'));
$kim = (new FrontEnd(getenv('URL'), getenv('DESK_TOKEN')))->as(id: 'kim', groups: ['support']);
$run = fn () => 'php-' . bin2hex(random_bytes(6));
/** A tool as that of instructor-php. */
$source = new class () {
    public array $ran = [];

    public function name(): string
    {
        return 'write_file';
    }

    public function use(string $path = '/tmp/x', string $content = ''): string
    {
        $this->ran[] = $path;
        return "wrote $path";
    }

    public function needsApproval(): callable
    {
        return fn (array $input): bool => str_starts_with($input['path'] ?? '', '/etc/');
    }

    public function approvalPrompt(array $input): string
    {
        return "Write {$input['path']}";
    }
};

test('a name that PHP would hand over by its place is refused, and so are arguments that are no object', function () use ($client, $kim, $run, $source) {
    $strings = ['path' => ['type' => 'string'], 'content' => ['type' => 'string']];
    $tools = [
        new Tool('spread', fn (array $input) => $source->use(...$input), $source->needsApproval()),
        new Tool('numbers', fn (array $input) => array_keys($input), schema: ['type' => 'object', 'properties' => ['0' => ['type' => 'string']], 'patternProperties' => ['^7.$' => []]]),
        new Tool('asked', fn (array $input) => $source->use(...$input), true),
        gated($source, ['type' => 'object', 'properties' => $strings]),
    ];
    $asked = [
        ['spread', '{"0":"/etc/shadow"}'],
        ['spread', ['5' => '/etc/shadow', '9' => 'root']],
        ['spread', '{"path":"/tmp/a","-1":"/etc/shadow"}'],
        ['spread', '["/etc/shadow"]'],
        ['spread', null],
        ['spread', 5],
        ['spread', true],
        ['write_file', '{"0":"/etc/shadow"}'],
        ['write_file', '{"path":"/tmp/a","mode":"0777"}'],
        ['numbers', '{"1":"a"}'],
        ['numbers', '{"0":"a","77":"b"}'],
        ['write_file', '{"path":"/tmp/a"}'],
        ['spread', '{"path":"/tmp/b"}'],
        ['asked', '{"path":"/tmp/c"}'],
    ];
    $calls = array_map(fn (int $n, array $one) => ['toolCallId' => "c$n", 'toolName' => $one[0], 'arguments' => $one[1]], array_keys($asked), $asked);
    $calls[] = ['toolCallId' => 'c14', 'toolName' => 'spread'];
    $gate = new Gate($client, 'php-agent', $tools);
    $step = $gate->step($runId = $run(), $calls);
    $results = $step->results();
    foreach ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14] as $n) {
        same(["c$n", 'failed'], ["c$n", $results["c$n"]->status]);
    }
    same(1, preg_match('/arguments: .*"0".*by its place/', $results['c0']->text));
    same([[0, 77], 'wrote /tmp/a', 'wrote /tmp/b'], [$results['c10']->output, $results['c11']->output, $results['c12']->output]);
    // A person's edit, and a call of another process, end alike.
    $kim->respond(ApprovalResponse::to($step->pendingApprovals()[0], true, editedArgs: '{"0":"/etc/shadow"}'));
    same('failed', $gate->resume($step)->results()['c13']->status);
    $client->request($runId, [['toolCallId' => 'w1', 'toolName' => 'spread', 'arguments' => '{"0":"/etc/shadow"}']], ['agentId' => 'php-agent']);
    same(1, (new Worker(new Client(getenv('URL'), getenv('WORKER_TOKEN')), $tools, 'php-agent'))->work());
    same(['/tmp/a', '/tmp/b'], $source->ran);
});

test('a tool of which no call could be made is refused at once', function () {
    throws(InvalidArgumentException::class, '/metadata/', fn () => new Tool('odd', fn () => 1, more: ['metadata' => ['a', 'b']]));
    throws(InvalidArgumentException::class, '/needsApproval/', fn () => new Tool('odd', fn () => 1, more: ['needsApproval' => false]));
});

test('of two calls with one id neither runs, and the model reads why', function () use ($client, $run) {
    $ran = [];
    $gate = new Gate($client, 'php-agent', [new Tool('pay', function (array $args) use (&$ran) {
        $ran[] = $args;
    })]);
    $calls = [['toolCallId' => '7', 'toolName' => 'pay', 'arguments' => '[1]'], ['toolCallId' => '7', 'toolName' => 'pay', 'arguments' => ['n' => 9]]];
    $step = $gate->step($run(), [...$calls, ['toolCallId' => '8', 'toolName' => 'pay', 'arguments' => ['n' => 1]]]);
    same(1, preg_match('/two calls of the step have it/', $step->results()['7']->text));
    same([['n' => 1]], $ran);
});

test('a stored state that says of a call that nobody is asked, or that lacks its arguments, is judged', function () use ($client, $run) {
    $gateOf = fn (bool $isAsked) => new Gate($client, 'php-agent', [new Tool('pay', fn () => 'paid', needsApproval: $isAsked)]);
    foreach ([fn (array $call) => ['needsApproval' => false] + $call, fn (array $call) => array_diff_key($call, ['arguments' => 1])] as $change) {
        $state = $gateOf(false)->request($run(), [['toolCallId' => 'c1', 'toolName' => 'pay', 'arguments' => ['n' => 1]]])->toArray();
        $state['asked'] = array_map(fn (string $call) => json_encode($change(json_decode($call, true))), $state['asked']);
        same(1, count($gateOf(true)->resume($state)->pendingApprovals()));
    }
});

test('a request does not wait for another process that runs a call', function () use ($client, $run) {
    $gate = new Gate($client, 'php-agent', [new Tool('slow', fn () => 'done')], leaseMs: 1000);
    $calls = [['toolCallId' => 'c1', 'toolName' => 'slow', 'arguments' => []]];
    $step = $gate->request($runId = $run(), $calls);
    same('allowed', $step->recorded['c1']->state);
    $claim = $client->claim($step->recorded['c1']->callId, 'another process', 3000);
    $startedAt = hrtime(true);
    foreach ([$gate->step($runId, $calls), $gate->resume($step)] as $now) {
        same(StopReason::Executing, $now->stopReason());
    }
    same(true, hrtime(true) - $startedAt < 2e9);
    $client->report($step->recorded['c1']->callId, ['attempt' => $claim->attempt, 'status' => 'succeeded', 'output' => 'done there']);
    same('done there', $gate->resume($step)->results()['c1']->text);
});
