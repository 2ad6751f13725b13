<?php
// One approval with the client that openapi-generator makes for PHP: request, list, approve, a 409 problem, list.
require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $name): void {
    $file = getenv('CLIENT') . '/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $name) . '.php';
    if (is_file($file)) require $file;
});

use OpenAPI\Client\Api\{ApprovalsApi, ToolCallsApi};
use OpenAPI\Client\{ApiException, Configuration};
use OpenAPI\Client\Model\{ApprovalState, Decision, DecisionApprove, DecisionDeny, RequestedCall, RequestToolCalls, Respond};

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

$code = '';
try {
    $approvals->respond($pending->getApprovalId(), new Respond(['decision' => new DecisionDeny(['type' => 'deny'])]));
} catch (ApiException $error) {
    check($error->getCode() === 409, 'the second answer is refused');
    $code = $error->getResponseObject()->getCode();
}
echo json_encode(['state' => $only(ApprovalState::APPROVAL_STATE_APPROVED)->getState(), 'problem' => $code]), "\n";
