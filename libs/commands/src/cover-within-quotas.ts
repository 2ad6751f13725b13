import { overQuota } from '@countersign/domain';
import type { ToolCallProposal } from '@countersign/domain';
import type { Judgement } from '@countersign/policy';
import { coverByGrants, foreseeCover } from './cover-by-grant.js';
import type { Plan } from './plan-call.js';
import type { CommandPorts } from './ports.js';
import { questionOf, quotaFacts } from './quotas.js';
import type { Asker } from './quotas.js';
import type { Refused } from './with-tool-call.js';

/** A request whose calls are judged. */
export interface Covering {
  readonly asker: Asker;
  /** True for each call that is new. */
  readonly additions: readonly boolean[];
  readonly meta: { readonly commandId: string };
  readonly at: number;
}

/** Quotas count before a grant gives a use away, and once more after: it may have ended meanwhile. */
export async function coverWithinQuotas(
  ports: CommandPorts,
  plans: readonly Plan[],
  judged: readonly Judgement[],
  { asker, additions, meta, at }: Covering,
): Promise<readonly Judgement[] | Refused> {
  const foreseen = await foreseeCover(ports, plans, judged, at);
  const over = refusalOf(ports, asker, questionsOf(plans, foreseen, additions));
  if (over !== undefined) return over;
  const judgements = await coverByGrants(ports, plans, judged, meta.commandId, at);
  const isAsForeseen = judgements.every(({ verdict }, index) => verdict.outcome === foreseen[index]?.verdict.outcome);
  return (isAsForeseen ? undefined : refusalOf(ports, asker, questionsOf(plans, judgements, additions))) ?? judgements;
}

function refusalOf(ports: CommandPorts, asker: Asker, asked: readonly ToolCallProposal[]): Refused | undefined {
  const facts = quotaFacts(ports, asker, asked);
  const refusal = facts === null ? undefined : overQuota(facts, asked.map(questionOf), ports.clock.now());
  return refusal && { status: 'refused', refusal };
}

/** The calls of a request about which people would be asked. */
function questionsOf(
  plans: readonly Plan[],
  judgements: readonly Judgement[],
  additions: readonly boolean[],
): readonly ToolCallProposal[] {
  return plans
    .filter((_, index) => additions[index] === true && judgements[index]?.verdict.outcome === 'require')
    .map(({ proposal }) => proposal);
}
