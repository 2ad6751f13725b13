<?php
// One approval with the client that openapi-generator makes for PHP: request, list, approve, a 409 problem, list, wait, claim,
// report, a grant, and the problems of a token, an id and a request that are wrong.
require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $name): void {
    $file = getenv('CLIENT') . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $name) . '.php';
    if (is_file($file)) require $file;
});

use OpenAPI\Client\Api\{ApprovalsApi, ExecutionApi, GrantsApi, ToolCallsApi};
use OpenAPI\Client\{ApiException, Configuration};
use OpenAPI\Client\Model\{AnyArguments, ApprovalState, ClaimExecution, CreateGrant, DecisionApprove, DecisionDeny, ReportExecutionSucceeded, RequestedCall, RequestToolCalls, Respond, ToolCallState};

function configuration(string $token): Configuration
{
    return (new Configuration())->setHost(getenv('COUNTERSIGN_URL'))->setAccessToken($token);
}

function check(bool $isTrue, string $what): void
{
    if (!$isTrue) throw new LogicException($what);
}

$calls = new ToolCallsApi(new GuzzleHttp\Client(), configuration(getenv('AGENT_TOKEN')));
$approvals = new ApprovalsApi(new GuzzleHttp\Client(), configuration(getenv('PERSON_TOKEN')));
$run = getenv('RUN_ID');
$call = new RequestedCall(['tool_call_id' => 'c1', 'tool_name' => 'delete_file', 'arguments' => (object) ['path' => '/x'], 'needs_approval' => true]);
$requested = $calls->requestToolCalls(new RequestToolCalls(['run_id' => $run, 'calls' => [$call]]))->getCalls()[0];
check($requested->getState() === 'awaiting_approval', 'the call waits');

$only = function (string $state) use ($approvals, $run) {
    $found = $approvals->listApprovals(state: $state, run_id: $run)->getApprovals();
    check(count($found) === 1, 'one approval');
    return $found[0];
};
$pending = $only(ApprovalState::APPROVAL_STATE_PENDING);
check($pending->getMayDecide()->getNow(), 'the person may decide');
check($pending->getRequirement()->getStages()[0]->getApprove() === 1, 'one person is enough');
$answer = new Respond(['decision' => new DecisionApprove(['type' => 'approve']), 'proposal_digest' => $pending->getProposal()->getDigest()]);
check($approvals->respond($pending->getApprovalId(), $answer)->getState() === 'approved', 'approved');

/** Returns the problem that a request meets. */
function problemOf(callable $request, int $status): object
{
    try {
        $request();
    } catch (ApiException $error) {
        check($error->getCode() === $status, "the status is {$error->getCode()}, not $status");
        return $error->getResponseObject();
    }
    throw new LogicException("nothing is refused with $status");
}

$denial = new Respond(['decision' => new DecisionDeny(['type' => 'deny'])]);
$code = problemOf(fn () => $approvals->respond($pending->getApprovalId(), $denial), 409)->getCode();
$approved = $only(ApprovalState::APPROVAL_STATE_APPROVED);

check($calls->getToolCall($requested->getCallId(), 30000, 'decided')->getState() === ToolCallState::TOOL_CALL_STATE_APPROVED, 'the wait ends');
$execution = new ExecutionApi(new GuzzleHttp\Client(), configuration(getenv('WORKER_TOKEN')));
$claim = $execution->claimExecution($requested->getCallId(), new ClaimExecution(['resolver_id' => 'worker-1']));
check($claim->getArguments() === ['path' => '/x'], 'the claim has the arguments');
check($claim->getActionDigest() === $approved->getActionDigest(), 'the claim is for what was approved');
$report = new ReportExecutionSucceeded(['attempt' => $claim->getAttempt(), 'status' => 'succeeded', 'output' => (object) ['deleted' => true]]);
check($execution->reportExecution($requested->getCallId(), $report)->getState() === ToolCallState::TOOL_CALL_STATE_SUCCEEDED, 'the call has ended');
$settled = $calls->getToolCall($requested->getCallId(), 30000, 'settled');
check((array) $settled->getOutput() === ['deleted' => true], 'the agent reads the output');

$stranger = new ApprovalsApi(new GuzzleHttp\Client(), configuration('wrong'));
check(problemOf(fn () => $stranger->listApprovals(), 401)->getCode() === 'unauthenticated', 'a token that is wrong');
check(problemOf(fn () => $calls->getToolCall('tc_nothing'), 404)->getCode() === 'not-found', 'an id that is wrong');
$late = new ClaimExecution(['resolver_id' => 'worker-2']);
check(problemOf(fn () => $execution->claimExecution($requested->getCallId(), $late), 409)->getCode() !== '', 'a second claim');
$empty = new RequestToolCalls(['run_id' => '', 'calls' => []]);
check(problemOf(fn () => $calls->requestToolCalls($empty), 400)->getErrors()[0]->getPath() !== null, 'a request that is wrong');

$grants = new GrantsApi(new GuzzleHttp\Client(), configuration(getenv('PERSON_TOKEN')));
$terms = new CreateGrant(['tool_name' => 'delete_file', 'match' => new AnyArguments(['any' => true]), 'run_id' => $run, 'expires_in_ms' => 60000, 'reason' => 'a test']);
$covered = $grants->previewGrant($terms)->getCovered();
$grant = $grants->createGrant($terms);
check($grant->getMatch()->getAny() && $grant->getRunId() === $run, 'the grant is for the run');
echo json_encode(['state' => $approved->getState(), 'problem' => $code, 'covered' => $covered, 'grant' => $grant->getState()]), "\n";
