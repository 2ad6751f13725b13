import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { World } from './world.ts';

/** The input of a tool. */
export interface ToolRequest {
  readonly callId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly attempt: number;
  readonly idempotencyKey: string;
}

/** One run of a tool as seen from outside. */
export interface ToolRunRecord extends ToolRequest {
  readonly by: string;
  readonly startedAtMs: number;
  /** When it changed the world; undefined while it has not. */
  effectAtMs: number | undefined;
  /** No part of it is still running. */
  isOver: boolean;
}

/** The world outside: the only witness of what really ran. */
export interface Outside {
  readonly runs: readonly ToolRunRecord[];
  readonly runsOf: (callId: string) => readonly ToolRunRecord[];
  /** How often the tool of a call has changed the world. */
  readonly effectsOf: (callId: string) => number;
  readonly begin: (request: ToolRequest, by: string) => ToolRunRecord;
  readonly effect: (run: ToolRunRecord) => JsonValue;
  readonly onBegin: (listener: (run: ToolRunRecord) => void) => void;
  readonly onEffect: (listener: (run: ToolRunRecord) => void) => void;
}

/** An outside world without any effects yet. */
export function createOutside({ clock, trace }: World): Outside {
  const runs: ToolRunRecord[] = [];
  const onBegin: ((run: ToolRunRecord) => void)[] = [];
  const onEffect: ((run: ToolRunRecord) => void)[] = [];
  const runsOf = (callId: string): readonly ToolRunRecord[] => runs.filter((run) => run.callId === callId);
  return {
    runs,
    runsOf,
    effectsOf: (callId) => runsOf(callId).filter(({ effectAtMs }) => effectAtMs !== undefined).length,
    begin: (request, by) => {
      const run = { ...request, by, startedAtMs: clock.now(), effectAtMs: undefined, isOver: false };
      runs.push(run);
      trace.add(by, `runs ${request.toolName} for ${request.callId}, attempt ${request.attempt}`);
      for (const listener of onBegin) listener(run);
      return run;
    },
    effect: (run) => {
      run.effectAtMs = clock.now();
      trace.add('outside', `${run.toolName} has happened for ${run.callId}, attempt ${run.attempt}`);
      for (const listener of onEffect) listener(run);
      // A report's content must be what this attempt saw.
      return { callId: run.callId, attempt: run.attempt };
    },
    onBegin: (listener) => void onBegin.push(listener),
    onEffect: (listener) => void onEffect.push(listener),
  };
}
