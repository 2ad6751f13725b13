import { quotasOf } from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import type { ExplainedCall, QuotaView } from '@countersign/contracts';
import type { QuotaFinding } from '@countersign/domain';

/** Each quota that counts a call about which people would be asked, by the history of this moment. */
export function quotaViews(commands: CommandPorts, tenant: string, call: ExplainedCall): QuotaView[] {
  const { agentId, requestedBy = null, labels = {} } = call;
  // The person who asks for the explanation names the principal and does not prove it.
  const question = { ...call, labels, callId: '', toolCallId: '', sensitive: [], requestedBy: null };
  // Without a principal the agent is one of its own.
  const asker = { tenant, agentId, principal: requestedBy ?? agentId, namesFreely: requestedBy !== null };
  return quotasOf(commands, asker, question).map(toView);
}

function toView({ counted, untilMs, identical, refusal, ...finding }: QuotaFinding): QuotaView {
  const { quota, limit, used, windowMs } = finding;
  const { agentId, requestedBy } = counted;
  const [counts, name] = agentId === undefined ? (['principal', requestedBy] as const) : (['agent', agentId] as const);
  return {
    ...{ quota, counts, name, limit, used, windowMs },
    coolDownUntil: untilMs === null ? null : new Date(untilMs).toISOString(),
    identical: identical && {
      callId: identical.callId,
      toolCallId: identical.toolCallId,
      approvalId: identical.approvalId,
    },
    refusal: refusal === undefined ? null : { code: refusal.code, detail: refusal.detail },
  };
}
