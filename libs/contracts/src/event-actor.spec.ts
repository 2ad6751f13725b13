import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { actorOfEvent, actorRules } from './event-actor.js';
import { eventSchemas, eventTypes } from './events.js';
import type { RecordedEvent } from './events.js';
import { toEventView } from './event-view.js';

const golden = join(import.meta.dirname, 'golden');
const stored = (name: string): RecordedEvent =>
  JSON.parse(readFileSync(join(golden, `${name}.json`), 'utf8')) as RecordedEvent;

describe('the actor of an event', () => {
  it('has a rule for every type, which names a member of its data, and which always holds in the end', () => {
    expect(Object.keys(actorRules).toSorted()).toEqual(eventTypes.toSorted());
    for (const type of eventTypes) {
      const rules = actorRules[type];
      expect([type, rules.at(-1)?.when]).toEqual([type, undefined]);
      const members = rules.flatMap(({ id, onBehalfOf }) => [id ?? [], onBehalfOf ?? []].flat());
      const named = members.filter((member) => !member.startsWith("'"));
      expect([type, named.filter((member) => !(member in eventSchemas[type].shape))]).toEqual([type, []]);
    }
  });

  it.each(readdirSync(golden).filter((file) => file.endsWith('.v2.json')))('is said in the view of %s', (file) => {
    const event = stored(file.replace('.json', ''));
    const { actor } = toEventView(event, 'others');
    expect(actor).toEqual(actorOfEvent(event));
    if (event.type !== 'ExecutionClaimRenewed') expect(actor?.id).toEqual(expect.any(String));
  });

  it('is the delegate, with the person who is represented', () => {
    const { kind, id, onBehalfOf } = actorOfEvent(stored('ApprovalResponded.delegate.v2'));
    expect(kind).toBe('person');
    expect([id, onBehalfOf]).not.toContain(null);
  });

  it('is the service where silence approves', () => {
    const event = stored('ApprovalResponded.v2');
    const data = { ...event.data, automatic: true, respondedBy: 'countersign' } as RecordedEvent['data'];
    expect(actorOfEvent({ ...event, data })).toEqual({ kind: 'service', id: 'countersign', onBehalfOf: null });
  });

  it.each([
    ['the agent that cancels', { state: 'cancelled', requestedBy: 'billing', brokenBy: 'billing' }, 'agent'],
    ['a person who denies', { state: 'denied', requestedBy: 'billing', brokenBy: 'alice' }, 'person'],
    ['a person who may deny what they requested', { state: 'denied', requestedBy: 'me', brokenBy: 'me' }, 'person'],
    ['an admin who cancels', { state: 'cancelled', requestedBy: 'billing', brokenBy: 'root' }, 'person'],
    ['a deadline', { state: 'expired', requestedBy: 'billing', brokenBy: 'countersign' }, 'service'],
  ])('of a batch that cannot run, by %s', (_, by, kind) => {
    const event = stored('BatchBroken.v2');
    const data = { ...event.data, ...by } as RecordedEvent['data'];
    expect(actorOfEvent({ ...event, data }).kind).toBe(kind);
  });

  it.each([
    ['ApprovalRequested', 'requestedBy'],
    ['ApprovalDescribed', 'describedBy'],
    ['ExecutionSucceeded', 'reportedBy'],
    ['ExecutionFailed', 'reportedBy'],
  ])('of %s is the admin, where an admin did it', (type, member) => {
    const event = stored(`${type}.v2`);
    const kindOf = (by: object) => actorOfEvent({ ...event, data: { ...event.data, ...by } }).kind;
    const asClient = { executedBy: 'client', attempt: null };
    expect(kindOf({ ...asClient, [member]: 'root', roles: ['admin'] })).toBe('person');
    expect(kindOf({ ...asClient, [member]: 'me', roles: ['admin', 'agent'] })).toBe('agent');
    expect(kindOf({ ...asClient, [member]: 'billing' })).toBe('agent');
  });

  it.each([
    ['an agent', { cancelledBy: 'billing', roles: ['agent'] }, 'agent'],
    ['an admin', { cancelledBy: 'root', roles: ['admin'] }, 'person'],
    ['an older version, which records no roles', { cancelledBy: 'billing' }, 'agent'],
    ['the service', { cancelledBy: 'countersign' }, 'service'],
  ])('of a cancellation by %s', (_, by, kind) => {
    const event = stored('ToolCallCancelled.v2');
    const data = { ...event.data, ...by } as RecordedEvent['data'];
    expect(actorOfEvent({ ...event, data })).toMatchObject({ kind, id: by.cancelledBy });
  });
});

describe('the credentials of a changed configuration', () => {
  const event = stored('ConfigurationChanged.v2');

  it.each(['clear', 'masked'] as const)('are in the %s view', (audience) => {
    expect(JSON.stringify(toEventView(event, audience))).toContain('token:6ca13d52ca70c883');
  });

  it.each(['owner', 'others'] as const)('are left out for the %s', (audience) => {
    const text = JSON.stringify(toEventView(event, audience));
    expect(text).toContain('alice');
    expect(text).not.toContain('token:');
  });
});
