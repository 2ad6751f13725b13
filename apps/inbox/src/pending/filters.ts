import type { ApprovalView } from '@countersign/contracts';

/** The filter of the list; an empty text does not filter. */
export interface Filters {
  readonly text: string;
  readonly tool: string;
  readonly agent: string;
  readonly run: string;
  readonly group: string;
}

export const noFilters: Filters = { text: '', tool: '', agent: '', run: '', group: '' };

/** Returns whether the filter hides anything. */
export function isFiltering(filters: Filters): boolean {
  return Object.values(filters).some((value) => value !== '');
}

/** The approvals that match. A group matches when one of its members may respond, also when every approver may. */
export function filtered(approvals: readonly ApprovalView[], filters: Filters): readonly ApprovalView[] {
  if (!isFiltering(filters)) return approvals;
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  return approvals.filter(
    (approval) =>
      (filters.tool === '' || approval.toolName === filters.tool) &&
      (filters.agent === '' || approval.agentId === filters.agent) &&
      (filters.run === '' || approval.runId === filters.run) &&
      (filters.group === '' || isOpenTo(approval, filters.group)) &&
      words.every((word) => haystackOf(approval).includes(word)),
  );
}

function isOpenTo({ requirement }: ApprovalView, group: string): boolean {
  return requirement.stages.some(({ groups }) => groups === null || groups.includes(group));
}

const haystacks = new WeakMap<ApprovalView, string>();

/** Computed once per approval, since building the text of 10,000 arguments is slower than typing. */
function haystackOf(approval: ApprovalView): string {
  const known = haystacks.get(approval);
  if (known !== undefined) return known;
  const { toolName, agentId, runId, description, reason, approvalId, responses } = approval;
  const people = responses.flatMap((response) => [response.respondedBy, response.via, response.reason]);
  const names = [toolName, agentId, runId, description, reason, approvalId, ...people];
  const made = `${names.join(' ')} ${JSON.stringify(approval.arguments)}`.toLowerCase();
  haystacks.set(approval, made);
  return made;
}

/** The values to choose from, sorted, without duplicates. */
export function choicesOf(
  approvals: readonly ApprovalView[],
): Readonly<Record<Exclude<keyof Filters, 'text'>, string[]>> {
  const sorted = (values: Iterable<string>) => [...new Set(values)].sort((a, b) => a.localeCompare(b)).slice(0, 500);
  return {
    tool: sorted(approvals.map(({ toolName }) => toolName)),
    agent: sorted(approvals.map(({ agentId }) => agentId)),
    run: sorted(approvals.map(({ runId }) => runId)),
    group: sorted(approvals.flatMap(({ requirement }) => requirement.stages.flatMap(({ groups }) => groups ?? []))),
  };
}
