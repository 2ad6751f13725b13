import { setImmediate } from 'node:timers/promises';
import type { Actor } from '@countersign/commands';
import type { Backtest as BacktestBody, EventData, FieldError, RecordedEvent } from '@countersign/contracts';
import { createBacktest, createPolicy, loadPolicyInSteps, PolicyFileError } from '@countersign/policy';
import type { JudgedCall, PolicyContent } from '@countersign/policy';
import { soundReadsOf } from '@countersign/event-store';
import { createLeftOut } from './audit/left-out.js';
import type { LeftOut } from './audit/left-out.js';
import { createBreather } from './limits/breather.js';
import type { GatewayPorts } from './ports.js';
import { invalidRequest } from './validation.js';

const pageSize = 200;
const problemsMax = 100;

/**
 * Judges the recorded calls of the tenant by a candidate policy: a line for each call that changes, and a summary as the
 * last line. Records no verdict. Of a damaged log it judges the calls whose request and verdict can be read; the summary names the
 * events that it leaves out.
 *
 * Attack: an auditor guesses hidden values with expressions, one guess in each rule, unrecorded. So a candidate with
 * expressions is recorded as a read of clear values.
 * @throws ProblemError `invalid-request` when the candidate cannot be used, before the first line.
 */
export async function backtest(
  { store, clock, use }: GatewayPorts,
  actor: Actor,
  { content, from, to }: BacktestBody,
): Promise<AsyncGenerator<string, void>> {
  const candidate = await readCandidate(content, createBreather(clock.monotonic));
  if (candidate.celVersion !== null) {
    const time = { ...(from !== undefined && { since: from }), ...(to !== undefined && { until: to }) };
    await use?.auditRead(actor, { what: 'list', values: 'clear', ...time }, JSON.stringify(content));
  }
  const ruleIds = candidate.rules.map(({ id }) => id);
  const test = createBacktest(createPolicy(candidate), ruleIds);
  const [fromMs, toMs] = [from === undefined ? 0 : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
  const leftOut = createLeftOut(actor.tenant);
  return (async function* lines() {
    for await (const judged of judgedCalls(store, leftOut)) {
      const requestedMs = Date.parse(judged.request.requestedAt);
      if (requestedMs < fromMs || requestedMs > toMs) continue;
      const change = test.add(judged);
      // Attack: rules that take 0.2 s for each call. Others get their turn between two calls.
      await setImmediate();
      if (change !== undefined) yield `${JSON.stringify(change)}\n`;
    }
    yield `${JSON.stringify({ summary: { ...test.summary(), ...leftOut.found() } })}\n`;
  })();
}

async function readCandidate(
  content: BacktestBody['content'],
  breathe: () => Promise<void> | undefined,
): Promise<PolicyContent> {
  const { celEngine } = await import('@countersign/cel');
  try {
    const steps = loadPolicyInSteps('the candidate', content, celEngine);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      const others = breathe();
      if (others !== undefined) await others;
    }
  } catch (error) {
    if (!(error instanceof PolicyFileError)) throw error;
    const toError = ({ path, message }: (typeof error.problems)[number]): FieldError => ({
      path: path === '' ? 'content' : `content.${path}`,
      message,
    });
    throw invalidRequest(error.problems.slice(0, problemsMax).map(toError));
  }
}

/** The calls of a tenant with their first verdict, in the order of the log. */
async function* judgedCalls(store: GatewayPorts['store'], { admit }: LeftOut): AsyncGenerator<JudgedCall> {
  // Request and verdict are appended together, so at most a few requests wait here.
  const waiting = new Map<string, EventData<'ToolCallRequested'>>();
  for (let position = 0; ;) {
    const page = await soundReadsOf(store).readAll(position, pageSize);
    const last = page.at(-1);
    if (last === undefined) return;
    position = last.position;
    for (const event of page) {
      if (!admit(event)) continue;
      const judged = withVerdict(waiting, event);
      if (judged !== undefined) yield judged;
    }
    // Also where no call is of this tenant or time.
    await setImmediate();
  }
}

function withVerdict(
  waiting: Map<string, EventData<'ToolCallRequested'>>,
  { type, data, metadata }: RecordedEvent,
): JudgedCall | undefined {
  const callId = metadata.callId ?? '';
  if (type === 'ToolCallRequested') waiting.set(callId, data as EventData<'ToolCallRequested'>);
  const request = waiting.get(callId);
  if (request === undefined || !verdicts.has(type)) return undefined;
  waiting.delete(callId);
  const { verdict, requirement, question } = data as Judgement;
  return { request, verdict, requirement: requirement ?? question?.requirement ?? null };
}

/** What each kind of verdict has. */
type Judgement = Pick<JudgedCall, 'verdict'> & Partial<JudgedCall> & Partial<EventData<'ToolCallQueued'>>;

const verdicts: ReadonlySet<string> = new Set<RecordedEvent['type']>([
  ...(['ToolCallAllowed', 'ToolCallBlocked', 'ToolCallQueued', 'ApprovalRequested'] as const),
]);
