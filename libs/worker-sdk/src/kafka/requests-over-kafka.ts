import { isSettled, type ToolCallView } from '@countersign/contracts';
import type { Changes } from '../ledger/changes.js';
import { CountersignError, isRefusal, messageOf } from '../errors.js';
import { callsOfRun } from '../ledger/read-run.js';
import { rejectOnAbort } from '../ledger/reject-on-abort.js';
import type { RequestOptions, Requests } from '../ledger/requests.js';
import { createAsk, type Asked, type KafkaRequestsPorts } from './ask.js';
import { connectedWithin } from './publish-request.js';
import { readsOverKafka } from './reads-over-kafka.js';
import { isShownResult, recordedCalls } from './recorded.js';
import { createRecording } from './recording.js';

/**
 * Requests as messages. The events topic tells when they are recorded; the ledger is asked over HTTP for the rest. A
 * refusal in the ledger's own log ends the wait with its code.
 */
export function requestsOverKafka(ports: KafkaRequestsPorts): Requests {
  const { client, feed, known } = ports;
  const reads = readsOverKafka(ports);
  const ask = createAsk(ports);

  const askAbout = async (
    callId: string,
    options: RequestOptions | undefined,
    request: (call: ToolCallView) => Omit<Asked<unknown>, 'runId' | 'look'> & { readonly done: IsDone },
  ): Promise<void> => {
    const signal = options?.signal;
    let before = await reads.call(callId, { signal });
    // The topic may be late: only the ledger makes a refusal certain.
    if (request(before).refusal !== undefined) before = await reads.callNow(callId, { signal });
    const { done, ...asked } = request(before);
    const look = async (signal: AbortSignal): Promise<true | undefined> =>
      done(await reads.callNow(callId, { signal, attempts: Infinity })) ? true : undefined;
    await ask({ ...asked, runId: before.runId, hear: (event) => event.callId === callId, look }, options);
  };
  const callsIfAny = async (runId: string, signal: AbortSignal): Promise<readonly ToolCallView[]> => {
    const from = known.now();
    try {
      const calls = await callsOfRun(client, runId, { signal, attempts: Infinity });
      known.learn(calls, from);
      return calls;
    } catch (error) {
      if (isRefusal(error, 'not-found')) return [];
      throw error;
    }
  };

  return {
    ...reads,
    toolCalls: (body, options) => {
      const recording = createRecording(body);
      const look = async (signal: AbortSignal): Promise<readonly ToolCallView[] | undefined> =>
        recordedCalls(body, await callsIfAny(body.runId, signal));
      return ask({ type: 'ToolCallRequested', runId: body.runId, data: body, hear: recording.hear, look }, options);
    },
    approval: (callId, question, options) =>
      askAbout(callId, options, ({ runId, toolCallId, state, approval }) => ({
        type: 'ApprovalRequested',
        data: { runId, toolCallId, ...question },
        refusal:
          state === 'awaiting_approval' ? refusal('already-pending', `people are asked about ${callId}`) : undefined,
        done: (call) => call.state === 'awaiting_approval' || (call.approval?.round ?? 0) > (approval?.round ?? 0),
      })),
    output: (callId, body, options) =>
      askAbout(callId, options, (before) => ({
        type: 'ToolOutputSubmitted',
        data: { runId: before.runId, toolCallId: before.toolCallId, ...body },
        refusal: hasResult(before) ? alreadySettled(before) : undefined,
        done: (call) => {
          // Another client was faster: the ledger has refused our result, or will.
          if (hasResult(call) && !isShownResult(body, call)) throw alreadySettled(call);
          return hasResult(call);
        },
      })),
    cancel: (callId, reason, options) =>
      askAbout(callId, options, (before) => ({
        type: 'ToolCallCancelled',
        data: { runId: before.runId, toolCallId: before.toolCallId, reason },
        refusal: isSettled(before.state) ? alreadySettled(before) : undefined,
        done: (call) => {
          if (isSettled(call.state) && call.state !== 'cancelled') throw alreadySettled(call);
          return call.state === 'cancelled';
        },
      })),
    cancelRun: async (runId, reason, options) => {
      const look = async (signal: AbortSignal): Promise<true | undefined> => {
        const calls = await callsIfAny(runId, signal);
        if (calls.length === 0) throw refusal('not-found', `there is no run ${runId}`);
        return calls.some(isOpen) ? undefined : true;
      };
      // Also for an unknown run: its calls may be on the topic, before this message.
      await ask({ type: 'ToolCallCancelled', runId, data: { runId, reason }, look }, options);
    },
    listen: (runId, changes, signal) => listening(ports, feed.watch({ runId, changes }), changes, signal),
    listenFor: (types, changes, onNews, signal) =>
      listening(ports, feed.watchTypes({ types, hear: onNews, gap: changes.addAnything }), changes, signal),
    close: ports.close,
  };
}

type IsDone = (call: ToolCallView) => boolean;

/** Connects, and ends the watch with the signal. */
async function listening(
  ports: KafkaRequestsPorts,
  release: () => void,
  changes: Pick<Changes, 'addAnything' | 'fail'>,
  signal: AbortSignal,
): Promise<void> {
  const aborted = rejectOnAbort(signal);
  try {
    await connectedWithin(ports, signal);
    // Covers what happened before the topic was read.
    changes.addAnything();
    await aborted.promise;
  } catch (error) {
    if (!signal.aborted) changes.fail(error instanceof Error ? error : new Error(messageOf(error)));
  } finally {
    aborted.release();
    release();
  }
}

function isOpen({ state }: ToolCallView): boolean {
  return state === 'awaiting_approval' || state === 'allowed' || state === 'approved';
}

function hasResult({ state }: ToolCallView): boolean {
  return state === 'succeeded' || state === 'failed';
}

function alreadySettled({ callId, state }: ToolCallView): CountersignError {
  return refusal('already-settled', `${callId} is ${state}`);
}

function refusal(code: string, detail: string): CountersignError {
  return new CountersignError({ code, message: `${code}: ${detail}` });
}
