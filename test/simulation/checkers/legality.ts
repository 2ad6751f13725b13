import { createLegality, readStored } from '@countersign/audit';
import type { KnownStream, Legality } from '@countersign/audit';
import type { RecordedEvent, ToolCallEvent } from '@countersign/contracts';
import { toolCallDecider } from '@countersign/domain';
import type { ToolCallState } from '@countersign/domain';
import type { CreateChecker } from './checker.ts';
import { differenceOf } from './same-states.ts';

/** A judge of one tenant's log, with the streams that it knows. */
interface Judge {
  readonly legality: Legality;
  readonly streams: ReadonlyMap<string, KnownStream>;
}

/**
 * The audit's own reader of the log, which shares no rule with the product, finds each recorded event legal, and each call as the
 * rules of the product have it. Where a defence is taken out it fails nothing, since the other checkers must notice it without help:
 * what it says then is in the outcome.
 */
export const legality: CreateChecker = ({ world }, fail) => {
  const judges = new Map<string, Judge>();
  const calls = new Map<string, ToolCallState>();
  const isWhole = world.without === null;
  /** `word`: a rule that is broken. */
  const say = (word: string, what: string): void => {
    if (isWhole) fail(what);
    else world.judged.add(`finds ${word}`);
  };
  const judgeOf = (tenant: string): Judge => {
    const streams = new Map<string, KnownStream>();
    const judge = judges.get(tenant) ?? { streams, legality: createLegality(streams) };
    judges.set(tenant, judge);
    return judge;
  };
  const fold = ({ stream, type, data }: RecordedEvent): ToolCallState => {
    const before = calls.get(stream) ?? toolCallDecider.initialState();
    const after = toolCallDecider.evolve(before, { type, data } as ToolCallEvent);
    calls.set(stream, after);
    return after;
  };
  return {
    onRecorded: (stored) => {
      const { stream } = stored;
      const judge = judgeOf(stored.metadata.tenant);
      const event = readStored(stored);
      const place = `${stored.type} at revision ${String(stored.revision)} of ${stream}`;
      if ('unreadable' in event) {
        say('unreadable', `${place} cannot be read: ${event.unreadable}`);
        return;
      }
      const { illegal, unproven } = judge.legality.judge(event);
      for (const { rule, detail } of illegal) say(rule, `${place}: ${rule}: ${detail}`);
      if (!isWhole) for (const doubt of unproven) world.judged.add(`lists ${doubt}`);
      if (!isWhole || !stream.startsWith('toolCall-')) return;
      const difference = differenceOf(fold(stored), judge.streams.get(stream)?.state);
      if (difference !== undefined) fail(`after ${place} the call has ${difference}`);
    },
  };
};
