import {
  actionDigest,
  hasUnreadable,
  hiddenByName,
  hiddenValues,
  parseApprovalId,
  unmask,
} from '@countersign/contracts';
import type { Decision, FieldError, JsonObject, JsonValue, RespondBody } from '@countersign/contracts';
import { areEqualJson, currentProposal, toolCallRules } from '@countersign/domain';
import type {
  Action,
  Approval,
  EditDecision,
  RespondToApproval,
  ResponseDecision,
  ToolCall,
} from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { SchemaCheck } from '../request/argument-schema.js';
import { commitToBatch, doneByWord, inBatch, settleBatch } from '../batch.js';
import { approversOf } from '../request/approvers.js';
import { judgeRecorded, toDomainJudgement } from '../request/judge-recorded.js';
import { builtAgain } from '../stream/built-again.js';
import { stopped, whenStopsKnown } from '../stops/stopped.js';
import { forbidden } from '../stream/forbidden.js';
import { withToolCall } from '../stream/with-tool-call.js';
import type { Refused } from '../stream/with-tool-call.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import { oversizeResult } from './output-size.js';
import type { CommandPorts } from '../ports.js';
import { recordedGuess } from './recorded-guess.js';
import { isSameResponse, withdrawnSince } from './repeated-response.js';
import { noApproverNow, responderOf } from './responder.js';
import { toShown } from './shown-digests.js';
import { afterOthersOfStep, withShownOthers } from './shown-others.js';
import { noteSignature, withSignature } from './sign-answer.js';
import type { ToSign } from './sign-answer.js';
import { votersOf, withRemovedPasskeys } from './voters.js';

/** Records the actor's response to an approval. */
export async function respond(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  body: RespondBody,
  commandId: string,
): Promise<Result> {
  return oversizeResult(body.decision, 'decision.') ?? answer(ports, actor, approvalId, body, commandId);
}

/** The same, for a response whose size is already checked. `inTurn` says when it is made. */
export async function answer(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  body: RespondBody,
  commandId: string,
  inTurn: <Built>(build: () => Built) => Built | Promise<Awaited<Built>> = (build) => build(),
): Promise<Result> {
  return afterOthersOfStep(ports, approvalId, body, () => record(ports, actor, approvalId, body, commandId, inTurn));
}

async function record(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  body: RespondBody,
  commandId: string,
  inTurn: <Built>(build: () => Built) => Built | Promise<Awaited<Built>>,
): Promise<Result> {
  const target = parseApprovalId(approvalId);
  if (target === undefined) return unknownApproval(approvalId);
  const { callId } = target;
  // A denial only restricts: people may give one while calls are stopped.
  const isRestriction = body.decision.type === 'deny';
  let found: ToolCall | undefined;
  let tried: RespondToApproval | undefined;
  const outcome = await withToolCall(
    ports,
    {
      ...{ tenant: actor.tenant, callId, commandId, by: signedBy(actor, body) },
      isRepeat: isSameResponse(approvalId, body),
    },
    toolCallRules.respondToApproval,
    (call) => {
      found = call;
      const build = (): Built => {
        const prohibited =
          (isRestriction ? undefined : stopped(ports, call.request)) ??
          forbidden(ports, call.request, 'judge') ??
          noApproverNow(ports, actor);
        if (prohibited !== undefined) return prohibited;
        tried = toResponse(ports, actor, call, approvalId, body, ports.clock.now());
        return tried;
      };
      const approval = findApproval(call, approvalId);
      const find = (command: RespondToApproval) =>
        whenBuilt(toSigned(ports, { actor, call, approval, body, command }), (one) =>
          whenBuilt(withRemovedPasskeys(ports, actor.tenant, approval, one), (now) =>
            whenBuilt(withShownOthers(ports, call, body, now), (seen) => inBatch(ports, call, seen, commandId)),
          ),
        );
      const begin = () => whenBuilt(inTurn(build), (command) => builtAgain(command, build, find));
      return isRestriction ? begin() : whenStopsKnown(ports, actor.tenant, begin);
    },
  );
  if (outcome.status === 'refused') {
    if (outcome.refusal.code === 'batch-begun') await commitToBatch(ports, { tenant: actor.tenant, callId });
    // Only a denial breaks a batch.
    const done = isRestriction ? await doneByWord(ports, found, commandId) : undefined;
    if (done !== undefined) return done;
    const guess = await recordedGuess(ports, actor, { call: found, tried, commandId });
    return asUnknownApproval(guess ?? outcome, approvalId);
  }
  const gone = withdrawnSince(findApproval(outcome.value, approvalId), actor, body.decision);
  if (gone !== undefined) return gone;
  if (body.signature !== undefined) noteSignature(ports, body.signature);
  const closedAt = await settleBatch(ports, outcome.value);
  return { status: 'done', value: undefined, position: Math.max(outcome.position, closedAt) };
}

/** The passkey is the credential of a signed answer. */
function signedBy(actor: Actor, { signature }: RespondBody): Actor {
  return signature === undefined ? actor : { ...actor, credential: `passkey:${signature.credentialId}` };
}

type Built = RespondToApproval | Refused;

/** The command of a response, with its verified signature if it has one. */
function toSigned(ports: CommandPorts, toSign: ToSign): Built | Promise<Built> {
  const { signature } = toSign.body;
  return signature === undefined ? toSign.command : withSignature(ports, toSign, signature);
}

function whenBuilt(
  built: Built | Promise<Built>,
  next: (command: RespondToApproval) => Built | Promise<Built>,
): Built | Promise<Built> {
  const go = (one: Built): Built | Promise<Built> => ('refusal' in one ? one : next(one));
  return built instanceof Promise ? built.then(go) : go(built);
}

/** The action of the current proposal of an approval; of an unknown approval that of the call. */
export function askedAction(call: ToolCall, approvalId: string): Action {
  const approval = findApproval(call, approvalId);
  return approval === undefined ? call.action : currentProposal(approval).action;
}

/** The approval of the call with this id. */
export function findApproval({ approvals }: ToolCall, approvalId: string): Approval | undefined {
  return approvals.find((one) => one.approvalId === approvalId);
}

/** The refusal for an id of no approval. */
export function unknownApproval(approvalId: string): Refused {
  return refused('unknown-approval', `there is no approval ${approvalId}`);
}

/** A refusal in the words of approvals: a call that does not exist has none. */
export function asUnknownApproval(outcome: Refused, approvalId: string): Refused {
  return outcome.refusal.code === 'not-found' ? unknownApproval(approvalId) : outcome;
}

/** The command of a person's response to this call in its current state. */
export function toResponse(
  ports: CommandPorts,
  actor: Actor,
  call: ToolCall,
  approvalId: string,
  body: RespondBody,
  at: number,
): RespondToApproval {
  const approval = findApproval(call, approvalId);
  const approvers = body.decision.type === 'edit' ? approversOf(ports, actor.tenant, [call.request]) : null;
  return {
    type: 'RespondToApproval',
    at,
    approvalId,
    decision: toDecision(ports, call, approvalId, body.decision),
    isAnswerUnreadable: isAnswerUnreadable(approval),
    ...toShown(ports, call, approval, body),
    actionDigest: body.actionDigest ?? null,
    reason: body.reason ?? null,
    instruction: body.instruction ?? null,
    responder: responderOf(ports, actor, at),
    ...votersOf(ports, actor.tenant, approval, at),
    ...(approvers !== null && { approvers }),
  };
}

function isAnswerUnreadable(approval: Approval | undefined): boolean {
  return approval !== undefined && hasUnreadable(currentProposal(approval).output);
}

function toDecision(ports: CommandPorts, call: ToolCall, approvalId: string, decision: Decision): ResponseDecision {
  switch (decision.type) {
    case 'edit':
      return toEdit(ports, call, askedAction(call, approvalId), decision.arguments);
    case 'answer':
      return toAnswer(ports, decision.output);
    case 'approve':
    case 'deny':
      return decision;
  }
}

/**
 * Attack: guessing a hidden value of an answer, also an erased one, by the digest of the proposal. The salt of a request that hides
 * nothing is recorded in clear.
 */
function toAnswer(ports: Pick<CommandPorts, 'ids'>, output: JsonValue): ResponseDecision {
  const hidesValues = hiddenByName(output).length > 0 || hasUnreadable(output);
  return { type: 'answer', output, hidesValues, ...(hidesValues && { salt: newSalt(ports) }) };
}

function newSalt({ ids }: Pick<CommandPorts, 'ids'>): string {
  return Buffer.from(ids.randomBytes(16)).toString('hex');
}

/** Edited arguments: masks put back, checked against the tool's schema, digested, and judged by the policy once more. */
function toEdit(ports: CommandPorts, call: ToolCall, action: Action, edited: JsonObject): EditDecision {
  const { request } = call;
  const isEdited = action.actionDigest !== request.actionDigest;
  const {
    arguments: args,
    foreign,
    restored,
  } = unmask(edited, action.arguments, {
    salt: action.salt ?? '',
    isEdited,
  });
  const checked = ports.schemas.check(request.toolSchema, args);
  // A value that an approver put back without seeing it stays hidden, also when its name was edited.
  const sensitive = [...new Set([...(checked.status === 'valid' ? checked.sensitive : []), ...restored])];
  const salt = saltOfEdit(ports, action, { arguments: args, sensitive, restored });
  return {
    type: 'edit',
    arguments: args,
    sensitive,
    salt,
    ...(restored.length > 0 && { keeps: restored }),
    actionDigest: actionDigest({ ...request, salt }, args),
    invalid: [...foreign.map(foreignMask), ...schemaErrors(checked)],
    // The decider adds this to the approval's own requirement, so an edit never needs fewer approvals than its
    // arguments do.
    judgement: toDomainJudgement(judgeRecorded(ports, call, { arguments: args })),
  };
}

/**
 * Attack: guessing a hidden value by an edit that writes it again: an equal mask, or an equal digest, would confirm it.
 * So an edit with hidden values has a salt of its own. It keeps the salt only where it says nothing that its author
 * cannot see: where neither hides values, and where the arguments are equal and each hidden value was left as its mask.
 *
 * Attack: guessing an erased value by its digest. The salt is encrypted with the values, so an edit that hides none
 * does not record the salt of one that hides some.
 */
function saltOfEdit(
  ports: Pick<CommandPorts, 'ids'>,
  before: Action,
  { arguments: args, sensitive, restored }: Pick<Action, 'arguments' | 'sensitive'> & { restored: readonly string[] },
): string {
  const hidden = hiddenValues(args, sensitive);
  const hidBefore = hiddenValues(before.arguments, before.sensitive).length > 0;
  const isSame = hidden.every(({ pointer }) => restored.includes(pointer)) && areEqualJson(args, before.arguments);
  const isKept = hidden.length === 0 ? !hidBefore : hidBefore && isSame;
  return before.salt !== null && isKept ? before.salt : newSalt(ports);
}

function foreignMask(pointer: string): FieldError {
  const path = pointer.split('/').slice(1).join('.');
  return { path, message: 'is a mask that stands for no value here: leave the mask in its place or write a new value' };
}

function schemaErrors(checked: SchemaCheck): readonly FieldError[] {
  switch (checked.status) {
    case 'valid':
      return checked.isOverBudget
        ? [{ path: '', message: "takes more work to check against the tool's schema than one request may cost" }]
        : [];
    case 'refused':
      return [{ path: '', message: `cannot be checked against the tool's schema: ${checked.message}` }];
    case 'invalid':
      return checked.errors;
  }
}
