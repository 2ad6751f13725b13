import { shownDigest } from '@countersign/contracts';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import type { Response } from './server.ts';
import { fromArguments, fromOutput } from './shown.ts';
import type { Shown } from './words.ts';

/** A call as the server shows it, in the words of the model. `given`: the grants, by their numbers. */
export function toShown(view: ToolCallView, given: readonly string[], requestDigest: string | undefined): Shown {
  const { approval, state, instruction, verdict } = view;
  // A call that was cancelled, or is asked about after all, keeps its verdict, and the grant permits it no more.
  const isPermitted = !unpermitted.includes(state);
  const grantId = verdict.outcome === 'allow' && isPermitted ? verdict.grantId : undefined;
  return {
    ...{ state, instruction, waits: view.waitsForTurn === true, ...seen(view.arguments) },
    grant: grantId === undefined ? null : given.indexOf(grantId),
    approval: approval === null ? null : toShownApproval(approval, requestDigest),
  };
}

const unpermitted: readonly ToolCallView['state'][] = ['awaiting_approval', 'denied', 'cancelled', 'expired'];

const statuses: Readonly<Record<string, number>> = {
  ...{ 'invalid-request': 400, unauthenticated: 401, forbidden: 403, 'own-request': 403, 'not-an-approver': 403 },
  'signature-required': 403,
  ...{ 'not-found': 404, 'unknown-approval': 404, expired: 410, 'decision-not-allowed': 422, 'too-many-requests': 429 },
};

/** Each code has its status; one that is not listed has 409. */
export function mustHaveStatus({ status, body }: Response): void {
  if (status < 300) return;
  const { code } = body as { readonly code: string };
  if (status !== (statuses[code] ?? 409)) throw new Error(`${code} has the status ${String(status)}`);
}

/** Why a call of a run could not be cancelled, or one of several approvals not be answered. */
export function refusedOf(response: Response | null): string | null {
  type Refused = readonly { readonly code?: string; readonly problem?: { readonly code: string } }[];
  const body = response?.body as { readonly notCancelled?: Refused; readonly results?: Refused } | null | undefined;
  return body?.notCancelled?.[0]?.code ?? body?.results?.find(({ problem }) => problem)?.problem?.code ?? null;
}

function seen(args: unknown) {
  const { amount, secret } = fromArguments(args);
  return { amount, hides: secret !== null };
}

function toShownApproval(approval: ApprovalView, requestDigest: string | undefined): Shown['approval'] {
  const { state, round, proposal, responses, instructions } = approval;
  const { number, digest, kind, output } = proposal;
  const shown = instructions.map(({ ifDenied, ...one }) => ({ ...one, ...(ifDenied === true && { ifDenied }) }));
  if (approval.shownDigest !== shownDigest(digest, shown)) throw new Error('the digest is not of what is shown');
  return {
    ...{ state, round, proposal: number, digest },
    content: kind === 'answer' ? { kind, ...fromOutput(output) } : { kind, ...seen(approval.arguments) },
    isRequest: approval.actionDigest === requestDigest,
    instructions: instructions.map(({ instruction }) => instruction),
    inPlaceOf: responses.at(-1)?.onBehalfOf ?? null,
  };
}
