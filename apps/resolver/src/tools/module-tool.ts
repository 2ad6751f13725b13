import { pathToFileURL } from 'node:url';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import { parseStrictJson } from '@countersign/shell';
import { omitted, outputBytesMax } from './answer-body.js';
import { messageOf } from './message-of.js';
import type { Tool, ToolOutcome, ToolRun } from './tool.js';

/** The default export of a tool's module. */
export interface ToolModule {
  /** A JSON Schema, or a zod schema. */
  readonly inputSchema?: unknown;
  readonly execute: (
    args: JsonObject,
    context: { readonly callId: string; readonly idempotencyKey: string; readonly signal: AbortSignal },
  ) => unknown;
}

/**
 * Loads the module of a tool.
 * @throws Error when it cannot be imported, or its default export is no tool.
 */
export async function loadToolModule(file: string): Promise<ToolModule> {
  const loaded = (await import(pathToFileURL(file).href)) as { readonly default?: unknown };
  const tool = loaded.default as Partial<ToolModule> | null | undefined;
  if (typeof tool !== 'object' || tool === null || typeof tool.execute !== 'function') {
    throw new Error(
      'its default export must be { inputSchema, execute(arguments, { callId, idempotencyKey, signal }) }',
    );
  }
  return tool as ToolModule;
}

/**
 * Returns the function that runs a tool by calling its module. A throw means that the tool failed. After the signal
 * aborted, a throw only means that the tool stopped waiting: its effect may have happened, so the outcome is unknown. A
 * tool that runs for longer than `limitMs` is told to stop and is not waited for.
 */
export function createModuleRun(tool: ToolModule, limitMs: number, clock: Clock): Tool['run'] {
  return async (run): Promise<ToolOutcome> => {
    const over = new AbortController();
    const timedOut = new Promise<ToolOutcome>((resolve) => {
      over.signal.addEventListener('abort', () => {
        resolve({ status: 'timed-out', message: `the tool ran longer than its limit of ${limitMs} ms` });
      });
    });
    const cancel = clock.setTimer(limitMs, () => over.abort(new Error('the time limit of the tool is over')));
    const signal = AbortSignal.any([run.signal, over.signal]);
    return Promise.race([timedOut, callModule(tool, { ...run, signal })]).finally(cancel);
  };
}

async function callModule(tool: ToolModule, { arguments: args, ...run }: ToolRun): Promise<ToolOutcome> {
  const { callId, idempotencyKey, signal } = run;
  try {
    // Attack: a module that writes into its arguments, such as a default or a key, must not change the recorded ones.
    const returned = await tool.execute(structuredClone(args), { callId, idempotencyKey, signal });
    return { status: 'succeeded', output: toJson(returned) };
  } catch (error) {
    // The reason of the signal is ours. The error is the tool's: it belongs in no log.
    if (signal.aborted) return { status: 'unknown', message: `the tool was interrupted: ${messageOf(signal.reason)}` };
    return { status: 'failed', error: { code: 'tool-threw', message: messageOf(error) } };
  }
}

/** The tool has run. An output that cannot be recorded, by the rules of the HTTP API, is left out, with a note. */
function toJson(returned: unknown): JsonValue {
  try {
    const text = JSON.stringify(returned) as string | undefined;
    if (text === undefined) return null;
    const bytes = Buffer.from(text);
    if (bytes.byteLength > outputBytesMax) return omitted(`the output is longer than ${outputBytesMax} bytes`, text);
    const parsed = parseStrictJson(bytes, 'the output');
    return parsed.status === 'ok'
      ? (parsed.value as JsonValue)
      : omitted(`the output cannot be recorded: ${parsed.detail}`, text);
  } catch (error) {
    return omitted(`the output is not JSON: ${messageOf(error)}`);
  }
}
