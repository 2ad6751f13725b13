import type { Actor } from '@countersign/commands';
import { isReadable, shadowPolicyStream } from '@countersign/contracts';
import type { ChangedCall, EventData, LogEvent, PolicyEvent, ShadowReport } from '@countersign/contracts';
import { soundReadsOf } from '@countersign/event-store';
import { createLeftOut } from './audit/left-out.js';
import { createBreather } from './limits/breather.js';
import type { FairTurns } from './limits/fair-turns.js';
import type { GatewayPorts } from './ports.js';

type Ports = Pick<GatewayPorts, 'store' | 'readModel' | 'clock'>;
type ShadowVerdict = EventData<'ToolCallShadowJudged'>;

const pageSize = 200;
/** About half a minute of reading. */
const eventsMax = 2_000_000;
const listedMax = 200;

const nothing: ShadowReport = {
  ...{ policyVersion: null, since: null, calls: 0, changed: 0, complete: true },
  ...{ rules: [], changes: [] },
};

/**
 * Returns the verdicts of the latest candidate policy about the calls that were requested since it began to judge. One
 * report is made at a time. Events that cannot be read are left out and named.
 * @throws the signal's reason.
 */
export function shadowReport(ports: Ports, turns: FairTurns, actor: Actor, signal: AbortSignal): Promise<ShadowReport> {
  return turns.run(`${actor.tenant}\n${actor.principal}`, async () => {
    const stream = await soundReadsOf(ports.store).readStream(shadowPolicyStream(actor.tenant));
    const activated = stream.findLast(isReadable);
    if (activated === undefined) return nothing;
    const { policyVersion, content, activatedAt } = activated.data as PolicyEvent['data'];
    const tally = createTally(ruleIdsOf(content));
    const leftOut = createLeftOut(actor.tenant);
    const complete = await readOn(ports, activated.position, signal, (event) => {
      if (!leftOut.admit(event) || event.type !== 'ToolCallShadowJudged') return;
      const verdict = event.data as ShadowVerdict;
      if (verdict.policyVersion === policyVersion) tally.add(event.metadata.callId ?? '', verdict);
    });
    const changes = tally.latest().flatMap(([callId, verdict]) => toChange(ports, actor.tenant, callId, verdict) ?? []);
    return { policyVersion, since: activatedAt, complete, ...tally.counts(), changes, ...leftOut.found() };
  });
}

/** Reads the log from a position to its end. Returns false when it is too long to be read whole. */
async function readOn(
  { store, clock }: Ports,
  position: number,
  signal: AbortSignal,
  add: (event: LogEvent) => void,
): Promise<boolean> {
  const breathe = createBreather(clock.monotonic);
  const head = await store.head();
  let after = position;
  for (let looked = 0; after < head;) {
    signal.throwIfAborted();
    const page = await soundReadsOf(store).readAll(after, pageSize);
    page.forEach(add);
    await breathe();
    const last = page.at(-1);
    if (last === undefined) return true;
    after = last.position;
    looked += page.length;
    if (looked >= eventsMax && after < head) return false;
  }
  return true;
}

function ruleIdsOf({ rules }: PolicyEvent['data']['content']): readonly string[] {
  return Array.isArray(rules) ? rules.map((rule) => String((rule as { readonly id?: unknown } | null)?.id)) : [];
}

/** Counts a candidate's verdicts by rule, and keeps the latest that differ. */
function createTally(ruleIds: readonly string[]) {
  const byRule = new Map(ruleIds.map((ruleId) => [ruleId, { calls: 0, changed: 0 }]));
  const differing: (readonly [callId: string, verdict: ShadowVerdict])[] = [];
  let [calls, changed] = [0, 0];
  return {
    add: (callId: string, verdict: ShadowVerdict): void => {
      const isChanged = verdict.differs.length > 0;
      const counted = byRule.get(verdict.ruleId) ?? { calls: 0, changed: 0 };
      byRule.set(verdict.ruleId, { calls: counted.calls + 1, changed: counted.changed + Number(isChanged) });
      calls += 1;
      if (!isChanged) return;
      changed += 1;
      differing.push([callId, verdict]);
      if (differing.length > listedMax) differing.shift();
    },
    counts: () => ({ calls, changed, rules: [...byRule].map(([ruleId, counted]) => ({ ruleId, ...counted })) }),
    latest: () => differing.toReversed(),
  };
}

function toChange(
  { readModel }: Ports,
  tenant: string,
  callId: string,
  { live: before, outcome, ruleId, differs, why }: ShadowVerdict,
): ChangedCall | undefined {
  const request = readModel.toolCall(tenant, callId)?.request;
  if (request === undefined) return undefined;
  const { runId, agentId, toolName, requestedAt } = request;
  return { callId, runId, agentId, toolName, requestedAt, before, after: { outcome, ruleId }, differs, why };
}
