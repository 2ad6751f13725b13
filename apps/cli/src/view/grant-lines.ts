import type { GrantPreview, GrantView } from '@countersign/contracts';
import { labelWords, nameWords, printable, timeWords } from '@countersign/text';
import type { Line } from './line.js';
import { wrapped } from './line.js';

const tones = { active: 'green', pending: 'yellow', expired: 'dim', exhausted: 'dim', revoked: 'dim' } as const;

/** A grant: what it permits, who gave it, and how often it was used. */
export function grantLines(grant: GrantView, columns: number): Line[] {
  const { grantId, toolName, state, uses, maxUses, risk, reason, approvalId } = grant;
  const used = `used ${String(uses)}${maxUses === null ? '' : ` of ${String(maxUses)}`}`;
  return [
    ...wrapped(`${printable(grantId)}   ${state}   ${used}`, columns, tones[state]),
    ...wrapped(`  ${nameWords(toolName)}: ${matchWords(grant)}, ${scopeWords(grant)}`, columns),
    ...wrapped(`  by ${peopleWords(grant)}, until ${timeWords(grant.expiresAt)}, risk ${risk ?? 'not set'}`, columns),
    ...wrapped(`  ${printable(reason)}`, columns, 'dim'),
    ...(approvalId === null ? [] : wrapped(`  remembered: countersign show ${printable(approvalId)}`, columns)),
    ...(state === 'pending' ? wrapped('  waits for a second person: countersign grants confirm', columns) : []),
  ];
}

function matchWords({ match }: GrantView): string {
  if ('when' in match) return `when ${printable(match.when)}`;
  return 'digest' in match ? 'exactly the same arguments' : 'all calls';
}

function scopeWords({ runId, agentId, requestedBy, labels }: GrantView): string {
  const run = runId === null ? 'every run' : `run ${nameWords(runId)}`;
  const agent = agentId === null ? 'every agent' : `agent ${nameWords(agentId)}`;
  const where = labels === null ? '' : `, labels ${labelWords(labels)}`;
  return `${requestedBy === null ? agent : `${agent} of ${nameWords(requestedBy)}`}, ${run}${where}`;
}

function peopleWords({ createdBy, confirmedBy, revokedBy, revokeReason }: GrantView): string {
  const confirmed = confirmedBy === null ? '' : `, confirmed by ${nameWords(confirmedBy)}`;
  const why = revokeReason === null ? '' : `: ${printable(revokeReason)}`;
  const revoked = revokedBy === null ? '' : `, revoked by ${nameWords(revokedBy)}${why}`;
  return `${nameWords(createdBy)}${confirmed}${revoked}`;
}

/** The lines of a preview: the recorded calls that the grant would have covered. */
export function previewLines(preview: GrantPreview, columns: number): Line[] {
  const { covered, scanned, byOutcome, calls, notCompared, state } = preview;
  const outcomes = Object.entries(byOutcome).map(([outcome, count]) => `${String(count)} ${printable(outcome)}`);
  const of = `It would have covered ${String(covered)} of the ${String(scanned)} newest approvals of this tool`;
  return [
    ...wrapped(`${of}${outcomes.length === 0 ? '.' : `: ${outcomes.join(', ')}.`}`, columns, 'bold'),
    ...(notCompared === 0 ? [] : wrapped(`${String(notCompared)} with hidden values were not compared.`, columns)),
    ...calls.map(({ callId, agentId, requestedAt, outcome }): Line => ({
      text: `  ${printable(callId)}  ${timeWords(requestedAt)}  ${nameWords(agentId)}  ${printable(outcome)}`,
    })),
    ...wrapped(`Nothing was created. The grant would be ${state}.`, columns),
  ];
}
