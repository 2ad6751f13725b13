import type { GrantView, Remember } from '@countersign/contracts';
import { nameWords, plainLabelWords, quotedName } from '@countersign/text';
import { countWords } from './words.js';

const hourMs = 3_600_000;

/** The times that a grant can hold. The server allows at most 90 days. */
export const spans = [
  ['1 hour', hourMs],
  ['8 hours', 8 * hourMs],
  ['1 day', 24 * hourMs],
  ['7 days', 7 * 24 * hourMs],
  ['30 days', 30 * 24 * hourMs],
] as const;

/** A length of time out of the list, in words. */
export function spanWords(ms: number): string {
  return spans.find(([, spanMs]) => spanMs === ms)?.[0] ?? countWords(Math.round(ms / hourMs), 'hour');
}

/** The arguments that a grant covers. */
export function matchWords(match: GrantView['match']): string {
  if ('digest' in match) return 'exactly the remembered arguments';
  if ('when' in match) return `arguments where ${match.when}`;
  return 'any arguments';
}

/** Where a grant holds: `agent billing-agent in run run-1`. */
export function scopeWords({
  agentId,
  requestedBy,
  runId,
  labels,
}: Pick<GrantView, 'agentId' | 'requestedBy' | 'runId' | 'labels'>): string {
  const named = agentId === null ? 'every agent' : `agent ${quotedName(agentId)}`;
  const agent = requestedBy === null ? named : `${named} of ${quotedName(requestedBy)}`;
  const run = runId === null ? `${agent}, every run` : `${agent} in run ${quotedName(runId)}`;
  return labels === null ? run : `${run}, ${plainLabelWords(labels)}`;
}

/** Describes in one sentence what "always" means when an approval is remembered. */
export function rememberWords(
  { match, scope, expiresInMs, maxUses }: Remember,
  { toolName, agentId, runId }: { readonly toolName: string; readonly agentId: string; readonly runId: string },
): string {
  const [tool, agent, run] = [toolName, agentId, runId].map((name) => nameWords(name, 80));
  const args = match === 'exact' ? 'with exactly these arguments' : 'with any arguments';
  const where = scope === 'run' ? `in run ${run}` : 'in every run';
  const uses = maxUses === undefined ? '' : `, at most ${countWords(maxUses, 'time')}`;
  return (
    `For ${spanWords(expiresInMs)}, calls of ${tool} by agent ${agent} ${where} ${args} run without an approval${uses}. ` +
    'A call in another folder, or of another MCP server, is not covered. ' +
    'A rule that blocks, or that needs several people, still holds. You can end it at any time under Grants.'
  );
}
