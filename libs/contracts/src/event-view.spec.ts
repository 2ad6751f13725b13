import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toEventView, toMaskedEventView } from './event-view.js';
import type { EventAudience } from './event-view.js';
import type { RecordedEvent } from './events.js';

/** A stored event of the first version, whose metadata name no tool. */
const stored = (type: string): RecordedEvent =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'golden', `${type}.v1.json`), 'utf8')) as RecordedEvent;
const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'billing' };

describe.each([
  ['whole', (event: RecordedEvent) => toEventView(event, 'clear')],
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

describe('the proof of a response', () => {
  const recorded = JSON.parse(
    readFileSync(join(import.meta.dirname, 'golden', 'ApprovalResponded.proven.v2.json'), 'utf8'),
  ) as RecordedEvent;
  const proven = { ...recorded, data: { ...recorded.data, address: '192.0.2.7' } } as RecordedEvent;
  const members = ['credential', 'session', 'client', 'address', 'roles', 'bulkId'];

  it.each(['clear', 'masked'] as const)('is in the %s view', (audience) => {
    const { data } = toEventView(proven, audience);
    expect(Object.keys(data)).toEqual(expect.arrayContaining(members));
  });

  it.each(['owner', 'others'] as const)('is left out of the view: %s', (audience) => {
    const { data } = toEventView(proven, audience);
    expect(data).toMatchObject({ respondedBy: 'me', shown: null });
    expect(Object.keys(data).filter((name) => members.includes(name))).toEqual([]);
  });
});

describe('the schema of a tool in the view of others', () => {
  const schemaFor = (audience: EventAudience) => {
    const event = stored('ToolCallRequested');
    const data = {
      ...event.data,
      arguments: { password: 'hunter2', path: '/etc', keys: ['k-1'] },
      sensitive: ['/password', '/keys'],
      toolSchema: {
        properties: {
          password: { $ref: '#/$defs/word', default: 'hunter2', description: 'a word' },
          keys: { items: { enum: ['k-0', 'k-1'] } },
          path: { default: '/etc', enum: ['/etc', '/usr'] },
          code: { anyOf: [{ const: 'c-1' }], writeOnly: true },
        },
        $defs: { word: { examples: ['hunter1'], 'x-sensitive': 'true' } },
      },
    };
    return toEventView({ ...event, data }, audience).data['toolSchema'];
  };

  it.each(['masked', 'others'] as const)('has no hidden data in the view: %s', (audience) => {
    expect(schemaFor(audience)).toEqual({
      properties: {
        password: { $ref: '#/$defs/word', description: 'a word' },
        keys: { items: {} },
        path: { default: '/etc', enum: ['/etc', '/usr'] },
        code: { anyOf: [{}], writeOnly: true },
      },
      $defs: { word: { 'x-sensitive': 'true' } },
    });
  });

  it.each(['clear', 'owner'] as const)('is whole in the view: %s', (audience) => {
    expect(JSON.stringify(schemaFor(audience))).toMatch(/hunter2.*k-1.*c-1.*hunter1/);
  });
});
