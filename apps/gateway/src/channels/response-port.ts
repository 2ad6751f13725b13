import type { ResponsePort, AnswerResult, ChannelAnswer, Person } from '@countersign/channels';
import { respond, withVotesNow } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import {
  deliveryStream,
  jsonObjectSchema,
  limits,
  parseApprovalId,
  readablePart,
  toolCallStream,
} from '@countersign/contracts';
import type { Decision, DeliveryEvent, Refusal } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { askedTogether, foldCall, toStepQuestion } from '@countersign/read-model';
import { parseStrictJson } from '@countersign/shell';
import { channelsTenant } from './approvers.js';
import type { IsApprover } from './approvers.js';
import { answered, approveAll } from './step-answers.js';
import type { Shown } from './step-answers.js';

/** The dependencies of responding. */
export interface ResponsePorts {
  readonly commands: CommandPorts;
  readonly store: Pick<EventStore, 'readStream'>;
  /** Checked at each response, so that a revoked role takes effect at once. */
  readonly isApprover: IsApprover;
  /** `refused` in a process without the policy that its edits would have to be judged by. Default `judged`. */
  readonly edits?: 'judged' | 'refused';
}

/** Turns channel responses into commands: the same command for every channel, in the name of a verified person. */
export function createResponsePort({ commands, store, isApprover, edits = 'judged' }: ResponsePorts): ResponsePort {
  const recorded = async (callId: string) => foldCall(await store.readStream(toolCallStream(callId)));
  const read = async (callId: string) => {
    const call = await recorded(callId);
    return call && withVotesNow(commands, call);
  };
  const isPending = async ({ approvalId }: Pick<Shown, 'approvalId'>): Promise<boolean> => {
    const call = await recorded(parseApprovalId(approvalId)?.callId ?? '');
    return call?.approvals.find((one) => one.approvalId === approvalId)?.resolution.status === 'pending';
  };
  const recordedFor = async (given: readonly Pick<Shown, 'approvalId'>[]): Promise<AnswerResult> => {
    const isWaiting = (await Promise.all(given.map(isPending))).includes(true);
    return { status: 'recorded', ...(isWaiting && { isWaiting }) };
  };
  const record = async (answer: ChannelAnswer, decision: Decision): Promise<AnswerResult> => {
    const asked = await answered([read, recorded], answer);
    if (asked === undefined) return changed;
    const { approvalId, reason, commandId } = answer;
    const body = { decision, ...(reason === undefined ? {} : { reason }) };
    if (asked.length > 1 && decision.type === 'approve') {
      const result = await approveAll(commands, actorOf(answer), asked, { ...body, commandId });
      return 'status' in result ? recordedFor(asked) : toRefusal(result);
    }
    const outcome = await respond(
      commands,
      actorOf(answer),
      approvalId,
      { ...body, ...boundTo(answer, asked) },
      commandId,
    );
    return outcome.status === 'done' ? recordedFor([{ approvalId }]) : toRefusal(outcome.refusal);
  };
  return {
    find: async (approvalId) => {
      const target = parseApprovalId(approvalId);
      const call = target === undefined ? undefined : await read(target.callId);
      const approval = call?.approvals.find((one) => one.approvalId === approvalId);
      if (call === undefined || approval === undefined || call.request.tenant !== channelsTenant) return undefined;
      const { asked } = await askedTogether(read, { call, approval });
      return toStepQuestion({ call, approval }, asked);
    },
    copies: async (approvalId, channelId) => {
      const stream = deliveryStream({ approvalId, callId: '' });
      const { events } = readablePart(await store.readStream(stream));
      return (events as unknown as readonly DeliveryEvent[]).flatMap((event) =>
        event.type === 'NotificationDelivered' && event.data.channelId === channelId && event.data.messageRef !== null
          ? [event.data.messageRef]
          : [],
      );
    },
    answer: async (answer) => {
      if (!isApprover(answer.person.id)) return noApprover(answer.person);
      const refusal = edits === 'refused' && answer.decision.type === 'edit' ? editElsewhere : oversize(answer);
      if (refusal !== undefined) return refusal;
      const decision = toDecision(answer);
      if (decision === undefined) {
        return { status: 'refused', code: 'invalid-request', detail: 'the arguments are not a JSON object' };
      }
      return record(answer, decision);
    },
  };
}

/** What a response to one approval is bound to. Attack: an instruction between reading and recording makes a denial one to an earlier card. */
function boundTo(
  { approvalId, shownDigest, proposalDigest, decision }: ChannelAnswer,
  asked: readonly Shown[],
): { readonly proposalDigest: string } | { readonly shownDigest: string } {
  if (decision.type === 'deny' && proposalDigest !== undefined && asked.length === 1) return { proposalDigest };
  return { shownDigest: asked.find((one) => one.approvalId === approvalId)?.shownDigest ?? shownDigest };
}

const changed: AnswerResult = {
  status: 'refused',
  code: 'digest-mismatch',
  detail: 'the calls of the step changed after they were shown: look at them again',
};

function noApprover({ id }: Person): AnswerResult {
  const detail = `${id} is not an approver in the tokens file, and not signed in as one`;
  return { status: 'refused', code: 'forbidden', detail };
}

const editElsewhere: AnswerResult = {
  status: 'refused',
  code: 'decision-not-allowed',
  detail: 'this channel cannot edit arguments: edit them in the inbox',
};

/** The argument limit of a request applies to its edit too, through every channel. */
function oversize({ decision }: ChannelAnswer): AnswerResult | undefined {
  const isTooLarge = decision.type === 'edit' && Buffer.byteLength(decision.argumentsText) > limits.argumentsBytesMax;
  if (!isTooLarge) return undefined;
  const detail = `the arguments have more than ${String(limits.argumentsBytesMax)} bytes of JSON`;
  return { status: 'refused', code: 'payload-too-large', detail };
}

function toDecision({ decision }: ChannelAnswer): Decision | undefined {
  if (decision.type !== 'edit') return decision;
  const parsed = parseStrictJson(Buffer.from(decision.argumentsText), 'the arguments');
  const args = parsed.status === 'ok' ? jsonObjectSchema.safeParse(parsed.value) : undefined;
  return args?.success === true ? { type: 'edit', arguments: args.data } : undefined;
}

/** The person of a response, as the rules know them. */
export function actorOf({
  person,
  channelId,
  assurance,
  credential,
  session,
}: Pick<ChannelAnswer, 'person' | 'channelId' | 'assurance' | 'credential' | 'session'>): Actor {
  return { ...approverOf(person), via: channelId, assurance, credential, ...(session !== undefined && { session }) };
}

function approverOf({ id, groups }: Person): Omit<Actor, 'via' | 'assurance'> {
  return { tenant: channelsTenant, principal: id, roles: new Set(['approver']), groups, agentIds: [] };
}

function toRefusal({ code, detail, extra = {} }: Refusal): AnswerResult {
  const { respondedBy, respondedAt, via, resolution } = extra;
  const isWon = [respondedBy, respondedAt, via, resolution].every((one) => typeof one === 'string');
  const winner = { respondedBy, respondedAt, via, resolution } as Extract<AnswerResult, { winner?: unknown }>['winner'];
  return { status: 'refused', code, detail, ...(isWon && winner !== undefined ? { winner } : {}) };
}
