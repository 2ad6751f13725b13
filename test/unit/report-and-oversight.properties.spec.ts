import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { currentSchemaVersion, toEventView, toolCallStream } from '@countersign/contracts';
import type { NewEvent, RecordedEvent } from '@countersign/contracts';
import { defaultPace } from '@countersign/domain';
import { lives } from '@countersign/domain/testing';
import { createReportFold } from '@countersign/exports';
import type { ReportList, ReportRow } from '@countersign/exports';
import { createOversight } from '@countersign/read-model';

type Life = typeof lives extends fc.Arbitrary<infer L> ? L : never;

/** A log of a few calls, each a life that the domain accepts, in the order of their times. */
const logs = fc
  .tuple(fc.array(lives, { minLength: 1, maxLength: 3 }), fc.array(fc.nat(20_000), { minLength: 8, maxLength: 8 }))
  .map(([all, delays]) => toLog(all, delays));

type Happening = Pick<NewEvent, 'type' | 'data'> & { readonly atMs: number; readonly call: number };

function toLog(all: readonly Life[], delays: readonly number[]): readonly RecordedEvent[] {
  const happenings = all.flatMap((life, call) =>
    life.flatMap(({ command: { at }, events }, n) =>
      events.flatMap((event): Happening[] => {
        const one = { ...event, atMs: at, call };
        const deliveredMs = at + (delays[n % delays.length] ?? 0);
        return event.type === 'ApprovalRequested' ? [one, delivered(deliveredMs, call)] : [one];
      }),
    ),
  );
  const revisions = new Map<number, number>();
  return happenings
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ type, data, atMs, call }, index) => {
      const revision = revisions.get(call) ?? 0;
      revisions.set(call, revision + 1);
      const callId = `call_${String(call)}`;
      const metadata = { tenant: 'default', callId, runId: 'run', schemaVersion: currentSchemaVersion, commandId: 'c' };
      const place = { stream: toolCallStream(callId), revision, position: index + 1 };
      return { eventId: String(index), type, data, metadata, ...place, recordedAt: new Date(atMs).toISOString() };
    }) as readonly RecordedEvent[];
}

function delivered(atMs: number, call: number): Happening {
  const data = { channelId: 'inbox', deliveredAt: new Date(atMs).toISOString() };
  return { type: 'NotificationDelivered', data, atMs, call } as unknown as Happening;
}

const earlier = (
  events: readonly RecordedEvent[],
  {
    metadata: { callId },
    position,
  }: { readonly metadata: { readonly callId: string | null }; readonly position: number },
) => events.filter((one) => one.metadata.callId === callId && one.position < position);

interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

async function byOversight(events: readonly RecordedEvent[], { fromMs, toMs }: Period) {
  const oversight = createOversight({ by: 'approver', fromMs, toMs, pace: defaultPace });
  for (const event of events) {
    if (Date.parse(event.recordedAt) < fromMs) continue;
    if (oversight.isLost(event)) oversight.recall(earlier(events, event));
    oversight.add(event);
  }
  const { total } = await oversight.rows();
  return total;
}

function byReport(events: readonly RecordedEvent[], { fromMs, toMs }: Period) {
  const lists = new Map<ReportList, ReportRow[]>();
  const report = createReportFold((list, row) => void lists.set(list, [...(lists.get(list) ?? []), row]));
  for (const event of events) {
    const atMs = Date.parse(event.recordedAt);
    if (atMs < fromMs || atMs >= toMs) continue;
    const view = toEventView(event, 'masked');
    if (report.isLost(view)) report.recall(earlier(events, event).map((one) => toEventView(one, 'masked')));
    report.take(view);
  }
  const rows = (list: ReportList) => lists.get(list) ?? [];
  const decided = (type: string) => rows('decisions').filter(({ decision }) => decision === type).length;
  return {
    ...{ decisions: rows('decisions').length, approvals: decided('approve'), denials: decided('deny') },
    ...{ edits: decided('edit'), answers: decided('answer'), fastApprovals: rows('fast').length },
    ...{ onBehalfOf: rows('delegated').length, withdrawn: rows('withdrawn').length, automatic: rows('silence').length },
  };
}

it('the report and the figures of oversight agree on each period of any log', async () => {
  await fc.assert(
    fc.asyncProperty(logs, fc.nat(60), fc.nat(400), async (events, from, length) => {
      const beganMs = Date.parse(events[0]?.recordedAt ?? '');
      const fromMs = beganMs + from * 60_000;
      const period = { fromMs, toMs: fromMs + length * 60_000 };
      expect(byReport(events, period)).toEqual(expect.objectContaining(pick(await byOversight(events, period))));
    }),
    { numRuns: 200 },
  );
});

function pick({
  decisions,
  approvals,
  denials,
  edits,
  answers,
  fastApprovals,
  onBehalfOf,
  withdrawn,
  automatic,
}: Awaited<ReturnType<typeof byOversight>>) {
  return { decisions, approvals, denials, edits, answers, fastApprovals, onBehalfOf, withdrawn, automatic };
}
