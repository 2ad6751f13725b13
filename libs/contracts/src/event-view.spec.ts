import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toEventView, toMaskedEventView } from './event-view.js';
import type { RecordedEvent } from './events.js';

/** A stored event of the first version, whose metadata name no tool. */
const stored = (type: string): RecordedEvent =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'golden', `${type}.v1.json`), 'utf8')) as RecordedEvent;
const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'billing' };

describe.each([
  ['whole', toEventView],
  ['masked', toMaskedEventView],
])('the %s view of an event', (_, toView) => {
  it('names the tool that is recorded with the event', () => {
    const event = stored('ApprovalResponded');
    expect(toView({ ...event, metadata: { ...event.metadata, tool } })).toMatchObject(tool);
  });

  it('names the tool of a request that an older version recorded', () => {
    const event = stored('ToolCallRequested');
    const { toolCallId, toolName, agentId } = event.data as typeof tool;
    expect(toView(event)).toMatchObject({ toolCallId, toolName, agentId });
  });

  it('names no tool for a later event that an older version recorded', () => {
    expect(toView(stored('ApprovalResponded'))).toMatchObject({ toolCallId: null, toolName: null, agentId: null });
  });
});
