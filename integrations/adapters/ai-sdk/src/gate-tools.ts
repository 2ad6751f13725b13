import {
  createWorker,
  type FrameworkGate,
  type AbortableRunMembers,
  type ToolGating,
  type WorkerOptions,
} from '@countersign/worker-sdk';
import type { ModelMessage, Tool, ToolSet, UIMessage } from 'ai';
import { createCalls, type Approval } from './gated-call.js';
import { gateToolOf, type FrameworkOptions, type FrameworkTool } from './gate-tool-of.js';
import { toModelOutputOf } from './noted-output.js';
import type { RecordedOutput } from './recorded-output.js';
import type { Limits, Resumed } from './resume.js';
import { resumeMessages } from './resume-messages.js';
import { resumeUIMessages } from './resume-ui-messages.js';

/** How one tool stands behind the gate. `needsApproval`: default `true`, with a `decide` `false`. */
export type ToolGate<I> = ToolGating<I, FrameworkOptions>;

type InputOf<T> = T extends Tool<infer I, infer _O, infer _C> ? I : never;
type OutputOf<T> = T extends Tool<infer _I, infer O, infer _C> ? O : never;
type ContextOf<T> = T extends Tool<infer _I, infer _O, infer C> ? C : never;

/** The tools to put behind the gate; `true` takes the defaults. */
export type Gates<T extends ToolSet> = { readonly [K in keyof T]?: true | ToolGate<InputOf<T[K]>> };

/** The framework's tools; the outputs of those behind the gate are JSON. */
export type GatedTools<T extends ToolSet, G> = {
  [K in keyof T]: K extends keyof G ? Tool<InputOf<T[K]>, RecordedOutput<OutputOf<T[K]>>, ContextOf<T[K]>> : T[K];
};

/** One run: pass `tools` and `toolApproval` to `generateText`, `streamText` or `ToolLoopAgent`. */
export interface GatedRun<T extends ToolSet, G> {
  readonly tools: GatedTools<T, G>;
  /** Pauses the framework while an approval is pending. Without it nothing runs either, but the run does not pause. */
  readonly toolApproval: { readonly [K in keyof G]: Approval };
  /**
   * Replaces approval responses, inputs and results of gated tools by those of the ledger, after waiting up to `timeoutMs`
   * (default: not at all). Continue with its messages when `pending` is empty. When the user wrote instead of waiting, it cancels
   * the open calls, and waits for those that run already until `signal` aborts.
   *
   * Throws `InvalidPromptError` for malformed messages, `CountersignError` with `tool-call-mismatch` when the arguments are not
   * those that were requested, `NotApprovedError` for a call that was never requested, and an `Error` when the messages have an
   * output of a call that did not succeed, the id of a gated call under several tools, or one approval for several calls.
   */
  readonly resume: (messages: readonly ModelMessage[], limits?: Limits) => Promise<Resumed<ModelMessage>>;
  /**
   * The same for the messages of `useChat`, before `convertToModelMessages`, as the browser sent them: it validates them, and throws the
   * error of `validateUIMessages` for malformed ones. Validated before, the messages of a browser that watched a decision of other people
   * would be refused: the framework misses the response there.
   */
  readonly resumeUI: <M extends UIMessage>(messages: readonly M[], limits?: Limits) => Promise<Resumed<M>>;
}

/** The gate of one agent. */
export type Gate<T extends ToolSet, G> = FrameworkGate<GatedRun<T, G>, FrameworkOptions, AbortableRunMembers>;

/**
 * Puts tools of the AI SDK behind Countersign. A tool that `gates` does not name stays the same object.
 *
 * Throws a TypeError for a gated tool without `execute`, or with a schema that is neither zod nor JSON Schema.
 *
 * @example
 * const gate = gateTools(
 *   { url: 'http://127.0.0.1:7400', token: process.env['COUNTERSIGN_TOKEN'] ?? '', agentId: 'support' },
 *   { refund, lookup },
 *   { refund: { approvalPrompt: ({ amount }) => `Refund ${String(amount)}?` } },
 * );
 */
export function gateTools<T extends ToolSet, const G extends Gates<T>>(
  options: Omit<WorkerOptions<FrameworkOptions>, 'tools'>,
  tools: T,
  gates: G,
): Gate<T, G> {
  const given = tools as unknown as Readonly<Record<string, FrameworkTool | undefined>>;
  const gated = Object.keys(gates).map((name) => gateToolOf(name, given[name], gates[name]));
  const worker = createWorker<FrameworkOptions>({ ...options, tools: gated });
  const names: ReadonlySet<string> = new Set(Object.keys(gates));
  const run = (runId: string, { signal, ...more }: AbortableRunMembers = {}): GatedRun<T, G> => {
    const calls = createCalls(worker, { ...more, runId }, gated, signal);
    const each = <V>(of: (name: string) => V): Record<string, V> =>
      Object.fromEntries([...names].map((name) => [name, of(name)]));
    const ours = each((name) => ({
      ...given[name],
      execute: calls.execute(name),
      toModelOutput: toModelOutputOf(given[name] ?? {}),
    }));
    return {
      tools: { ...tools, ...ours } as unknown as GatedTools<T, G>,
      toolApproval: each(calls.approval) as GatedRun<T, G>['toolApproval'],
      resume: (messages, limits) => resumeMessages(calls, new Map(Object.entries(ours)), messages, limits),
      resumeUI: (messages, limits) => resumeUIMessages(calls, names, messages, limits),
    };
  };
  return { run, worker, close: () => worker.close() };
}
