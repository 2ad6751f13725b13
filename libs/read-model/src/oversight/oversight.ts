import { comparedIdentity, isReadable, shownCharacters, toToolCallEvent, upcast } from '@countersign/contracts';
import type {
  EventData,
  LogEvent,
  OversightGrouping,
  OversightReport,
  RecordedEvent,
  ToolCallEvent,
  UnreadableEvent,
} from '@countersign/contracts';
import { answerableAtMs, isFast, readingMs, toolCallDecider } from '@countersign/domain';
import type { Approval, Pace, ToolCallState, Vote } from '@countersign/domain';
import { SumsByKey } from './figures.js';
import type { Counted } from './figures.js';

/** The options of a report. */
export interface OversightOptions {
  readonly by: OversightGrouping;
  /** The start of the period in epoch ms, inclusive. */
  readonly fromMs: number;
  /** The end of the period in epoch ms, exclusive. */
  readonly toMs: number;
  readonly pace: Pace;
  /** Counts only what this principal did; undefined: everything. */
  readonly principal?: string | undefined;
}

/** A report in the making, out of the events of one tenant in their order. */
export interface Oversight {
  /** True for an event that means nothing without the earlier events of its stream: give them to `recall` first. */
  readonly isLost: (event: RecordedEvent) => boolean;
  /** Takes the earlier events about the call, and counts nothing. */
  readonly recall: (events: readonly LogEvent[]) => void;
  /** Follows the call of an event that cannot be read no further. */
  readonly setAside: (event: UnreadableEvent) => void;
  readonly add: (event: RecordedEvent) => void;
  /** The sums so far. `breathe` may give others their turn between two rows. */
  readonly rows: (
    breathe?: () => Promise<void> | undefined,
  ) => Promise<Pick<OversightReport, 'rows' | 'others' | 'total' | 'fastPositions'>>;
}

/** A call whose approval is pending, or whose verdict is about to come. Without its arguments: many may be pending. */
interface Followed {
  readonly state: ToolCallState;
  /** The length of the arguments of each proposal of the question as JSON, with hidden values masked. The first is the request. */
  readonly characters: ReadonlyMap<number, number>;
  /** When a channel first showed its card, by the channel's id, in epoch ms. */
  readonly shownMs: ReadonlyMap<string, number>;
}

/** The events of a pending approval. */
const approvalEvents: ReadonlySet<string> = new Set<ToolCallEvent['type']>([
  'ApprovalRequested',
  'ApprovalResponded',
  'ResponseWithdrawn',
  'ValuesRevealed',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ToolCallCancelled',
  'ToolCallCommitted',
]);
const followedEvents: ReadonlySet<string> = new Set<string>([
  ...approvalEvents,
  ...(['ToolCallRequested', 'ToolCallAllowed', 'ToolCallBlocked'] satisfies ToolCallEvent['type'][]),
]);

const fastPositionsMax = 1000;

const unrequested: Followed = { state: toolCallDecider.initialState(), characters: new Map(), shownMs: new Map() };

class OversightFold implements Oversight {
  readonly #options: OversightOptions;
  readonly #sums = new SumsByKey();
  readonly #followed = new Map<string, Followed>();
  /** The calls with an event that cannot be read. */
  readonly #aside = new Set<string>();
  readonly #fastPositions: number[] = [];

  constructor(options: OversightOptions) {
    this.#options = options;
  }

  readonly isLost = ({ type, data, metadata: { callId } }: RecordedEvent): boolean =>
    callId !== null &&
    !this.#aside.has(callId) &&
    approvalEvents.has(type) &&
    !this.#followed.has(callId) &&
    (data as { readonly approvalId: string | null }).approvalId !== null;

  readonly recall = (events: readonly LogEvent[]): void => {
    for (const event of events) {
      if (!isReadable(event)) this.setAside(event);
      else if (event.type === 'NotificationDelivered') this.#shown(event);
      // A question that is over is kept: the next event may be one that asks again.
      else this.#follow(event, true);
    }
  };

  readonly setAside = ({ metadata: { callId } }: UnreadableEvent): void => {
    if (callId === null) return;
    this.#followed.delete(callId);
    this.#aside.add(callId);
  };

  readonly add = (event: RecordedEvent): void => {
    const { callId } = event.metadata;
    if (callId === null) return;
    if (event.type === 'NotificationDelivered') this.#shown(event);
    const before = this.#followed.get(callId);
    const after = this.#follow(event);
    if (before === undefined || after === undefined || !approvalEvents.has(event.type)) return;
    const recordedMs = Date.parse(event.recordedAt);
    if (recordedMs >= this.#options.fromMs && recordedMs < this.#options.toMs) {
      this.#count(toToolCallEvent(event), before, after, event.position);
    }
  };

  readonly rows: Oversight['rows'] = async (breathe) => ({
    ...(await this.#sums.rows(breathe)),
    fastPositions: this.#fastPositions,
  });

  /** The call after one more event; undefined for an event that this report does not look at. */
  #follow(recorded: RecordedEvent, keeps = false): Followed | undefined {
    const { type, metadata } = recorded;
    const callId = metadata.callId ?? '';
    const before = this.#followed.get(callId) ?? (type === 'ToolCallRequested' ? unrequested : undefined);
    if (before === undefined || this.#aside.has(callId) || !followedEvents.has(type)) return undefined;
    const after = followedAfter(before, toToolCallEvent(upcast(recorded)));
    if (!keeps && isOver(after.state, type)) this.#followed.delete(callId);
    else this.#followed.set(callId, after);
    return after;
  }

  /** A copy for one person says nothing of when the others saw it. */
  #shown({ data, metadata }: RecordedEvent): void {
    const callId = metadata.callId ?? '';
    const call = this.#followed.get(callId);
    const { channelId, deliveredAt } = data as { readonly channelId: string; readonly deliveredAt: string };
    if (call === undefined || call.shownMs.has(channelId)) return;
    const shownMs = new Map(call.shownMs).set(channelId, Date.parse(deliveredAt));
    this.#followed.set(callId, { ...call, shownMs });
  }

  #count(event: ToolCallEvent, before: Followed, { state }: Followed, position: number): void {
    const approval = state.status === 'recorded' ? state.approvals.at(-1) : undefined;
    const earlier = before.state.status === 'recorded' ? before.state.approvals.at(-1) : undefined;
    if (approval === undefined || approval === earlier) return;
    if (event.type === 'ValuesRevealed') this.#add(state, event.data.revealedBy, ['reveals']);
    else if (event.type === 'ApprovalResponded') {
      const isFastOne = this.#vote(event.data, approval, before, state);
      if (isFastOne && this.#fastPositions.length < fastPositionsMax) this.#fastPositions.push(position);
    } else if (event.type === 'ResponseWithdrawn') this.#withdrawal(event.data, state);
    else this.#add(state, null, figuresOf(event));
  }

  /** A front end or an admin that ends a person's vote decided nothing itself. */
  #withdrawal({ withdrawnBy, castBy, roles }: EventData<'ResponseWithdrawn'>, state: ToolCallState): void {
    const isOfAnother = castBy !== undefined && roles?.includes('approver') === false;
    this.#add(state, isOfAnother ? castBy : withdrawnBy, ['withdrawn']);
  }

  /** Returns whether it counts as a fast approval. */
  #vote(
    { automatic, respondedBy, onBehalfOf }: EventData<'ApprovalResponded'>,
    approval: Approval,
    before: Followed,
    state: ToolCallState,
  ): boolean {
    const vote = approval.votes.at(-1);
    if (vote === undefined) return false;
    if (automatic) {
      this.#add(state, null, ['automatic']);
      return false;
    }
    const { pace } = this.#options;
    const respondedMs = Date.parse(vote.respondedAt);
    const answerableMs = answerableAtMs(approval, vote);
    const seenMs = Math.max(answerableMs, before.shownMs.get(vote.via) ?? 0);
    const fast = isFast(vote, respondedMs - seenMs, readingMs(pace, before.characters.get(vote.proposal) ?? 0));
    const figures: Counted[] = ['decisions', decided[vote.decision.type]];
    if (fast) figures.push('fastApprovals');
    if (onBehalfOf !== null) figures.push('onBehalfOf');
    return this.#add(state, respondedBy, figures, Math.max(0, respondedMs - answerableMs)) && fast;
  }

  /** Returns whether this report counts what the person did. */
  #add(state: ToolCallState, principal: string | null, figures: readonly Counted[], tookMs?: number): boolean {
    const { by, principal: only } = this.#options;
    const person = principal === null ? null : comparedIdentity(principal);
    if (state.status !== 'recorded' || (only !== undefined && person !== comparedIdentity(only))) return false;
    const keys = {
      approver: person,
      tool: state.request.toolName,
      rule: state.approvals.at(-1)?.verdict.ruleId ?? null,
    };
    this.#sums.add(keys[by], figures, tookMs);
    return true;
  }
}

const decided = { approve: 'approvals', edit: 'edits', deny: 'denials', answer: 'answers' } as const satisfies Record<
  Vote['decision']['type'],
  Counted
>;

function figuresOf({ type }: ToolCallEvent): readonly Counted[] {
  switch (type) {
    case 'ApprovalRequested':
      return ['requests'];
    case 'ApprovalExpired':
      return ['expiries'];
    case 'ApprovalEscalated':
      return ['escalations'];
    case 'ApproversReminded':
      return ['reminders'];
    case 'ToolCallCancelled':
    case 'ToolCallCommitted':
      return ['cancellations'];
    default:
      return [];
  }
}

function followedAfter({ state, characters, shownMs }: Followed, event: ToolCallEvent): Followed {
  const after = toolCallDecider.evolve(state, withoutArguments(event));
  // Each question has messages and proposals of its own.
  if (event.type === 'ApprovalRequested')
    return { state: after, characters: new Map([[1, characters.get(1) ?? 0]]), shownMs: new Map() };
  const shown = charactersOf(event);
  if (shown === undefined) return { state: after, characters, shownMs };
  const approval = after.status === 'recorded' ? after.approvals.at(-1) : undefined;
  const proposal = approval?.votes.at(-1)?.proposal ?? 1;
  // An edit that changes nothing is a vote for the request.
  const isKnown = proposal === 1 && characters.has(1);
  return { state: after, characters: isKnown ? characters : new Map(characters).set(proposal, shown), shownMs };
}

/** Nothing more can happen to its approvals, except that it is asked about again. */
function isOver(state: ToolCallState, type: RecordedEvent['type']): boolean {
  if (state.status !== 'recorded' || type === 'ToolCallRequested') return false;
  return state.approvals.at(-1)?.resolution.status !== 'pending';
}

function charactersOf(event: ToolCallEvent): number | undefined {
  if (event.type === 'ToolCallRequested') return shownCharacters(event.data.arguments, event.data.sensitive);
  if (event.type !== 'ApprovalResponded' || event.data.decision.type !== 'edit') return undefined;
  const { decision } = event.data;
  return shownCharacters(decision.arguments, decision.sensitive);
}

function withoutArguments(event: ToolCallEvent): ToolCallEvent {
  if (event.type === 'ToolCallRequested') {
    return { ...event, data: { ...event.data, arguments: {}, toolSchema: null, sensitive: [] } };
  }
  if (event.type !== 'ApprovalResponded' || event.data.decision.type !== 'edit') return event;
  return { ...event, data: { ...event.data, decision: { ...event.data.decision, arguments: {} } } };
}

/**
 * Starts a report. It holds the calls whose approvals are pending, the sums of at most 10,000 keys, and one number for
 * each decision.
 */
export function createOversight(options: OversightOptions): Oversight {
  return new OversightFold(options);
}
