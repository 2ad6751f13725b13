import { isReadable, isSettled, toolCallStream, upcast } from '@countersign/contracts';
import type {
  GrantEvent,
  GrantView,
  LogEvent,
  PolicyEvent,
  RecordedEvent,
  StateAt,
  ToolCallView,
} from '@countersign/contracts';
import type { Actor } from '@countersign/commands';
import { grantDecider } from '@countersign/domain';
import type { GrantState } from '@countersign/domain';
import { soundReadsOf } from '@countersign/event-store';
import type { SoundReads } from '@countersign/event-store';
import { foldCall, toToolCallView } from '@countersign/read-model';
import { toGrantView } from '../grants.js';
import { createBreather } from '../limits/breather.js';
import type { GatewayPorts } from '../ports.js';
import { createOpenStreams } from './open-streams.js';
import { peopleAt } from './people-at.js';
import { createRightsFold } from './rights-at.js';
import { stopsAt } from './stops-at.js';

const pageSize = 500;
/** The log is read this far beyond the moment: the clock that recorded it may have been set back. */
const slackMs = 3_600_000;
const shownMax = 1000;

/**
 * Reads the log from its beginning up to a moment, inclusive, by the time of the record.
 * @throws the signal's reason.
 */
export async function stateAt(
  ports: GatewayPorts,
  { tenant }: Actor,
  asOf: string,
  signal: AbortSignal,
): Promise<StateAt> {
  const { sealedLog = ports.store } = ports;
  const store = soundReadsOf(ports.store);
  const until = new Date(asOf).toISOString();
  // An event that cannot be read may be of any tenant.
  const isIn = ({ metadata, recordedAt }: LogEvent): boolean =>
    (metadata.tenant === tenant || metadata.tenant === null) && recordedAt <= until;
  const open = createOpenStreams();
  const rights = createRightsFold();
  let policy: PolicyAt | null = null;
  let position = 0;
  const unreadable: number[] = [];
  for await (const event of eventsUpTo(ports, soundReadsOf(sealedLog), Date.parse(asOf), signal)) {
    if (!isIn(event)) continue;
    if (!isReadable(event)) {
      if (unreadable.length < shownMax) unreadable.push(event.position);
      continue;
    }
    position = event.position;
    open.take(event);
    rights.take(event);
    policy = policyAfter(policy, event);
  }
  const read: StreamOf = async (name) => {
    signal.throwIfAborted();
    return store.readStream(name);
  };
  const streamOf: StreamOf = async (name) => (await read(name)).filter(isIn);
  const calls = await openCalls(open.callIds(), streamOf);
  const grants = await openGrants(open.grantStreams(), streamOf, Date.parse(asOf));
  const complete = [calls, grants, unreadable].every(({ length }) => length < shownMax);
  // Those of the operator too, who is another tenant.
  const stops = await stopsAt(tenant, async (name) =>
    (await read(name)).filter(({ recordedAt }) => recordedAt <= until),
  );
  const people = policy === null ? [] : peopleAt(policy.content, Date.parse(asOf));
  return {
    ...{ asOf: until, position, policy: policy === null ? null : namedPolicy(policy) },
    ...{ calls, grants, rights: rights.all(), people, stops, unreadable, complete },
  };
}

type StreamOf = (name: string) => Promise<readonly LogEvent[]>;

async function openCalls(callIds: readonly string[], streamOf: StreamOf): Promise<readonly ToolCallView[]> {
  const calls: ToolCallView[] = [];
  for (const callId of callIds) {
    if (calls.length === shownMax) return calls;
    const call = foldCall(await streamOf(toolCallStream(callId)));
    if (call !== undefined && !isSettled(call.state)) calls.push(toToolCallView(call, 'masked'));
  }
  return calls;
}

async function openGrants(streams: readonly string[], streamOf: StreamOf, atMs: number): Promise<readonly GrantView[]> {
  const grants: GrantView[] = [];
  for (const stream of streams) {
    if (grants.length === shownMax) return grants;
    const view = grantOf((await streamOf(stream)).filter(isReadable), atMs);
    if (view?.state === 'active' || view?.state === 'pending') grants.push(view);
  }
  return grants;
}

async function* eventsUpTo(
  { clock, readModel }: GatewayPorts,
  log: Pick<SoundReads, 'readAll'>,
  atMs: number,
  signal: AbortSignal,
): AsyncGenerator<LogEvent, void> {
  const head = readModel.checkpoint();
  const breathe = createBreather(clock.monotonic);
  for (let after = 0; after < head;) {
    signal.throwIfAborted();
    const page = await log.readAll(after, pageSize);
    const last = page.at(-1);
    if (last === undefined) return;
    for (const event of page) {
      if (Date.parse(event.recordedAt) > atMs + slackMs) return;
      yield event;
    }
    after = last.position;
    await breathe();
  }
}

type PolicyAt = PolicyEvent['data'];

function namedPolicy({ policyVersion, activatedBy, activatedAt }: PolicyAt): StateAt['policy'] {
  return { policyVersion, activatedBy, activatedAt };
}

function policyAfter(before: PolicyAt | null, { type, data }: RecordedEvent): PolicyAt | null {
  return type === 'PolicyActivated' ? (data as PolicyAt) : before;
}

function grantOf(events: readonly RecordedEvent[], atMs: number): GrantView | undefined {
  const state = events
    .map((event) => upcast(event))
    .reduce<GrantState>(
      (before, { type, data }) => grantDecider.evolve(before, { type, data } as GrantEvent),
      grantDecider.initialState(),
    );
  return state.status === 'unknown' ? undefined : toGrantView(state, atMs);
}
