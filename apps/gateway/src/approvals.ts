import { labelsOfQuery } from '@countersign/contracts';
import type { ApprovalView, ListApprovalsQuery, RespondBody, RespondInBulkBody } from '@countersign/contracts';
import { isFrontEnd, respond, respondAndRemember, respondInBulk, reveal, withdraw } from '@countersign/commands';
import type { Actor, BulkResult } from '@countersign/commands';
import type { ApprovalOfCall, ApprovalsQuery } from '@countersign/read-model';
import { toProblem } from '@countersign/shell';
import { ok, refused } from './answer.js';
import { readArgumentsSchema } from './arguments-schema.js';
import { readCard } from './approval-card.js';
import type { WantedCard } from './approval-card.js';
import { previewOf } from './approval-preview.js';
import type { Answer } from './answer.js';
import { pageOf } from './call-lists.js';
import { conclude } from './conclude.js';
import type { WriteContext } from './conclude.js';
import { toGrantView } from './grants.js';
import { createBreather } from './limits/breather.js';
import type { GatewayPorts } from './ports.js';
import { viewsFor } from './views-for.js';
import { maySee, visibilityFor } from './visibility.js';
import type { ShownValues } from './visibility.js';

type WhichResponse = NonNullable<Parameters<typeof withdraw>[4]>;

/** The approvals: list, read, respond, withdraw. */
export interface Approvals {
  readonly list: (actor: Actor, query: ListApprovalsQuery) => Answer;
  readonly get: (actor: Actor, approvalId: string, values?: ShownValues) => Promise<Answer>;
  readonly card: (actor: Actor, approvalId: string, wanted: WantedCard) => Answer;
  readonly respond: (context: WriteContext, approvalId: string, body: RespondBody) => Promise<Answer>;
  readonly respondInBulk: (context: WriteContext, body: RespondInBulkBody) => Promise<Answer>;
  readonly reveal: (context: WriteContext, approvalId: string) => Promise<Answer>;
  /** `response`: the number of the one to withdraw. `mayBeRepeat`: nothing says that the request is no repeat. */
  readonly withdraw: (context: WriteContext, approvalId: string, which?: WhichResponse) => Promise<Answer>;
}

/** The approvals side of the gateway. */
export function createApprovals(ports: GatewayPorts): Approvals {
  const { commands, readModel } = ports;
  return {
    list: (actor, query) => {
      const { preview, values } = query;
      const wanted = wantedOf(ports, actor, query);
      const page = pageOf(readModel.listApprovals(actor.tenant, wanted));
      const { rows, position } = page;
      const views = viewsFor(ports, actor, values);
      const approvals = fitting(rows, (row) => {
        const view = views.approval(row);
        return preview === undefined ? view : previewOf(view);
      });
      const isWhole = approvals.length === rows.length;
      // Nothing else runs in between: the shorter page shows the same log, and knows where the next one begins.
      const end = isWhole
        ? page
        : pageOf(readModel.listApprovals(actor.tenant, { ...wanted, limit: approvals.length }));
      return ok({ approvals, nextCursor: end.nextCursor, position });
    },
    get: async (actor, approvalId, values) => {
      const row = readModel.approval(actor.tenant, approvalId);
      if (row === undefined || !maySee(actor, row.call))
        return refused({ code: 'unknown-approval', detail: `there is no approval ${approvalId}` });
      const view = viewsFor(ports, actor, values).approval(row);
      const visibility = visibilityFor(actor, row.call, values ?? 'masked');
      return ok({ ...view, ...(await readArgumentsSchema(ports, view.callId, visibility)) });
    },
    card: (actor, approvalId, wanted) => readCard(ports, actor, approvalId, wanted),
    respond: async ({ actor, commandId }, approvalId, body) => {
      const { remember } = body;
      if (remember !== undefined)
        return respondRemembering(ports, { actor, commandId }, approvalId, { ...body, remember });
      const outcome = await respond(commands, actor, approvalId, body, commandId);
      return conclude(ports, 'RespondToApproval', outcome, () => approvalView(ports, actor, approvalId));
    },
    respondInBulk: async ({ actor, commandId }, body) => {
      const breathe = createBreather(ports.clock.monotonic);
      const outcome = await respondInBulk(commands, actor, body, commandId, breathe);
      const answer = await conclude(ports, 'RespondInBulk', outcome, (results) => ({
        results: toResults(ports, actor, results),
      }));
      // Nothing was recorded, so there is no position to read after.
      return body.dryRun === true ? { status: answer.status, body: answer.body } : answer;
    },
    reveal: async ({ actor, commandId }, approvalId) => {
      const outcome = await reveal(commands, actor, approvalId, commandId);
      return conclude(ports, 'RevealValues', outcome, (revealed) => revealed);
    },
    withdraw: async ({ actor, commandId }, approvalId, which) => {
      const outcome = await withdraw(commands, actor, approvalId, commandId, which);
      return conclude(ports, 'WithdrawResponse', outcome, () => approvalView(ports, actor, approvalId));
    },
  };
}

/** The query of the read model. */
function wantedOf(ports: GatewayPorts, actor: Actor, query: ListApprovalsQuery): ApprovalsQuery {
  const { preview: _preview, values: _values, mine, labels, since, until, q, ...wanted } = query;
  const words = q?.split(/\s+/).filter((word) => word !== '');
  return {
    ...wanted,
    ...(labels !== undefined && { labels: labelsOfQuery(labels) }),
    ...(since !== undefined && { sinceMs: Date.parse(since) }),
    ...(until !== undefined && { untilMs: Date.parse(until) }),
    ...(words !== undefined && { words }),
    ...onlySeen(actor),
    ...(mine === 'true' && { only: decidableBy(ports, actor) }),
  };
}

function onlySeen(actor: Actor): Pick<ApprovalsQuery, 'only'> {
  return isFrontEnd(actor) ? { only: ({ call }) => maySee(actor, call) } : {};
}

/** Judges each approval once, so that both looks at a page have the same rows. */
function decidableBy(ports: GatewayPorts, actor: Actor): (row: ApprovalOfCall) => boolean {
  const known = new Map<string, boolean>();
  const views = viewsFor(ports, actor);
  return (row) => {
    const { approvalId } = row.approval;
    const isMine = known.get(approvalId) ?? views.mayDecide(row).now;
    known.set(approvalId, isMine);
    return isMine;
  };
}

async function respondRemembering(
  ports: GatewayPorts,
  { actor, commandId }: WriteContext,
  approvalId: string,
  body: Parameters<typeof respondAndRemember>[3],
): Promise<Answer> {
  const outcome = await respondAndRemember(ports.commands, actor, approvalId, body, commandId);
  return conclude(ports, 'RespondToApproval', outcome, (grant) => ({
    ...approvalView(ports, actor, approvalId),
    ...(grant !== null && { grant: toGrantView(grant, ports.clock.now()) }),
  }));
}

function approvalView(ports: GatewayPorts, actor: Actor, approvalId: string): ApprovalView {
  const row = ports.readModel.approval(actor.tenant, approvalId);
  if (row === undefined) throw new Error(`the read model has reached a write of ${approvalId} but does not know it`);
  return viewsFor(ports, actor).approval(row);
}

/** A list is one answer, which others wait for: it ends early beyond this many bytes, and its cursor leads on. */
const pageBytesMax = 1_000_000;

/** The views of the first rows that fit together, at least one. */
function fitting<Row, View>(rows: readonly Row[], toView: (row: Row) => View): View[] {
  const views: View[] = [];
  let bytes = 0;
  for (const row of rows) {
    const view = toView(row);
    bytes += Buffer.byteLength(JSON.stringify(view)) + 1;
    if (bytes > pageBytesMax && views.length > 0) return views;
    views.push(view);
  }
  return views;
}

/**
 * Attack: a bulk response to many calls with large arguments. Results beyond this many bytes come without the approval.
 */
const approvalsBytesMax = 8 * 1024 * 1024;

function toResults(ports: GatewayPorts, actor: Actor, results: readonly BulkResult[]) {
  let bytes = 0;
  const views = viewsFor(ports, actor);
  return results.map((result) => {
    const row = bytes > approvalsBytesMax ? undefined : ports.readModel.approval(actor.tenant, result.approvalId);
    const approval = row === undefined ? undefined : views.approval(row);
    bytes += approval === undefined ? 0 : JSON.stringify(approval).length;
    return toResult(result, approval === undefined ? {} : { approval });
  });
}

function toResult(result: BulkResult, approval: { readonly approval?: ApprovalView }) {
  const { approvalId, status } = result;
  // The contract's word for a refusal in a list of results.
  if (result.status === 'refused')
    return { approvalId, status: 'rejected', ...approval, problem: toProblem(result.refusal) };
  return { approvalId, status, ...approval };
}
