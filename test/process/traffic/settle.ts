import { isSettled } from '@countersign/contracts';
import type { EventView, ToolCallView } from '@countersign/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAuditLines } from '../audit/log.js';
import type { Http } from '../harness/http.js';
import type { Tokens } from '../harness/tokens.js';
import { execute, SceneOver } from './scene.js';
import type { Stage } from './scene.js';
import { httpToolAgain, httpToolOnce, moduleTool, moduleToolWithoutApproval } from './tools.js';

const ofTheService = new Set([moduleTool, moduleToolWithoutApproval, httpToolOnce, httpToolAgain]);
/**
 * The resolver's own lease is 60 s: a call that a kill left claimed becomes unknown after that. A stuck Kafka consumer
 * is detected after three minutes, and its process is restarted.
 */
const patienceMs = 270_000;
/** Between two looks at the calls that are open: at first the work goes on at once, later a lease or a deadline has to end. */
const [pauseMs, pauseMsMax] = [100, 500];

/** The whole log as an auditor reads it. */
export async function readAuditLog(http: Http, tokens: Tokens): Promise<ReturnType<typeof readAuditLines>> {
  const all: EventView[] = [];
  for (let path: string | undefined = '/v1/audit/events?limit=10000&values=clear'; path !== undefined;) {
    const answer = await http.send({ method: 'GET', path, token: tokens.me, timeoutMs: 60_000 });
    if (answer.status !== 200) throw new Error(`the audit log answered ${answer.status}: ${answer.text.slice(0, 300)}`);
    all.push(...readAuditLines(answer.text));
    path = /<([^>]+)>; rel="next"/.exec(String(answer.headers['link'] ?? ''))?.[1];
  }
  return all;
}

/**
 * The end of the storm: workers continue with what they may run, people reconcile unknown outcomes, deadlines and
 * leases end. Returns the calls that are still open. Skips the calls in `ended`, and adds the others to it as they end.
 */
export async function settle(
  http: Http,
  tokens: Tokens,
  stage: Stage,
  ended = new Set<string>(),
): Promise<readonly string[]> {
  const giveUpAt = Date.now() + patienceMs;
  const log = await readAuditLog(http, tokens);
  let pause = pauseMs;
  let open = [...new Set(log.flatMap(({ callId }) => callId ?? []))].filter((callId) => !ended.has(callId));
  for (;;) {
    const stillOpen: string[] = [];
    for (const group of inGroups(open, 16)) {
      const states = await Promise.all(group.map(async (callId) => [callId, await helpOn(stage, callId)] as const));
      for (const [callId, isOpen] of states) {
        if (isOpen) stillOpen.push(callId);
        else ended.add(callId);
      }
    }
    open = stillOpen;
    if (open.length === 0 || Date.now() > giveUpAt) return open;
    await sleep(pause);
    pause = Math.min(pause + pauseMs, pauseMsMax);
  }
}

function* inGroups<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Does what can be done for a call now. Returns whether it is open. */
async function helpOn(stage: Stage, callId: string): Promise<boolean> {
  const reply = await stage.ledger.call(callId);
  if (reply.status === 'refused') throw new Error(`${callId} is in the log and answers ${reply.code}`);
  const call = reply.value;
  if (isSettled(call.state) && call.state !== 'unknown') return false;
  try {
    await actOn(stage, call);
  } catch (error) {
    if (!(error instanceof SceneOver)) throw error;
  }
  return true;
}

/** A deadline that is not worth waiting for. */
const farMs = 20_000;

async function actOn(stage: Stage, { callId, state, toolName, approval }: ToolCallView): Promise<void> {
  if (state === 'unknown') {
    const status = stage.random.pick(['succeeded', 'failed', 'retry'] as const);
    await stage.ledger.reconcile(callId, { status, note: 'asked the owner of the tool' });
  }
  // A scene that was interrupted, for example by a restart longer than a lease, leaves pending approvals.
  if (state === 'awaiting_approval' && approval !== null && Date.parse(approval.expiresAt ?? '') > Date.now() + farMs) {
    await stage.ledger.respond(approval.approvalId, { decision: { type: 'deny' } });
  }
  // Claims expire with their leases, and the resolver runs the service's own calls.
  if ((state === 'allowed' || state === 'approved') && !ofTheService.has(toolName)) {
    // The members of a batch that cannot complete are refused until they are cancelled.
    await execute(stage, callId, 'batch-incomplete', 'not-approved');
  }
}
