import { argumentsDigest, deriveCallId } from '@countersign/contracts';
import type { CreateGrantBody, RequestToolCalls } from '@countersign/contracts';
import { toArguments } from './shown.ts';
import { subjectName } from './subject.ts';
import type { Grant, Match, Remember, Request } from './words.ts';
import { isOfClient, mayRunAgain, runOf } from './world.ts';

const runId = (run: number): string => `run-${String(run)}`;

/** The id of a call. */
export const idOf = (call: number): string => deriveCallId('default', runId(runOf(call)), `call-${String(call)}`);

/** The body of a request. The second and later calls may be run again. */
export function requestBody({ as, calls, batch, inTurn, wants, expiresIn, onBehalfOf }: Request): RequestToolCalls {
  return {
    ...{ runId: runId(runOf(calls[0]?.call ?? 1)), agentId: as },
    ...(onBehalfOf !== null && { onBehalfOf }),
    ...(batch !== null && { batchId: batch, batchMode: 'all-or-nothing' as const }),
    ...(batch === null && inTurn && { batchMode: 'sequential' as const }),
    calls: calls.map(({ call, inside, tool = 'pay', ...args }) => ({
      ...{ toolCallId: `call-${String(call)}`, toolName: tool, arguments: toArguments(args) },
      ...(wants && { needsApproval: true }),
      ...{ idempotent: mayRunAgain(call), clientExecuted: isOfClient(call), labels: { subject: subjectName } },
      ...(inside !== null && { parentCallId: idOf(inside) }),
      ...(expiresIn !== null && { expiresInMs: expiresIn * 1_000 }),
    })),
  };
}

/** The run of a command in the product. */
export const runOfCommand = runId;

export function grantBody({ match, run, as, of, expiresIn, maxUses }: Grant): CreateGrantBody {
  return {
    ...{ toolName: 'pay', match: matchOf(match), expiresInMs: expiresIn * 1_000, reason: 'often asked' },
    ...(run !== null && { runId: runId(run) }),
    ...(as !== null && { agentId: as }),
    ...(of !== null && { requestedBy: of }),
    ...(maxUses !== null && { maxUses }),
  };
}

function matchOf(match: Match): CreateGrantBody['match'] {
  switch (match.of) {
    case 'any':
      return { any: true };
    case 'small':
      return { when: 'args.amount <= 100' };
    case 'guess':
      return { when: `args.password == "${String(match.is.secret)}"` };
    case 'exact':
      return { digest: argumentsDigest('pay', toArguments(match.is)) };
  }
}

export function rememberBody({ match, scope, expiresIn, maxUses }: Remember) {
  return { match, scope, expiresInMs: expiresIn * 1_000, ...(maxUses !== null && { maxUses }) };
}
