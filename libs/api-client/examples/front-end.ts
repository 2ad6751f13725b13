// A dialog of your own: the person who is signed in sees what they may decide, and answers. `COUNTERSIGN_TOKEN` has role front-end.
import { createFrontEnd } from '@countersign/api-client';

const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const frontEnd = createFrontEnd({ url, token: process.env['COUNTERSIGN_TOKEN'] ?? '' });

/** Of the session of your application, never of the request of a browser. */
const user = { id: 'kim@example.com', groups: ['support'] };

const kim = frontEnd.as(user);
const { data, error } = await kim.GET('/v1/approvals', { params: { query: { mine: 'true' } } });
if (error !== undefined) throw new Error(`${error.code}: ${error.detail}`);
for (const { approvalId, proposal, shownDigest, shownOthersDigest = null, toolName } of data.approvals) {
  const shown = { proposalDigest: proposal.digest, shownDigest, shownOthersDigest };
  const answered = await kim.POST('/v1/approvals/{approvalId}/responses', {
    params: { path: { approvalId } },
    body: { decision: { type: 'approve' }, ...shown },
  });
  console.log(toolName, answered.data?.state ?? answered.error?.code);
}

// Once they have left your application:
await frontEnd.end(user.id);
