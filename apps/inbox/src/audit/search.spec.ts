import { describe, expect, it } from '@jest/globals';
import { eventTypes } from '@countersign/contracts';
import type { LogEventView } from '@countersign/contracts';
import { isListed, kinds, requestOf, searchOf } from './search.js';

const vote = (id: string, onBehalfOf: string | null) =>
  ({
    type: 'ApprovalResponded',
    actor: { kind: 'person', id, onBehalfOf },
    data: { decision: { type: 'approve' } },
  }) as unknown as LogEventView;

describe('a search of the log', () => {
  it('has every type of event in exactly one kind', () => {
    const listed = kinds.flatMap(([, types]) => types.split(',')).filter((type) => type !== 'unreadable');
    expect(listed.toSorted()).toEqual(eventTypes.toSorted());
  });

  it('behind a figure of a person lists what they did, and not what a delegate did for them', () => {
    const search = searchOf('actor=Bob&only=approve&own=true');
    expect(isListed(vote('bob', null), search)).toBe(true);
    expect(isListed(vote('bob', 'alice'), search)).toBe(true);
    expect(isListed(vote('carol', 'bob'), search)).toBe(false);
    expect(isListed(vote('carol', 'bob'), searchOf('actor=bob&only=approve'))).toBe(true);
    expect([...requestOf(search).keys()]).toEqual(['actor', 'order']);
  });
});
