import { randomUUID } from 'node:crypto';
import { cloudEvent } from './requests-topic.js';

/** A message that fails at every try, and the code under which it must be parked. */
export interface Poison {
  readonly what: string;
  readonly code: string;
  readonly message: {
    readonly key: string;
    readonly value: Buffer | null;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** Several of each kind, under keys of every partition. */
export function poison(name: string): readonly Poison[] {
  const good = JSON.stringify({ runId: name, calls: [{ toolCallId: 'c', toolName: 't', arguments: {} }] });
  const event = cloudEvent('poison', 'ToolCallRequested');
  const { ce_specversion: _version, ...headless } = event;
  const kinds = [
    { what: 'broken JSON', code: 'malformed', value: '{"runId": "r", ', headers: event },
    { what: 'a value twice', code: 'malformed', value: '{"runId": "a", "runId": "b", "calls": []}', headers: event },
    { what: 'no JSON at all', code: 'malformed', value: '\u0000\u0001\u0002', headers: event },
    { what: 'an unknown member', code: 'invalid-request', value: good.replace('{', '{"sudo":true,'), headers: event },
    { what: 'nobody asked', code: 'invalid-request', value: '{"runId":"r","calls":[]}', headers: event },
    { what: 'no CloudEvent', code: 'malformed', value: good, headers: headless },
    { what: 'another content type', code: 'malformed', value: good, headers: { ...event, 'content-type': 'text/xml' } },
    { what: 'no value', code: 'malformed', value: null, headers: event },
  ];
  return kinds.flatMap(({ what, code, value, headers }) =>
    ['a', 'b', 'c'].map((key) => ({
      what: `${what} (${key})`,
      code,
      message: {
        key: `${key}-${name}`,
        value: value === null ? null : Buffer.from(value),
        headers: { ...headers, ce_id: randomUUID(), 'x-test': randomUUID() },
      },
    })),
  );
}
