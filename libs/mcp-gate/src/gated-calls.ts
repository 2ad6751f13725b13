import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { CountersignError, createClient, isSameJson } from '@countersign/worker-sdk';
import { createCallEnds, type AskedCall } from './call-ends.js';
import type { Catalog, ListedTool } from './catalog.js';
import type { AnswerCall, ClientCall } from './client-call.js';
import { attempts, type GateOptions } from './gate-options.js';
import { gatedToolOf, readCall } from './gated-tool.js';
import type { InnerRequests } from './inner-requests.js';
import { createInnerRun, type InnerRun } from './inner-run.js';
import { failureReply, finalReply, pendingReply, refusal, unreportedReply } from './replies.js';
import { attach, createSameCalls, type KnownCall } from './same-calls.js';
import { untilDone } from './until-done.js';
import type { Reply } from './wire.js';

/** The calls of one connection. */
export interface GatedCalls {
  readonly answer: AnswerCall;
  /** After the connection has ended: a report that Countersign has not taken yet gets 10 s more. */
  readonly close: () => void;
}

/** The dependencies of gated calls. */
export interface GatedCallPorts {
  readonly options: GateOptions;
  readonly catalog: Catalog;
  readonly requests: InnerRequests;
  /** Rejects while the resolver's token may not claim: then nobody is asked. */
  readonly mayClaim: () => Promise<void>;
}

/** A call of the client, and what the gate knows about it. */
interface FoundCall {
  readonly listed: ListedTool;
  readonly known: KnownCall;
  readonly asked: AskedCall;
}

export function createGatedCalls({ options, catalog, requests, mayClaim }: GatedCallPorts): GatedCalls {
  const same = createSameCalls();
  /** An earlier process may have recorded calls of this run. */
  const remember = untilDone(async () => {
    if (options.continuesRun) same.remember(await callsOfRun(options));
  });
  const ends = createCallEnds(options);

  const find = async (call: ClientCall, run: InnerRun): Promise<FoundCall> => {
    const { name, args, givenId } = readCall(call.params);
    const listed = await catalog.find(name, call.signal);
    const tool = gatedToolOf(listed, options.gate, call.labels, run.execute);
    const checked = await tool.check(args);
    await mayClaim();
    await remember();
    const known = same.find(name, checked.valid ? checked.arguments : args, givenId);
    return { listed, known, asked: { tool, args, toolCallId: known.toolCallId } };
  };
  const endOf = async ({ listed, known, asked }: FoundCall, call: ClientCall, run: InnerRun): Promise<Reply> => {
    const attached = attach(known, call.delivered);
    try {
      const { approval, result } = await ends.endOf(asked, call, run);
      if (approval !== null) return pendingReplyTo(call, approval, options);
      if (result === null) return refusal('The call has no result yet. Call again with the same arguments.');
      attached.end(result.status === 'unknown' ? 'unknown' : 'final');
      return finalReply(result, listed, run.reply());
    } catch (error) {
      const ran = run.reply();
      if (run.hasBegun()) attached.end(ran === undefined ? 'unknown' : 'final');
      if (ran === undefined) throw error;
      return unreportedReply(ran, isSameJson(run.arguments(), asked.args) ? undefined : run.arguments());
    } finally {
      attached.release();
    }
  };
  const answer: AnswerCall = async (call) => {
    // Tasks are not offered here, so the request is processed as if it asked for none.
    const { task: _, ...params } = call.params;
    const run = createInnerRun((args) => requests.send('tools/call', { ...params, arguments: args }), call.signal);
    try {
      return await endOf(await find(call, run), call, run);
    } catch (error) {
      return failureReply(error);
    }
  };
  return { answer, close: ends.close };
}

function pendingReplyTo({ opensUrls, onCard }: ClientCall, approval: ApprovalView, options: GateOptions): Reply {
  if (opensUrls) onCard(approval);
  return pendingReply(approval, options.inboxUrl ?? options.url, opensUrls);
}

async function callsOfRun(options: GateOptions): Promise<readonly ToolCallView[]> {
  try {
    return (await createClient({ ...options, attempts }).getRun(options.runId)).calls;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'not-found') return [];
    throw error;
  }
}
