import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

const golden = (name: string): readonly StoredEvent[] =>
  readFileSync(join(import.meta.dirname, '../../../read-model/src/golden', name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredEvent);

describe('the judge of legality', () => {
  it.each(['version-1', 'version-1-channels'])(
    'accepts every event of the log %s, which a process of that version wrote',
    (name) => {
      const legality = createLegality(new Map());
      const found = golden(`${name}.ndjson`).flatMap((stored): readonly unknown[] => {
        const event = readStored(stored);
        if ('unreadable' in event) return [event.unreadable];
        const { illegal } = legality.judge(event);
        return illegal.map((one) => ({ ...one, stream: event.stream, revision: event.revision, type: event.type }));
      });
      expect(found).toEqual([]);
      expect(legality.unrecordedPolicies()).toEqual([]);
    },
  );

  it('accepts votes that a version counted by the lower case of names, and names those that one person may have cast twice', () => {
    const legality = createLegality(new Map());
    const found = golden('lower-case-names.ndjson').flatMap((stored): readonly unknown[] => {
      const event = readStored(stored);
      if ('unreadable' in event) return [event.unreadable];
      const { illegal, unproven } = legality.judge(event);
      if (illegal.length > 0) return illegal;
      const { respondedBy } = event.data as { readonly respondedBy?: string };
      return unproven.includes('folded-names') ? [[event.metadata.runId, respondedBy]] : [];
    });
    expect(found).toEqual([
      ['approved', 'desk#οδοσ'],
      ['pending', 'desk#STRASSE'],
      ['withdrawn', 'desk#οδοσ'],
      ['own', 'desk#Straße'],
    ]);
  });
});
