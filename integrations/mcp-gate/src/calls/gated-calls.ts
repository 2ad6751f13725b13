import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { CountersignError, isSameJson, issuesText, type MayClaim } from '@countersign/worker-sdk';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { failed } from '../stateless/request-facts.js';
import { createCallEnds, type AskedCall } from './call-ends.js';
import type { Catalog } from '../server/catalog.js';
import type { ListedTool } from '../server/listed-tool.js';
import type { AnswerCall, ClientCall } from '../client/client-call.js';
import { createEarlierTools } from './earlier-tools.js';
import type { GateOptions } from './gate-options.js';
import { checkDefinition, gatedToolOf, paramsForServer, readCall, toolLabelsOf } from './gated-tool.js';
import type { InnerRequests } from '../server/inner-requests.js';
import { createInnerRun, LostRunError, type InnerCall, type InnerRun } from '../server/inner-run.js';
import type { FoundCall as KnownCall, KnownCalls } from './known-calls.js';
import { failureReply, finalReply, pendingReply, refusal, startedReply, unreportedReply } from './replies.js';
import { ForeignStateError } from './request-state.js';
import { roundReply } from './round-reply.js';
import type { Reply } from '../wire.js';

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
  readonly mayClaim: MayClaim;
  readonly known: KnownCalls;
}

/** A call of the client, and what the gate knows about it. */
interface FoundCall extends KnownCall {
  readonly listed: ListedTool;
  readonly asked: AskedCall;
}

export function createGatedCalls(ports: GatedCallPorts): GatedCalls {
  const { options, catalog, requests, mayClaim, known } = ports;
  const stricter = createEarlierTools(options);
  const ends = createCallEnds(options, mayClaim);

  const find = async (call: ClientCall, run: InnerRun): Promise<FoundCall> => {
    const { name, args, givenId } = readCall(call.params);
    const listed = await catalog.find(name, call.signal);
    let approval: ApprovalView | null = null;
    const callLabels = { ...call.labels, ...toolLabelsOf(listed, options.endpoint) };
    const tool = gatedToolOf(await stricter(listed), options.gate, callLabels, async (runArgs, receipt) => {
      checkDefinition(approval?.labels, listed, await catalog.find(name));
      return run.execute(runArgs, receipt);
    });
    const checked = await tool.check(args);
    if (!checked.valid) throw new TypeError(`Invalid arguments: ${issuesText(checked.issues)}`);
    const { attached, round } = await known.attach(call, { name, args: checked.arguments, givenId });
    const { toolCallId, recorded } = attached;
    const onRecorded = (view: ToolCallView): void => {
      ({ approval } = view);
      recorded();
    };
    return { listed, attached, asked: { tool, args, toolCallId, onRecorded }, round };
  };
  const endOf = async (found: FoundCall, call: ClientCall, run: InnerRun): Promise<Reply> => {
    const { listed, attached, asked } = found;
    try {
      const { approval, result } = await ends.endOf(asked, call, run);
      if (approval !== null) return pendingReplyTo(found, call, approval);
      if (result === null) {
        attached.end('unknown');
        return runsElsewhereReply(listed.name);
      }
      attached.end(result.status === 'unknown' ? 'unknown' : 'final');
      return finalReply(result, listed, run.reply());
    } catch (error) {
      if (isRefused(error)) attached.refused();
      if (run.hasBegun()) attached.end(run.reply() === undefined ? 'unknown' : 'final');
      return unheardReply(error, asked, run);
    } finally {
      attached.release();
    }
  };
  const pendingReplyTo = ({ asked, round }: FoundCall, call: ClientCall, approval: ApprovalView): Reply => {
    const inboxUrl = options.inboxUrl ?? options.url;
    if (call.round === undefined) {
      if (call.opensUrls) call.onCard(approval);
      return pendingReply(approval, inboxUrl, call.opensUrls);
    }
    const { toolCallId, tool, args } = asked;
    const nextState = known.seal({ toolCallId, round: round + 1 }, { name: tool.name, args });
    return roundReply(approval, { inboxUrl, holdMs: options.holdMs, round, nextState, ...call.round });
  };
  const answer: AnswerCall = async (call) => {
    // Tasks are not offered here, so the request is processed as if it asked for none. A client of sessions cannot take a
    // task of the extension, so the gate waits for its end.
    const onTask = call.round === undefined ? (): void => undefined : undefined;
    const send = (inner: InnerCall) => requests.send('tools/call', paramsForServer(call.params, inner), onTask);
    const run = createInnerRun(send, call.signal);
    try {
      return await endOf(await find(call, run), call, run);
    } catch (error) {
      if (error instanceof ForeignStateError) return failed(ErrorCode.InvalidParams, error.message);
      return failureReply(error);
    }
  };
  return { answer, close: ends.close };
}

/** The reply when Countersign does not say how the call ends. Throws the error when the tool was not started. */
function unheardReply(error: unknown, { args }: AskedCall, run: InnerRun): Reply {
  const ran = run.reply();
  if (ran !== undefined) return unreportedReply(ran, isSameJson(run.arguments(), args) ? undefined : run.arguments());
  if (run.hasBegun() && !(error instanceof LostRunError)) return startedReply(error);
  throw error;
}

/** Returns whether Countersign has answered, so it is known that it did not record the call at this request. */
export function isRefused(error: unknown): boolean {
  return error instanceof CountersignError && error.status !== null && error.status >= 400 && error.status < 500;
}

function runsElsewhereReply(toolName: string): Reply {
  const text = `executing: ${toolName} runs at another gate, or ran at one that was killed, and is not run again. Call it again with the same arguments to get the result.`;
  return refusal(text, { status: 'executing' });
}
