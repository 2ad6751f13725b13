// One approval with the client that @hey-api/openapi-ts makes: request, list, approve, a 409 problem, list, a grant.
import assert from 'node:assert';
import { createClient } from './client/client/index.js';
import { createGrant, listApprovals, previewGrant, requestToolCalls, respond } from './client/sdk.gen.js';
import type { ApprovalState } from './client/types.gen.js';

const { COUNTERSIGN_URL: baseUrl = '', AGENT_TOKEN = '', PERSON_TOKEN = '', RUN_ID: runId = '' } = process.env;
const clientOf = (token: string) => createClient({ baseUrl, auth: token });
const [agent, person] = [clientOf(AGENT_TOKEN), clientOf(PERSON_TOKEN)];
const requested = await requestToolCalls({
  client: agent,
  body: {
    runId,
    calls: [{ toolCallId: 'c1', toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true }],
  },
});
assert.equal(requested.data?.calls[0]?.state, 'awaiting_approval');

const only = async (state: ApprovalState) => {
  const { data } = await listApprovals({ client: person, query: { state, runId } });
  assert.equal(data?.approvals.length, 1);
  return data!.approvals[0]!;
};
const pending = await only('pending');
assert.equal(pending.mayDecide?.now, true);
assert.equal(pending.requirement.stages[0]?.approve, 1);
const path = { approvalId: pending.approvalId };
const answered = await respond({
  client: person,
  path,
  body: { decision: { type: 'approve' }, proposalDigest: pending.proposal.digest },
});
assert.equal(answered.data?.state, 'approved');
const refused = await respond({ client: person, path, body: { decision: { type: 'deny' } } });
assert.equal(refused.response?.status, 409);
const problem = refused.error;
assert.equal(problem?.code, 'already-resolved');
const terms = {
  client: person,
  body: { toolName: 'delete_file', match: { any: true }, runId, expiresInMs: 60_000, reason: 'a test' },
};
const covered = (await previewGrant(terms)).data?.covered;
const grant = (await createGrant(terms)).data;
assert.deepEqual([grant?.match, grant?.runId], [{ any: true }, runId]);
const { state } = await only('approved');
console.log(JSON.stringify({ state, problem: problem?.code, covered, grant: grant?.state }));
