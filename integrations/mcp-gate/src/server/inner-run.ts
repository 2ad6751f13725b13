import type { JsonObject } from '@countersign/contracts';
import { ConnectionLostError, NotSentError, type InnerRequest } from './inner-requests.js';
import { objectOf, type Reply } from '../wire.js';

/** The connection was lost while the tool ran: it may have taken effect. */
export class LostRunError extends Error {
  override readonly name = 'LostRunError';
}

/** The server has certainly not got the request for the tool. */
export class NotRunError extends Error {
  override readonly name = 'NotRunError';
}

/** What the server gets: the arguments that people approved, and the receipt of the claim; null: there is none. */
export interface InnerCall {
  readonly args: JsonObject;
  readonly receipt: string | null;
}

/** One run of the inner tool: whether it ran, and its reply. */
export interface InnerRun {
  readonly execute: (args: JsonObject, receipt: string | null) => Promise<unknown>;
  /** The request for the tool was sent, so it may have taken effect. */
  readonly hasBegun: () => boolean;
  /** The reply of the inner server, once the tool has run. */
  readonly reply: () => Reply | undefined;
  /** The arguments with which the tool was started last: those that people approved. */
  readonly arguments: () => JsonObject | undefined;
  /** Resolves when there is a reply. */
  readonly replied: Promise<undefined>;
  /** Rejects with a `LostRunError`. */
  readonly lost: Promise<never>;
}

/** Runs a tool at the inner server. `send` makes its request, and `signal` cancels it. */
export function createInnerRun(send: (call: InnerCall) => InnerRequest, signal: AbortSignal): InnerRun {
  let ran: Reply | undefined;
  let hasBegun = false;
  let given: JsonObject | undefined;
  const { promise: lost, reject: lose } = Promise.withResolvers<never>();
  lost.catch(() => undefined);
  const { promise: replied, resolve: tellReplied } = Promise.withResolvers<undefined>();
  return {
    execute: async (args, receipt) => {
      hasBegun = true;
      given = args;
      const request = send({ args, receipt });
      const stopWatching = cancelWith(signal, request);
      try {
        ran = await request.reply;
        tellReplied(undefined);
      } catch (error) {
        if (error instanceof NotSentError) {
          hasBegun = false;
          throw new NotRunError(`the tool did not run: ${error.message}`, { cause: error });
        }
        if (!(error instanceof ConnectionLostError)) throw error;
        lose(new LostRunError(error.message));
        // There is nothing true to report: the claim lapses, and the outcome becomes unknown.
        return await new Promise<never>(() => undefined);
      } finally {
        stopWatching();
      }
      if ('error' in ran) throw new Error(ran.error.message);
      // By the MCP specification this is how a tool reports its failure, so the ledger must not record a success.
      if (ran.result['isError'] === true)
        throw new Error(textOf(ran.result) || 'the tool reported an error without a text');
      return ran.result;
    },
    hasBegun: () => hasBegun,
    reply: () => ran,
    arguments: () => given,
    replied,
    lost,
  };
}

function textOf({ content }: Readonly<Record<string, unknown>>): string {
  const blocks = Array.isArray(content) ? (content as readonly unknown[]) : [];
  const texts = blocks.map((block) => objectOf(block)['text']);
  return texts.filter((text): text is string => typeof text === 'string').join('\n');
}

function cancelWith(signal: AbortSignal, request: InnerRequest): () => void {
  const cancel = (): void => {
    request.cancel('the client has cancelled the request');
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel);
  return () => {
    signal.removeEventListener('abort', cancel);
  };
}
