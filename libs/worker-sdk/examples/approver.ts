// An approver that is a program: it denies calls that touch production, and leaves the others to people.
import { CountersignError, createClient } from '@countersign/worker-sdk';

const client = createClient({ url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '' });

for await (const event of client.events({ types: ['ApprovalRequested'] })) {
  const { approval } = await client.getToolCall(event.callId ?? '');
  if (approval?.state !== 'pending' || approval.arguments['environment'] !== 'production') continue;
  // The digests of what was looked at: if people have proposed something else since, or told the agent something, the response is refused.
  const { approvalId, proposal, shownDigest } = approval;
  const shown = { proposalDigest: proposal.digest, shownDigest };
  try {
    await client.respond(approvalId, { decision: { type: 'deny' }, reason: 'Freeze until Monday', ...shown });
  } catch (error) {
    const isLate = error instanceof CountersignError && ['already-resolved', 'expired'].includes(error.code);
    if (!isLate) throw error;
  }
}
