import type { EventData, SystemEventData } from '@countersign/contracts';
import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement } from './judged-event.js';
import type { GrantState, KnownStreams, StreamState } from './streams.js';

/** The backups of which the log was restored. */
export interface Restores {
  /** Adds to each event when the operator restored a backup before it. Where a person went on, nothing ends. */
  readonly seen: (event: JudgedEvent) => JudgedEvent;
  /** Adds to a call or a grant after how many restores it was permitted. */
  readonly placed: (event: JudgedEvent, after: StreamState) => StreamState;
  /** Judges an event by which something goes on that was permitted before. `before`: the state of its stream before it. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined) => Judgement;
}

/** The claims of this resolver run nothing: they only say that a call may have run. */
const restoring = { resolverId: 'countersign-restore', claimedBy: 'countersign-resolver' };

/** The tenant whose log says that an admin knows of a loss. */
const lossTenant = 'default';

const nothing: Judgement = { illegal: [], unproven: [] };
const broken = (rule: Illegal['rule'], detail: string): Judgement => ({
  illegal: [illegal(rule, detail)],
  unproven: [],
});

/**
 * No backup has been restored yet. Attack: what was permitted in a backup, and may have run since, runs once more, without the new
 * response that a restore calls for.
 */
export function createRestores(streams: KnownStreams): Restores {
  let [count, isLossKnown] = [0, true];
  let restoredAt: string | undefined;
  const isOld = ({ restores = 0 }: CallState | GrantState): boolean => restores < count;
  const stateOf = <Kind extends 'call' | 'grant'>(kind: Kind, stream: string) => {
    const state = streams.get(stream)?.state;
    return state?.kind === kind ? (state as Extract<StreamState, { kind: Kind }>) : undefined;
  };
  const isOldMember = (callId: string): boolean => {
    const call = stateOf('call', `toolCall-${callId}`);
    return call !== undefined && isOld(call) && isPermitted(call) && call.execution.status === 'none';
  };
  const isByOldGrant = ({ type, data }: JudgedEvent): boolean => {
    const { grantId } = (data as Partial<EventData<'ToolCallAllowed'>>).verdict ?? {};
    const grant = grantId === undefined ? undefined : stateOf('grant', `grant-${grantId}`);
    return type === 'ToolCallAllowed' && grant !== undefined && isOld(grant);
  };
  const beginsOld = ({ type, data }: JudgedEvent): boolean =>
    type === 'BatchBegun' && (data as { readonly callIds: readonly string[] }).callIds.some(isOldMember);
  const goneOn = (event: JudgedEvent, before: StreamState | undefined): Judgement => {
    if (beginsOld(event)) return broken('batch', `one of its calls ${wasBefore}`);
    if (isByOldGrant(event)) return broken('grant', `the grant ${wasBefore}`);
    const isOfBefore = (before?.kind === 'call' || before?.kind === 'grant') && isOld(before);
    const rule = isOfBefore ? ruleOf(event, before) : undefined;
    return rule === undefined ? nothing : broken(rule, `it ${wasBefore}`);
  };
  const unasked = ({ data, metadata }: JudgedEvent): Judgement => {
    if (isLossKnown || (data as EventData<'ToolCallRequested'>).needsApproval) return nothing;
    return metadata.tenant === lossTenant
      ? broken('request', 'people are asked about each call after a restore, until an admin knows of the loss')
      : { illegal: [], unproven: ['known-loss'] };
  };
  return {
    seen: (event) => {
      const seen = restoredAt === undefined ? event : { ...event, restoredAt };
      if (event.type === 'LogEndAccepted') isLossKnown = true;
      if (!isOfBackup(event)) return seen;
      restoredAt = event.recordedAt;
      [count, isLossKnown] = [count + 1, false];
      return seen;
    },
    placed: (event, after) =>
      count > 0 && (after.kind === 'call' || after.kind === 'grant') && permits(event)
        ? { ...after, restores: count }
        : after,
    judge: (event, before) => {
      if (event.type === 'LogRestored') return judgeBackup(event);
      if (count === 0) return nothing;
      return event.type === 'ToolCallRequested' ? unasked(event) : goneOn(event, before);
    },
  };
}

const wasBefore = 'was permitted before a backup was restored, and nobody has permitted it since';

function isOfBackup({ type, data }: JudgedEvent): boolean {
  return type === 'LogRestored' && (data as SystemEventData<'LogRestored'>).to !== undefined;
}

function judgeBackup({ data }: JudgedEvent): Judgement {
  const { from = 0, to = 0 } = data as SystemEventData<'LogRestored'>;
  return from < to ? broken('stream', 'the backup ends after the last event that was known') : nothing;
}

/** A rule, a grant, people or one person permit a call by it; a grant begins with it; or a call gets the place that leads to its turn. */
function permits({ type, data }: JudgedEvent): boolean {
  if (type === 'ApprovalResponded') return (data as EventData<'ApprovalResponded'>).resolution === 'approved';
  if (type === 'ExecutionReconciled') return (data as EventData<'ExecutionReconciled'>).status === 'retry';
  return permitting.has(type);
}

const permitting: ReadonlySet<string> = new Set(['ToolCallQueued', 'ToolCallAllowed', 'GrantCreated', 'GrantProposed']);

function isPermitted({ permission }: CallState): boolean {
  return permission === 'allowed' || permission === 'approved';
}

function isRestoring({ resolverId, claimedBy }: EventData<'ExecutionClaimed'>): boolean {
  return resolverId === restoring.resolverId && claimedBy === restoring.claimedBy;
}

/** The rule that breaks where what was permitted before goes on by an event; undefined: it does not go on. */
function ruleOf(event: JudgedEvent, before: CallState | GrantState): Illegal['rule'] | undefined {
  if (before.kind === 'call') return goesOn(event, before) ? 'claim' : undefined;
  return event.type === 'GrantUsed' || event.type === 'GrantConfirmed' ? 'grant' : undefined;
}

/** What was permitted goes on by it. A report about a claim that is given up only says what happened. */
function goesOn({ type, data }: JudgedEvent, before: CallState): boolean {
  const { execution, queued } = before;
  switch (type) {
    case 'ExecutionClaimed':
      return !isRestoring(data as EventData<'ExecutionClaimed'>);
    case 'ExecutionClaimRenewed':
      return true;
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
      return execution.status === 'claimed' || (execution.status === 'none' && isPermitted(before));
    case 'ToolCallAllowed':
      return queued !== null;
    default:
      return false;
  }
}
