import { hiddenValues, maskAt, maskEdited } from '@countersign/contracts';
import type { Decision, EventData, JsonObject, JsonValue, RespondBody, ToolCallEvent } from '@countersign/contracts';
import { areEqualJson } from '@countersign/domain';
import type { Action, Approval, ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { refused } from '../result.js';
import { saysTheSame } from '../stream/repeats.js';
import type { Refused } from '../stream/with-tool-call.js';

type Response = EventData<'ApprovalResponded'>;

/**
 * Returns whether a recorded response is the one that is given now. An edit, an answer or a denial must not be answered with another
 * response that was recorded under its key, and neither must one about another proposal, or with another instruction.
 */
export function isSameResponse(approvalId: string, body: RespondBody) {
  return (recorded: readonly ToolCallEvent[], call: ToolCall): boolean => {
    const approval = call.approvals.find((one) => one.approvalId === approvalId);
    return saysTheSame(recorded, {
      ApprovalResponded: (response) =>
        response.reason === (body.reason ?? null) &&
        response.instruction === (body.instruction ?? null) &&
        isAboutShown(response, body) &&
        isSameDecision(response, body.decision, call, approval),
    });
  };
}

/** A response that names all that was shown is recorded with the digest of the proposal, which it may leave out. */
function isAboutShown({ shown }: Response, { proposalDigest, shownDigest }: RespondBody): boolean {
  return proposalDigest === undefined ? (shown !== null) === (shownDigest !== undefined) : shown === proposalDigest;
}

function isSameDecision(response: Response, asked: Decision, call: ToolCall, approval: Approval | undefined): boolean {
  const { decision } = response;
  if (decision.type === 'answer') return asked.type === 'answer' && areEqualJson(decision.output, asked.output);
  if (decision.type !== 'edit') return decision.type === asked.type;
  const edited = approval && actionBefore(response, approval);
  if (asked.type !== 'edit' || edited === undefined) return false;
  const mask = edited.actionDigest === call.request.actionDigest ? maskAt : maskEdited;
  return isSameEdit(asked.arguments, decision.arguments, edited, mask);
}

/** The action that the person edited: that of the proposal before theirs, or of the one that they agreed to. */
function actionBefore({ proposal, respondedBy }: Response, { proposals }: Approval): Action | undefined {
  if (proposal === null) return undefined;
  const isTheirs = proposals[proposal - 1]?.proposedBy === respondedBy;
  return proposals[proposal - (isTheirs ? 2 : 1)]?.action;
}

/**
 * Attack: an approver repeats an edit with a guess in the place of a hidden value, or with its mask in the place of a guess, and reads
 * from "the same" or "another" whether the guess is right. So a hidden value is never compared: an edit that leaves none of
 * them as its mask is another one.
 */
function isSameEdit(asked: JsonObject, recorded: JsonObject, before: Action, mask: typeof maskEdited): boolean {
  const shown = mask(before.arguments, before.sensitive, before.salt);
  const hidden = new Set(hiddenValues(before.arguments, before.sensitive).map(({ pointer }) => pointer));
  const isAlike = (one: JsonValue, other: JsonValue, was: JsonValue | undefined, pointer: string): boolean => {
    if (hidden.has(pointer)) return was !== undefined && areEqualJson(one, was);
    if (!isContainer(one) || !isContainer(other)) return areEqualJson(one, other);
    const keys = Object.keys(one);
    return (
      Array.isArray(one) === Array.isArray(other) &&
      keys.length === Object.keys(other).length &&
      keys.every((key) => {
        const [mine, theirs] = [memberOf(one, key), memberOf(other, key)];
        const place = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        return mine !== undefined && theirs !== undefined && isAlike(mine, theirs, memberOf(was, key), place);
      })
    );
  };
  return isAlike(asked, recorded, shown, '');
}

type Container = Exclude<JsonValue, string | number | boolean | null>;

function isContainer(value: JsonValue | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isContainer(value) && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, JsonValue>>)[key]
    : undefined;
}

const withdrawn = refused(
  'idempotency-key-reused',
  'The response of this idempotency key was withdrawn, and a repeat does not bring it back: use a new key to respond again.',
);

/** The refusal of the repeat of a response that was withdrawn since: it is not answered as if it counted. */
export function withdrawnSince(
  approval: Approval | undefined,
  { principal }: Pick<Actor, 'principal'>,
  { type }: Decision,
): Refused | undefined {
  const alike = (approval?.votes ?? []).filter((vote) => vote.respondedBy === principal && vote.decision.type === type);
  return alike.length > 0 && alike.every(({ status }) => status === 'withdrawn') ? withdrawn : undefined;
}
