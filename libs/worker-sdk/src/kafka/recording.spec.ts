import { expect, it } from '@jest/globals';
import type { RequestToolCalls } from '@countersign/contracts';
import type { HeardEvent } from './heard-event.js';
import { createRecording } from './recording.js';

const body: RequestToolCalls = {
  runId: 'run-1',
  agentId: 'g',
  calls: ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 't', arguments: {} })),
};
const event = (type: string, toolCallId: string): HeardEvent => ({
  ...{ eventId: `${type}-${toolCallId}`, type, toolCallId },
  ...{ callId: `tc_${toolCallId}`, runId: 'run-1', toolName: 't', agentId: 'g', revision: 1, data: {} },
});

it.each(['ToolCallAllowed', 'ToolCallBlocked', 'ApprovalRequested'])(
  'a request is complete when the verdict about each call was heard: %s',
  (type) => {
    const { hear } = createRecording(body);
    expect(hear(event('ToolCallRequested', 'a'))).toBe(false);
    expect(hear(event(type, 'a'))).toBe(false);
    expect(hear(event(type, 'a'))).toBe(false);
    expect(hear(event(type, 'of another request'))).toBe(false);
    expect(hear(event(type, 'b'))).toBe(true);
  },
);
