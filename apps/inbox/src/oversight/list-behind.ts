import type { OversightFigures, OversightGrouping, OversightReport } from '@countersign/contracts';
import { hrefs } from '../routes.js';

/** The events behind a figure: their type, and which responses. */
const behind: Readonly<Partial<Record<keyof OversightFigures, readonly [types: string, only?: string]>>> = {
  decisions: ['ApprovalResponded', 'person'],
  approvals: ['ApprovalResponded', 'approve'],
  edits: ['ApprovalResponded', 'edit'],
  denials: ['ApprovalResponded', 'deny'],
  fastApprovals: ['ApprovalResponded', 'fast'],
  onBehalfOf: ['ApprovalResponded', 'stand-in'],
  automatic: ['ApprovalResponded', 'silence'],
  requests: ['ApprovalRequested'],
  expiries: ['ApprovalExpired'],
  escalations: ['ApprovalEscalated'],
};
const filters = { approver: 'actor', tool: 'toolName', rule: 'ruleId' } as const;

/**
 * The address of the events in the log behind a figure; undefined where no search of the log finds them.
 * @param key the name of the row; null: no person; undefined: all rows together.
 */
export function listBehind(
  { by, from, to }: OversightReport,
  key: string | null | undefined,
  figure: keyof OversightFigures,
): string | undefined {
  const [types, only] = behind[figure] ?? [];
  if (types === undefined || !isFound(by, key, figure)) return undefined;
  const query = new URLSearchParams({ types, since: from, until: to });
  if (typeof key === 'string') query.set(filters[by], key.replaceAll(',', '\\,'));
  // A figure counts a vote for its author, and not for the person who is represented.
  if (typeof key === 'string' && by === 'approver') query.set('own', 'true');
  if (only !== undefined) query.set('only', only);
  return hrefs.search(query.toString());
}

/** Only the request of an approval names its rule. What no person did has no filter. */
function isFound(by: OversightGrouping, key: string | null | undefined, figure: keyof OversightFigures): boolean {
  if (key === null) return by === 'approver';
  return by !== 'rule' || key === undefined || figure === 'requests';
}
