import { expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { warningOfRepeats } from './warn-of-repeats.js';

it('warns of each call whose id an earlier step has used, and of no other', async () => {
  const views = [
    { runId: 'r', toolCallId: 'get_weather', callId: 'tc_1', repeated: true },
    { runId: 'r', toolCallId: 'other', callId: 'tc_2' },
  ] as const;
  const lines: unknown[] = [];
  const log = { warn: (...line: readonly unknown[]) => void lines.push(line), error: () => undefined };
  const toolCalls = warningOfRepeats(() => Promise.resolve(views as unknown as readonly ToolCallView[]), log);
  expect(await toolCalls({ runId: 'r', calls: [] })).toBe(views);
  expect(lines).toEqual([
    [
      expect.objectContaining({ toolCallId: 'get_weather', callId: 'tc_1' }),
      'an earlier step has used the id of this tool call: its result is returned',
    ],
  ]);
});
