import { callState, isSettled, toolCallDecider } from '@countersign/domain';
import type { ToolCallState } from '@countersign/domain';
import type { RecordedEvent, ToolCallEvent } from '@countersign/contracts';
import type { Site } from '../world/cluster.ts';
import type { CreateChecker } from './checker.ts';

/** Once everything works again, every recorded call comes to its end without a person's help. */
export const everyRequestEnds: CreateChecker = (site, fail) => ({
  atEnd: () => {
    for (const one of openCalls(site)) fail(`it ends with ${one}`);
  },
});

/** The calls without a result, each with its state. */
export function openCalls({ world }: Pick<Site, 'world'>): readonly string[] {
  return [...world.log.streams].flatMap(([stream, events]) => {
    if (!stream.startsWith('toolCall-')) return [];
    const state = stateOf(events);
    const name = String(callState(state));
    return isSettled(state) && name !== 'unknown' ? [] : [`${stream} ${name}`];
  });
}

/** The state of a call after these events of its stream. */
export function stateOf(events: readonly RecordedEvent[]): ToolCallState {
  return events.reduce(
    (folded, { type, data }) => toolCallDecider.evolve(folded, { type, data } as ToolCallEvent),
    toolCallDecider.initialState(),
  );
}
