// Approves everything that waits, as it was shown. `COUNTERSIGN_TOKEN` has role approver.
import { createApiClient } from '@countersign/api-client';

const token = process.env['COUNTERSIGN_TOKEN'] ?? '';
const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const api = createApiClient({ url, token });

const { data, error } = await api.GET('/v1/approvals', { params: { query: { state: 'pending' } } });
if (error !== undefined) throw new Error(`${error.code}: ${error.detail}`);
for (const { approvalId, proposal, shownDigest, shownOthersDigest = null } of data.approvals) {
  const shown = { proposalDigest: proposal.digest, shownDigest, shownOthersDigest };
  await api.POST('/v1/approvals/{approvalId}/responses', {
    params: { path: { approvalId } },
    body: { decision: { type: 'approve' }, ...shown },
  });
}
