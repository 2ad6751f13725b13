import { expect } from '@jest/globals';
import type { Refusal, RefusalCode, ToolCallEvent } from '@countersign/contracts';
import { fold } from '../decider.js';
import { toolCallDecider } from '../tool-call.decider.js';
import type { ToolCallCommand } from '../tool-call.commands.js';
import type { ToolCallState } from '../tool-call.state.js';

/** Returns the events of commands that are all accepted, one after the other. */
export function history(...commands: readonly ToolCallCommand[]): ToolCallEvent[] {
  return commands.reduce<ToolCallEvent[]>((events, command) => {
    const decision = toolCallDecider.decide(command, stateAfter(events));
    if (decision.status === 'refused') throw new Error(`${command.type}: ${decision.refusal.code}`);
    return [...events, ...decision.events];
  }, []);
}

export function stateAfter(events: readonly ToolCallEvent[]): ToolCallState {
  return fold(toolCallDecider, events);
}

/** `given(events).when(command).then(events)`, or `.thenRefused(code)`. */
export function given(events: readonly ToolCallEvent[]) {
  return {
    when: (command: ToolCallCommand) => {
      const decision = toolCallDecider.decide(command, stateAfter(events));
      return {
        then: (expected: readonly ToolCallEvent[]) => {
          expect(decision).toEqual({ status: 'accepted', events: expected });
        },
        /** One event, whose data have these members. */
        thenAccepted: (data: Readonly<Record<string, unknown>>) => {
          expect(decision).toMatchObject({ status: 'accepted', events: [{ data }] });
        },
        thenNothing: () => {
          expect(decision).toEqual({ status: 'accepted', events: [] });
        },
        thenRefused: (code: RefusalCode, extra?: Readonly<Record<string, unknown>>) => {
          expect(decision).toMatchObject({
            status: 'refused',
            refusal: extra === undefined ? { code } : { code, extra },
          });
        },
        thenRefusal: (refusal: Partial<Refusal>) => {
          expect(decision).toMatchObject({ status: 'refused', refusal });
        },
      };
    },
  };
}
