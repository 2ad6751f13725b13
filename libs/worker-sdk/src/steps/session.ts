import { jcsDigest, type ToolCallView } from '@countersign/contracts';
import { createChanges, type Changed, type Changes } from '../ledger/changes.js';
import { linkedController } from '@countersign/http-client';
import { CountersignError, isRefusal } from '../errors.js';
import { rejectOnAbort } from '../ledger/reject-on-abort.js';
import type { ExecutionPorts } from '../execution/execution-ports.js';
import { createRuns, type Executions, type Runs } from '../execution/executions.js';
import type { GateTool } from '../tools/tool-definition.js';
import { lookRegularly } from '../ledger/look-regularly.js';
import { hasNews, inTurn, isDone, isForClient, isOpen, viewOf, type Session } from '../results/outcome.js';
import type { Requests } from '../ledger/requests.js';
import { issuesText } from '../tools/schema.js';
import { restraintOn } from '../execution/must-ask.js';
import { changedArguments } from '../execution/verify-claim.js';

/** Advances the sessions of one worker. */
export interface Sessions {
  /** Stores what was read in the session. Throws `not-found` for a call that the ledger does not know. */
  readonly take: (session: Session, calls: readonly ToolCallView[]) => void;
  /** Executes what may run now, and looks again afterwards. */
  readonly settle: (session: Session, signal: AbortSignal) => Promise<void>;
  /** Ends the calls of clients whose arguments the tool refuses now. Executes nothing. */
  readonly refuseInvalid: (session: Session, signal: AbortSignal) => Promise<void>;
  /** Waits until there is news and nothing of the session is running here; executes what gets approved meanwhile. */
  readonly follow: (session: Session, signal: AbortSignal) => Promise<void>;
}

/** The dependencies of sessions. */
export interface SessionPorts extends ExecutionPorts {
  readonly requests: Requests;
  readonly tools: ReadonlyMap<string, GateTool>;
  readonly executions: Executions;
  readonly runsElsewhere: (toolName: string) => boolean;
  /** Hears of each call that is read. */
  readonly notice: (call: ToolCallView) => void;
}

export function createSessions(ports: SessionPorts): Sessions {
  const { requests, tools, executions, runsElsewhere } = ports;

  /** Returns whether one was started. Throws when the signal has aborted: nothing starts then. */
  const startRunnable = (session: Session, runs: Runs, signal: AbortSignal): boolean => {
    signal.throwIfAborted();
    const before = runs.count();
    for (const call of inTurn(session)) {
      const view = viewOf(session, call);
      if (view === undefined || runs.has(view.callId)) continue;
      const tool = tools.get(view.toolName);
      // The record counts: after a deploy the tool here may be another, and a worker from before may run the call.
      const isOurs = !runsElsewhere(view.toolName) && !isByClient(view) && !isByClient(tool);
      const mayRun = isOurs && isOpen(view) && isBatchReady(session);
      const run = executions.joinOrBegin(
        view,
        mayRun ? { call: view, tool, argumentsHash: call.argumentsHash, given: session.given } : undefined,
      );
      if (run !== undefined) runs.add(view.callId, run);
    }
    return runs.count() > before;
  };

  const refuseInvalidNow = async (session: Session, signal: AbortSignal): Promise<void> => {
    const changed = [
      ...(await askAboutClientCalls(requests, session, tools, signal)),
      ...(await refuseInvalid(requests, session, tools, signal)),
    ];
    for (const callId of changed) await refresh(ports, session, new Set([callId]), signal);
  };

  /** Throws for an open call that has another executor here than in its record: it would wait in vain, or run twice. */
  const refuseOtherExecutor = (session: Session): void => {
    const calls = session.state.calls.flatMap((call) => viewOf(session, call) ?? []);
    const other = calls.find(
      (view) =>
        isOpen(view) && !runsElsewhere(view.toolName) && isByClient(view) !== isByClient(tools.get(view.toolName)),
    );
    if (other === undefined) return;
    const error = otherExecutor(other);
    ports.log.error({ callId: other.callId, toolName: other.toolName, code: error.code }, error.message);
    throw error;
  };

  const settle = async (session: Session, signal: AbortSignal): Promise<void> => {
    const runs = createRuns(session);
    const aborted = rejectOnAbort(signal);
    try {
      // Again, because in a sequential step the end of a call lets the next one start.
      while (startRunnable(session, runs, signal)) {
        await Promise.race([runs.allOver(executions.whenStopped), aborted.promise]);
      }
    } finally {
      aborted.release();
    }
    await refuseInvalidNow(session, signal);
    refuseOtherExecutor(session);
  };

  const follow = async (session: Session, signal: AbortSignal): Promise<void> => {
    const changes = createChanges();
    const listening = linkedController(signal);
    void requests.listen(session.state.runId, onlyOf(session, changes), listening.signal);
    const stopLooking = lookRegularly(ports.clock, changes);
    const runs = createRuns(session, changes);
    changes.addAnything();
    try {
      for (;;) {
        const changed = await changes.next(signal);
        await refresh(ports, session, changed, signal);
        await refuseInvalidNow(session, signal);
        runs.forgetRefusals(changed);
        startRunnable(session, runs, signal);
        if (runs.count() > 0) continue;
        if (hasNews(session, tools) || isDone(session)) return;
        refuseOtherExecutor(session);
      }
    } finally {
      stopLooking();
      listening.abort(new Error('no longer waiting'));
      listening.release();
    }
  };
  return {
    settle,
    refuseInvalid: refuseInvalidNow,
    follow,
    take: (session, calls) => takeViews(ports, session, calls),
  };
}

/** Returns whether the client executes a recorded call, or the calls of a tool. */
function isByClient(one: ToolCallView | GateTool | undefined): boolean {
  return one?.clientExecuted === true;
}

/** In an all-or-nothing step nothing runs before everything may. The server holds to it in any case: this saves asking. */
function isBatchReady(session: Session): boolean {
  if (session.state.batchMode !== 'all-or-nothing') return true;
  return session.state.calls.every((call) => viewOf(session, call)?.state !== 'awaiting_approval');
}

/** A run may have more calls than those of this session. */
function onlyOf(session: Session, changes: Changes): Changes {
  const ours = new Set(session.state.calls.map((call) => call.callId));
  return {
    ...changes,
    add: (callId) => {
      if (ours.has(callId)) changes.add(callId);
    },
  };
}

/** Looks at the calls again; a server that is away is waited for. */
async function refresh(ports: SessionPorts, session: Session, changed: Changed, signal: AbortSignal): Promise<void> {
  const options = { signal, attempts: Infinity };
  const calls =
    changed === 'anything'
      ? await ports.requests.calls(session.state, options)
      : await Promise.all([...changed].map((callId) => ports.requests.call(callId, options)));
  takeViews(ports, session, calls);
}

function takeViews({ notice }: SessionPorts, session: Session, calls: readonly ToolCallView[]): void {
  const ours = new Set(session.state.calls.map(({ callId }) => callId));
  for (const view of calls) {
    if (ours.has(view.callId)) notice(view);
    const known = session.views.get(view.callId);
    if (known === undefined || known.revision <= view.revision) session.views.set(view.callId, view);
  }
  const missing = session.state.calls.find((call) => call.callId !== null && !session.views.has(call.callId));
  if (missing === undefined) return;
  const message = `the ledger does not know the call ${String(missing.callId)} of run ${session.state.runId}`;
  throw new CountersignError({ code: 'not-found', message });
}

/**
 * Asks people about calls of clients that their tool does not leave to the client alone, or ends those that it denies. Returns those calls. The client gets none
 * about which people cannot be asked: then it throws.
 */
async function askAboutClientCalls(
  requests: Requests,
  session: Session,
  tools: ReadonlyMap<string, GateTool>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const asked: string[] = [];
  for (const { argumentsHash, callId } of session.state.calls) {
    const call = session.views.get(callId ?? '');
    if (call === undefined || !isForClient(call, tools)) continue;
    const tool = tools.get(call.toolName);
    const restraint = await restraintOn({ call, tool, argumentsHash, given: session.given }, signal);
    if (restraint === undefined) continue;
    if ('ask' in restraint) await requests.approval(call.callId, restraint.ask, { signal });
    else await denyClientCall(requests, call.callId, restraint.deny, signal);
    asked.push(call.callId);
  }
  return asked;
}

/** Cancels it. In a batch that has begun no call can be cancelled, so there it fails in place of the client's output. */
async function denyClientCall(requests: Requests, callId: string, reason: string, signal: AbortSignal): Promise<void> {
  try {
    await requests.cancel(callId, reason, { signal });
  } catch (error) {
    if (!isRefusal(error, 'batch-begun')) throw error;
    const failure = { code: 'denied-in-code', message: `It did not run: ${reason}` };
    await requests.output(callId, { status: 'failed', error: failure }, { signal });
  }
}

/**
 * An edit that passed the server's schema can still fail the tool's own checks, and so can arguments that were requested
 * with another schema; then the client does not get the call. Returns the calls that failed now.
 */
async function refuseInvalid(
  requests: Requests,
  session: Session,
  tools: ReadonlyMap<string, GateTool>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const view of session.views.values()) {
    if (!isForClient(view, tools)) continue;
    const error = problemNow(view, await tools.get(view.toolName)?.check(view.arguments, true));
    if (error === undefined) continue;
    await requests.output(view.callId, { status: 'failed', error }, { signal });
    refused.push(view.callId);
  }
  return refused;
}

function problemNow(view: ToolCallView, checked: Awaited<ReturnType<GateTool['check']>> | undefined) {
  if (checked?.valid === true) {
    return jcsDigest(checked.arguments) === jcsDigest(view.arguments) ? undefined : { ...changedArguments };
  }
  if (checked === undefined) return undefined;
  const issues = checked.issues.map((issue) => ({ ...issue }));
  const [code, what] =
    view.originalArguments === undefined ? ['tool-schema-changed', 'requested'] : ['invalid-arguments', 'edited'];
  return { code, message: `The ${what} arguments do not match the schema of the tool: ${issuesText(issues)}`, issues };
}

function otherExecutor(view: ToolCallView): CountersignError {
  const { callId, toolName } = view;
  const [was, now] = isByClient(view) ? ['with', 'does not have it'] : ['without', 'has it'];
  const message = `the call ${callId} was requested ${was} clientExecuted, but the tool ${toolName} of this worker ${now}, so it does not run here. Use a worker with the tool as it was, or cancel the call`;
  return new CountersignError({ code: 'tool-call-mismatch', message });
}
