import { personOfFrontEnd } from '@countersign/contracts';
import { endVotes } from '@countersign/commands';
import type { Actor, Result } from '@countersign/commands';
import { standingVoteBy } from '@countersign/domain';
import type { ApprovalsQuery } from '@countersign/read-model';
import { sideBySide } from '@countersign/runtime';
import { refused } from './answer.js';
import type { Answer } from './answer.js';
import { pageOf } from './call-lists.js';
import { conclude, shownMsMax } from './conclude.js';
import type { WriteContext } from './conclude.js';
import type { GatewayPorts } from './ports.js';
import { invalidRequest } from './validation.js';
import { whenShown } from './visibility.js';

const pageSize = 200;
const atOnce = 32;

/**
 * Ends the votes of a person of a front end on all pending approvals of the tenant, one by one, since each call has its own
 * stream. A repeat ends what a crash left.
 */
export async function endPerson(
  ports: GatewayPorts,
  { actor, commandId }: WriteContext,
  principal: string,
): Promise<Answer> {
  const refusal = notEndable(actor, principal);
  if (refusal !== undefined) return refusal;
  // A vote that another gateway has just recorded may be missing from this read model, and would go on counting.
  await whenShown(ports, await ports.store.head(), shownMsMax);
  const approvalIds = votedBy(ports, actor, principal);
  const outcomes = await sideBySide(approvalIds, atOnce, async (approvalId) => ({
    approvalId,
    outcome: await endVotes(ports.commands, actor, { approvalId, of: principal }, commandId),
  }));
  const ended = outcomes.filter(({ outcome }) => outcome.status === 'done');
  const position = Math.max(0, ...ended.map(({ outcome }) => (outcome.status === 'done' ? outcome.position : 0)));
  const value = {
    principal,
    approvalIds: ended.map(({ approvalId }) => approvalId),
    notEnded: outcomes.flatMap(({ approvalId, outcome }) => notEnded(approvalId, outcome)),
  };
  return conclude(ports, 'EndPerson', { status: 'done', value, position }, (body) => body);
}

/** Attack: a front end ends the votes of the people of another one, or of people who sign in themselves. */
function notEndable({ roles, principal: own }: Actor, principal: string): Answer | undefined {
  const person = personOfFrontEnd(principal);
  if (person === undefined) {
    const message =
      'must be a person of a front end, such as support-desk%23kim; take other people out of the tokens file or the provider';
    throw invalidRequest([{ path: 'person', message }]);
  }
  if (roles.has('admin') || person.frontEnd === own) return undefined;
  return refused({ code: 'forbidden', detail: `a front end can end only its own people: ${own}#…` });
}

/**
 * Votes count under every spelling of a name, and a delegate votes in the place of another: so each vote is compared. What a person
 * proposed ends with them, also where their vote was lost before.
 */
function votedBy({ readModel }: GatewayPorts, { tenant }: Actor, principal: string): readonly string[] {
  const hasVote: ApprovalsQuery['only'] = ({ approval }) => standingVoteBy(approval, [principal]) !== undefined;
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const query = { state: 'pending', only: hasVote, limit: pageSize, cursor } as const;
    const page = pageOf(readModel.listApprovals(tenant, query));
    found.push(...page.rows.map(({ approval }) => approval.approvalId));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

/** The person had no vote that counts, or the approval has ended meanwhile: nothing is left to end. */
const isOver: ReadonlySet<string> = new Set(['unknown-approval', 'already-resolved', 'expired']);

function notEnded(approvalId: string, outcome: Result) {
  if (outcome.status === 'done' || isOver.has(outcome.refusal.code)) return [];
  const { code, detail } = outcome.refusal;
  return [{ approvalId, code, detail }];
}
