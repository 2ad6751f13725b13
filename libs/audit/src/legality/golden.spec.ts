import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

const file = join(import.meta.dirname, '../../../read-model/src/golden/version-1.ndjson');
const log = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as StoredEvent);

describe('the judge of legality', () => {
  it('accepts every event of a log that a process of schema version 1 wrote', () => {
    const legality = createLegality(new Map());
    const found = log.flatMap((stored): readonly unknown[] => {
      const event = readStored(stored);
      if ('unreadable' in event) return [event.unreadable];
      const { illegal } = legality.judge(event);
      return illegal.map((one) => ({ ...one, stream: event.stream, revision: event.revision, type: event.type }));
    });
    expect(found).toEqual([]);
    expect(legality.unrecordedPolicies()).toEqual([]);
  });
});
