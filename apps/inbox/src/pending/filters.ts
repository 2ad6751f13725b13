import type { ApprovalView } from '@countersign/contracts';

/** The filter of the list; an empty text does not filter. */
export interface Filters {
  readonly text: string;
  readonly tool: string;
  readonly agent: string;
  readonly run: string;
  readonly group: string;
  readonly risk: string;
  /** A label with its value, as in `choicesOf`. */
  readonly label: string;
  /** One of `ends`. */
  readonly end: string;
}

export const noFilters: Filters = { text: '', tool: '', agent: '', run: '', group: '', risk: '', label: '', end: '' };

/** How soon an approval expires, by the words of the choice. */
const ends: Readonly<Record<string, number>> = { 'in 5 min': 5 * 60_000, 'in 1 h': 3_600_000, 'in 1 day': 86_400_000 };

/** Returns whether the filter hides anything. */
export function isFiltering(filters: Filters): boolean {
  return Object.values(filters).some((value) => value !== '');
}

/** The approvals that match. A group matches when one of its members may respond, also when every approver may. */
export function filtered(approvals: readonly ApprovalView[], filters: Filters, nowMs: number): readonly ApprovalView[] {
  if (!isFiltering(filters)) return approvals;
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = selects.filter((name) => filters[name] !== '');
  return approvals.filter(
    (approval) =>
      chosen.every((name) => passes[name](approval, filters[name], nowMs)) &&
      words.every((word) => haystackOf(approval).includes(word)),
  );
}

type Select = Exclude<keyof Filters, 'text'>;

/** Whether an approval passes a filter with this value. */
const passes: Readonly<Record<Select, (approval: ApprovalView, value: string, nowMs: number) => boolean>> = {
  tool: ({ toolName }, value) => toolName === value,
  agent: ({ agentId }, value) => agentId === value,
  run: ({ runId }, value) => runId === value,
  group: isOpenTo,
  risk: ({ risk }, value) => risk === value,
  label: (approval, value) => labelsOf(approval).includes(value),
  end: (approval, value, nowMs) => endsIn(approval, nowMs) <= (ends[value] ?? 0),
};
const selects = Object.keys(passes) as readonly Select[];

function isOpenTo({ requirement }: ApprovalView, group: string): boolean {
  return requirement.stages.some(({ groups }) => groups === null || groups.includes(group));
}

function labelsOf({ labels }: ApprovalView): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}: ${value}`);
}

function endsIn({ expiresAt }: ApprovalView, nowMs: number): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - nowMs;
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
export function choicesOf(approvals: readonly ApprovalView[]): Readonly<Record<Select, string[]>> {
  const sorted = (values: Iterable<string>) => [...new Set(values)].sort((a, b) => a.localeCompare(b)).slice(0, 500);
  return {
    tool: sorted(approvals.map(({ toolName }) => toolName)),
    agent: sorted(approvals.map(({ agentId }) => agentId)),
    run: sorted(approvals.map(({ runId }) => runId)),
    risk: ['high', 'medium', 'low'],
    label: sorted(approvals.flatMap(labelsOf)),
    end: Object.keys(ends),
    group: sorted(approvals.flatMap(({ requirement }) => requirement.stages.flatMap(({ groups }) => groups ?? []))),
  };
}
